#include "candor/neighbors/row_set.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/sum.hpp"

namespace candor::neighbors {

namespace {

/// Scales rows of doubles by powers of two, so that no square overflows and no norm vanishes: exact but for
/// entries that are 2^-1000 of the largest.
void scale_to_unit_range(Matrix<double>& rows) {
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
        double largest = 0;
        for (const double v : rows.row(i)) largest = std::max(largest, std::abs(v));
        const int exponent = largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
        for (double& v : rows.row(i)) v = std::scalbn(v, -exponent);
    }
}

void scale_to_unit_range(Matrix<float>&) {}  // the square of a float is far inside the range of a double

}  // namespace

RowSet::RowSet(Stored stored) : stored_(std::move(stored)) {
    std::visit(
        [&](auto& matrix) {
            scale_to_unit_range(matrix);
            const std::int64_t n = matrix.rows(), d = matrix.cols();
            norm_.resize(static_cast<std::size_t>(n));
            std::vector<double> mean(static_cast<std::size_t>(d), 0.0);
            for (std::int64_t i = 0; i < n; ++i) {
                const auto row = std::as_const(matrix).row(i);
                const double length = norm(row);
                CANDOR_REQUIRE(length > 0 && std::isfinite(length), "row " + std::to_string(i));
                norm_[static_cast<std::size_t>(i)] = length;
                for (std::size_t j = 0; j < row.size(); ++j) mean[j] += row[j] / length;
            }
            for (double& m : mean) m /= static_cast<double>(std::max<std::int64_t>(n, 1));
            const std::span<const double> m(mean);
            const double half_square = dot(m, m) / 2;

            centred_ = Matrix<float>(n, d);
            offset_.resize(norm_.size());
            radius_.resize(norm_.size());
            std::vector<double> unit(static_cast<std::size_t>(d));
            for (std::int64_t i = 0; i < n; ++i) {
                const auto row = std::as_const(matrix).row(i);
                const auto at = static_cast<std::size_t>(i);
                const auto out = centred_.row(i);
                for (std::size_t j = 0; j < row.size(); ++j) {
                    unit[j] = row[j] / norm_[at];
                    out[j] = static_cast<float>(unit[j] - mean[j]);
                }
                offset_[at] = dot(std::span<const double>(unit), m) - half_square;
                // One part in a million covers the rounding of the norm and of the row itself.
                radius_[at] = norm(std::as_const(centred_).row(i)) * (1 + 1e-6);
            }
        },
        stored_);
}

double RowSet::cosine(ContextRow a, ContextRow b) const {
    return std::visit(
        [&](const auto& matrix) {
            const double lengths =
                norm_[static_cast<std::size_t>(a.value)] * norm_[static_cast<std::size_t>(b.value)];
            return std::clamp(dot(matrix.row(a.value), matrix.row(b.value)) / lengths, -1.0, 1.0);
        },
        stored_);
}

double RowSet::error(double ra, double rb) const {
    const auto d = static_cast<double>(dimension());
    return (d + 3) * 0x1p-24 * ra * rb + d * 0x1p-125 + 8 * (d + 16) * 0x1p-53;
}

}  // namespace candor::neighbors
