#include "candor/instruments/retention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/sum.hpp"

namespace candor::instruments {

namespace {

/// `row` times a power of two, so that no square overflows and no norm vanishes.
std::vector<double> in_unit_range(std::span<const double> row) {
    double largest = 0;
    for (const double v : row) largest = std::max(largest, std::isnan(v) ? HUGE_VAL : std::abs(v));
    CANDOR_REQUIRE(largest > 0 && std::isfinite(largest), "a row without direction");
    const int exponent = std::ilogb(largest);
    std::vector<double> scaled;
    scaled.reserve(row.size());
    for (const double v : row) scaled.push_back(std::scalbn(v, -exponent));
    return scaled;
}

double mean(double sum, std::int64_t rows) {
    return rows == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(rows);
}

}  // namespace

double retention(std::span<const double> original, std::span<const double> erased) {
    CANDOR_REQUIRE(original.size() == erased.size(),
                   std::to_string(original.size()) + " and " + std::to_string(erased.size()) + " columns");
    const std::vector<double> a = in_unit_range(original), b = in_unit_range(erased);
    const std::span<const double> x(a), y(b);
    return std::clamp(dot(x, y) / (norm(x) * norm(y)), -1.0, 1.0);
}

RetentionTally& RetentionTally::operator+=(const RetentionTally& other) {
    sum += other.sum;
    rows += other.rows;
    if (resampled_sum.empty()) {
        resampled_sum.resize(other.resampled_sum.size());
        resampled_rows.resize(other.resampled_rows.size());
    }
    CANDOR_REQUIRE(resampled_sum.size() == other.resampled_sum.size(), "resamples differ");
    for (std::size_t b = 0; b < resampled_sum.size(); ++b) {
        resampled_sum[b] += other.resampled_sum[b];
        resampled_rows[b] += other.resampled_rows[b];
    }
    return *this;
}

Replicates mean_retention(const RetentionTally& tally) {
    Replicates out{mean(tally.sum, tally.rows), {}};
    out.resampled.reserve(tally.resampled_sum.size());
    for (std::size_t b = 0; b < tally.resampled_sum.size(); ++b) {
        out.resampled.push_back(mean(tally.resampled_sum[b], tally.resampled_rows[b]));
    }
    return out;
}

RetentionCounter::RetentionCounter(std::span<const double> rho, std::span<const std::int32_t> patient) {
    CANDOR_REQUIRE(rho.size() == patient.size(),
                   std::to_string(rho.size()) + " rows, " + std::to_string(patient.size()) + " patients");
    std::map<std::int32_t, Patient> sums;
    for (std::size_t i = 0; i < rho.size(); ++i) {
        CANDOR_REQUIRE(patient[i] >= 0, "patient " + std::to_string(patient[i]));
        Patient& mine = sums.try_emplace(patient[i], Patient{patient[i], 0, 0}).first->second;
        mine.sum += rho[i];
        ++mine.rows;
    }
    for (const auto& [who, mine] : sums) {
        patients_.push_back(mine);
        observed_.sum += mine.sum;
        observed_.rows += mine.rows;
    }
}

void RetentionCounter::count(MatrixView<const stats::Weight> weights, std::span<double> sum,
                             std::span<std::int64_t> rows) const {
    CANDOR_REQUIRE(std::cmp_equal(sum.size(), weights.cols) && rows.size() == sum.size(),
                   std::to_string(weights.cols) + " resamples, " + std::to_string(sum.size()) + " sums");
    CANDOR_REQUIRE(
        patients_.empty() || patients_.back().patient < weights.rows,
        "patient " + std::to_string(patients_.back().patient) + " of " + std::to_string(weights.rows));
    std::ranges::fill(sum, 0.0);
    std::ranges::fill(rows, 0);
    for (const Patient& mine : patients_) {
        const std::span<const stats::Weight> w = weights.row(mine.patient);
        for (std::size_t b = 0; b < w.size(); ++b) {
            sum[b] += w[b] * mine.sum;
            rows[b] += w[b] * mine.rows;
        }
    }
}

}  // namespace candor::instruments
