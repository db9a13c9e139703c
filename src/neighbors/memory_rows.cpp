#include "candor/neighbors/memory_rows.hpp"

#include <algorithm>
#include <variant>

namespace candor::neighbors {

std::int64_t MemoryRows::rows() const {
    return std::visit([](const auto& rows) { return rows.rows(); }, stored_);
}

std::int64_t MemoryRows::dimension() const {
    return std::visit([](const auto& rows) { return rows.cols(); }, stored_);
}

StoredRows MemoryRows::read(std::span<const ContextRow> which) const {
    return std::visit(
        [&]<class T>(const Matrix<T>& rows) -> StoredRows {
            Matrix<T> out(std::ssize(which), rows.cols());
            for (std::size_t i = 0; i < which.size(); ++i)
                std::ranges::copy(rows.row(which[i].value), out.row(static_cast<std::int64_t>(i)).begin());
            return out;
        },
        stored_);
}

StoredRows RowSubset::read(std::span<const ContextRow> which) const {
    std::vector<ContextRow> rows;
    rows.reserve(which.size());
    for (const ContextRow row : which) rows.push_back(which_[static_cast<std::size_t>(row.value)]);
    return of_.read(rows);
}

}  // namespace candor::neighbors
