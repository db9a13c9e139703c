#include "candor/instruments/unit_rows.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "candor/base/error.hpp"
#include "candor/base/sum.hpp"
#include "candor/neighbors/centring.hpp"

namespace candor::instruments {

Matrix<double> UnitRows::read(std::span<const ContextRow> which) const {
    neighbors::StoredRows stored = [&] {
        const std::lock_guard lock(reading_);
        return rows_.read(which);
    }();
    neighbors::scale_to_unit_range(stored);
    return std::visit(
        [&](const auto& rows) {
            Matrix<double> out(rows.rows(), rows.cols());
            for (std::int64_t i = 0; i < rows.rows(); ++i) {
                const double length = norm(rows.row(i));
                CANDOR_REQUIRE(
                    length > 0 && std::isfinite(length),
                    "row " + std::to_string(which[static_cast<std::size_t>(i)].value) + " has no direction");
                std::ranges::transform(rows.row(i), out.row(i).begin(),
                                       [&](auto v) { return static_cast<double>(v) / length; });
            }
            return out;
        },
        std::as_const(stored));
}

std::span<const ContextRow> unit_block(std::span<const ContextRow> which, std::int64_t b) {
    const auto first = static_cast<std::size_t>(b * unit_block_rows);
    return which.subspan(first, std::min<std::size_t>(unit_block_rows, which.size() - first));
}

std::int64_t unit_blocks(std::span<const ContextRow> which) {
    return (std::ssize(which) + unit_block_rows - 1) / unit_block_rows;
}

}  // namespace candor::instruments
