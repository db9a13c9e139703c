#include "candor/neighbors/row_set.hpp"

#include <algorithm>
#include <utility>

#include "candor/base/sum.hpp"
#include "candor/neighbors/centring.hpp"

namespace candor::neighbors {

template <class T>
double cosine_of(std::span<const T> a, double norm_a, std::span<const T> b, double norm_b) {
    return std::clamp(dot(a, b) / (norm_a * norm_b), -1.0, 1.0);
}

template double cosine_of(std::span<const float>, double, std::span<const float>, double);
template double cosine_of(std::span<const double>, double, std::span<const double>, double);

RowSet::RowSet(Stored stored) : stored_(std::move(stored)) {
    scale_to_unit_range(stored_);
    const Centring centring(stored_);
    std::visit(
        [&](const auto& matrix) {
            centred_ = Matrix<float>(matrix.rows(), matrix.cols());
            for (std::int64_t i = 0; i < matrix.rows(); ++i) {
                const Centring::Row row = centring.centre(matrix.row(i), centred_.row(i));
                norm_.push_back(row.norm);
                offset_.push_back(row.offset);
                radius_.push_back(row.radius);
            }
        },
        stored_);
}

StoredRows RowSet::read(std::span<const ContextRow> which) const {
    return std::visit(
        [&](const auto& matrix) -> StoredRows {
            auto out = std::decay_t<decltype(matrix)>(std::ssize(which), matrix.cols());
            for (std::size_t i = 0; i < which.size(); ++i)
                std::ranges::copy(matrix.row(which[i].value), out.row(static_cast<std::int64_t>(i)).begin());
            return out;
        },
        stored_);
}

double RowSet::cosine(ContextRow a, ContextRow b) const {
    const auto norm = [&](ContextRow row) { return norm_[static_cast<std::size_t>(row.value)]; };
    return std::visit(
        [&](const auto& matrix) {
            return cosine_of(matrix.row(a.value), norm(a), matrix.row(b.value), norm(b));
        },
        stored_);
}

double RowSet::error(double ra, double rb) const {
    return product_error(dimension(), ra, rb);
}

}  // namespace candor::neighbors
