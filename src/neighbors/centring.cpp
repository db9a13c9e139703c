#include "candor/neighbors/centring.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "candor/base/error.hpp"
#include "candor/base/sum.hpp"

namespace candor::neighbors {

namespace {

/// `at`: the row's place, where it has one to be named by.
template <class T>
double norm_of(std::span<const T> row, std::int64_t at = -1) {
    const double length = norm(row);
    CANDOR_REQUIRE(length > 0 && std::isfinite(length),
                   at < 0 ? "a row's norm is " + std::to_string(length) : "row " + std::to_string(at));
    return length;
}

}  // namespace

void scale_to_unit_range(StoredRows& rows) {
    auto* const doubles = std::get_if<Matrix<double>>(&rows);
    if (doubles == nullptr) return;
    for (std::int64_t i = 0; i < doubles->rows(); ++i) {
        double largest = 0;
        for (const double v : doubles->row(i)) largest = std::max(largest, std::abs(v));
        const int exponent = largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
        for (double& v : doubles->row(i)) v = std::scalbn(v, -exponent);
    }
}

Centring::Centring(const StoredRows& sample) {
    std::visit(
        [&](const auto& rows) {
            mean_.assign(static_cast<std::size_t>(rows.cols()), 0.0);
            for (std::int64_t i = 0; i < rows.rows(); ++i) {
                const auto row = rows.row(i);
                const double length = norm_of(row, i);
                for (std::size_t j = 0; j < row.size(); ++j) mean_[j] += row[j] / length;
            }
            for (double& m : mean_) m /= static_cast<double>(std::max<std::int64_t>(rows.rows(), 1));
        },
        sample);
    const std::span<const double> m(mean_);
    half_square_ = dot(m, m) / 2;
}

template <class T>
Centring::Row Centring::centre(std::span<const T> row, std::span<float> out) const {
    Row facts;
    facts.norm = norm_of(row);
    // The unit row, a block at a time, so that it stays in registers and cache.
    double along = 0;
    const double scale = 1 / facts.norm;
    constexpr std::size_t block = 256;
    double unit[block];
    for (std::size_t first = 0; first < row.size(); first += block) {
        const std::size_t count = std::min(block, row.size() - first);
        for (std::size_t j = 0; j < count; ++j) {
            unit[j] = row[first + j] * scale;
            out[first + j] = static_cast<float>(unit[j] - mean_[first + j]);
        }
        along +=
            dot(std::span<const double>(unit, count), std::span<const double>(mean_).subspan(first, count));
    }
    facts.offset = along - half_square_;
    // One part in a million covers the rounding of the norm and of the row itself.
    facts.radius = norm(std::span<const float>(out)) * (1 + 1e-6);
    return facts;
}

template Centring::Row Centring::centre(std::span<const float>, std::span<float>) const;
template Centring::Row Centring::centre(std::span<const double>, std::span<float>) const;

double product_error(std::int64_t d, double ra, double rb) {
    const auto n = static_cast<double>(d);
    return (n + 3) * 0x1p-24 * ra * rb + n * 0x1p-125 + 8 * (n + 16) * 0x1p-53;
}

}  // namespace candor::neighbors
