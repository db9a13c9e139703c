#include "candor/stats/risk_coverage.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "candor/base/error.hpp"

namespace candor::stats {

namespace {

/// H(0) .. H(most).
std::vector<double> harmonic_numbers(std::size_t most) {
    std::vector<double> sums(most + 1);
    for (std::size_t n = 1; n <= most; ++n) sums[n] = sums[n - 1] + 1 / static_cast<double>(n);
    return sums;
}

/// A curve on its way: what has been covered, and the sum of its risks.
struct Curve {
    std::int32_t rows = 0, errors = 0;
    double risks = 0;

    /// Covers a block of ties.
    void cover(std::int32_t more_rows, std::int32_t more_errors, const double* harmonic) {
        if (more_rows == 0) return;
        const double share = static_cast<double>(more_errors) / more_rows;
        risks += more_errors + (errors - rows * share) * (harmonic[rows + more_rows] - harmonic[rows]);
        rows += more_rows;
        errors += more_errors;
    }

    double mean() const { return rows == 0 ? std::numeric_limits<double>::quiet_NaN() : risks / rows; }
};

}  // namespace

RiskCoverage::RiskCoverage(std::span<const double> score, std::span<const std::int8_t> wrong,
                           std::span<const std::int32_t> patient) {
    CANDOR_REQUIRE(score.size() == wrong.size() && patient.size() == wrong.size(),
                   std::to_string(score.size()) + " scores, " + std::to_string(wrong.size()) + " outcomes, " +
                       std::to_string(patient.size()) + " patients");
    for (std::size_t i = 0; i < score.size(); ++i) {
        const auto row_has = [&](const std::string& what) {
            return "row " + std::to_string(i) + " has " + what;
        };
        CANDOR_REQUIRE(!std::isnan(score[i]), row_has("score NaN"));
        CANDOR_REQUIRE(wrong[i] == 0 || wrong[i] == 1, row_has("outcome " + std::to_string(wrong[i])));
        CANDOR_REQUIRE(patient[i] >= 0, row_has("patient " + std::to_string(patient[i])));
        last_patient_ = std::max(last_patient_, patient[i]);
    }
    std::vector<std::size_t> order(score.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return score[i]; });
    rows_.reserve(order.size());
    for (std::size_t at = 0; at < order.size(); ++at) {
        const std::size_t i = order[at];
        const bool last = at + 1 == order.size() || score[order[at + 1]] != score[i];
        rows_.push_back({patient[i], wrong[i], last});
    }
}

double RiskCoverage::observed() const {
    const std::vector<double> harmonic = harmonic_numbers(rows_.size());
    Curve curve;
    std::int32_t rows = 0, errors = 0;
    for (const Row& row : rows_) {
        ++rows;
        errors += row.wrong;
        if (!row.last) continue;
        curve.cover(rows, errors, harmonic.data());
        rows = errors = 0;
    }
    return curve.mean();
}

void RiskCoverage::count(MatrixView<const Weight> weights, std::span<double> aurc) const {
    CANDOR_REQUIRE(weights.cols <= resample_block && static_cast<std::int64_t>(aurc.size()) == weights.cols,
                   std::to_string(weights.cols) + " resamples, " + std::to_string(aurc.size()) + " values");
    CANDOR_REQUIRE(last_patient_ < weights.rows,
                   "patient " + std::to_string(last_patient_) + " of " + std::to_string(weights.rows));
    const auto width = static_cast<std::size_t>(weights.cols);
    std::array<std::int64_t, resample_block> drawn{};
    for (const Row& row : rows_) {
        const std::span<const Weight> w = weights.row(row.patient);
        for (std::size_t b = 0; b < width; ++b) drawn[b] += w[b];
    }
    const std::int64_t most = *std::ranges::max_element(drawn);
    CANDOR_REQUIRE(most < std::numeric_limits<std::int32_t>::max(), std::to_string(most) + " rows drawn");
    const std::vector<double> harmonic = harmonic_numbers(static_cast<std::size_t>(most));

    std::array<Curve, resample_block> curves{};
    std::array<std::int32_t, resample_block> rows{}, errors{};
    for (const Row& row : rows_) {
        const std::span<const Weight> w = weights.row(row.patient);
        for (std::size_t b = 0; b < width; ++b) {
            rows[b] += w[b];
            errors[b] += w[b] * row.wrong;
        }
        if (!row.last) continue;
        for (std::size_t b = 0; b < width; ++b) curves[b].cover(rows[b], errors[b], harmonic.data());
        rows.fill(0);
        errors.fill(0);
    }
    for (std::size_t b = 0; b < width; ++b) aurc[b] = curves[b].mean();
}

}  // namespace candor::stats
