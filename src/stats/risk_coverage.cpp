#include "candor/stats/risk_coverage.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "candor/base/error.hpp"

namespace candor::stats {

namespace {

/// H(0) .. H(most).
std::vector<double> harmonic_numbers(std::size_t most) {
    std::vector<double> sums(most + 1);
    for (std::size_t n = 1; n <= most; ++n) sums[n] = sums[n - 1] + 1 / static_cast<double>(n);
    return sums;
}

/// The curves of some resamples on their way: what each has covered, and the sum of its risks.
template <std::size_t Width>
struct Curves {
    std::array<std::int32_t, Width> rows{}, errors{};
    std::array<double, Width> risks{}, harmonic{};  // the latter of the rows

    /// Covers `more[b]` tied rows of resample b, all of one outcome: without a quotient, which is most of the
    /// work where few rows are tied.
    void cover(const std::int32_t* more, bool wrong, std::size_t width, const double* harmonic_numbers) {
        for (std::size_t b = 0; b < width; ++b) {
            const double next = harmonic_numbers[rows[b] + more[b]];
            const double rise = next - harmonic[b];
            if (wrong) {
                risks[b] += more[b] + (errors[b] - rows[b]) * rise;
                errors[b] += more[b];
            } else {
                risks[b] += errors[b] * rise;
            }
            rows[b] += more[b];
            harmonic[b] = next;
        }
    }

    /// The same of rows of both outcomes, `wrong[b]` of them errors.
    void cover(const std::int32_t* more, const std::int32_t* wrong, std::size_t width,
               const double* harmonic_numbers) {
        for (std::size_t b = 0; b < width; ++b) {
            if (more[b] == 0) continue;
            const double next = harmonic_numbers[rows[b] + more[b]];
            const double share = static_cast<double>(wrong[b]) / more[b];
            risks[b] += wrong[b] + (errors[b] - rows[b] * share) * (next - harmonic[b]);
            errors[b] += wrong[b];
            rows[b] += more[b];
            harmonic[b] = next;
        }
    }

    double mean(std::size_t b) const {
        return rows[b] == 0 ? std::numeric_limits<double>::quiet_NaN() : risks[b] / rows[b];
    }
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
    Curves<1> curve;
    for (std::size_t begin = 0, end = 0; begin < rows_.size(); begin = end) {
        std::int32_t rows = 0, errors = 0;
        do {
            ++rows;
            errors += rows_[end].wrong;
        } while (!rows_[end++].last);
        if (errors == 0 || errors == rows) {
            curve.cover(&rows, errors > 0, 1, harmonic.data());
        } else {
            curve.cover(&rows, &errors, 1, harmonic.data());
        }
    }
    return curve.mean(0);
}

std::vector<double> RiskCoverage::curve(std::int64_t points) const {
    CANDOR_REQUIRE(points > 0, std::to_string(points) + " points");
    std::vector<double> risks;
    const std::int64_t n = std::ssize(rows_);
    std::int64_t errors = 0;
    for (std::int64_t begin = 0, end = 0; begin < n; begin = end) {
        std::int64_t wrong = 0;
        do wrong += rows_[static_cast<std::size_t>(end)].wrong;
        while (!rows_[static_cast<std::size_t>(end++)].last);
        const double share = static_cast<double>(wrong) / static_cast<double>(end - begin);
        while (std::ssize(risks) < points) {
            const std::int64_t covered = (n * (std::ssize(risks) + 1) + points - 1) / points;
            if (covered > end) break;
            risks.push_back((static_cast<double>(errors) + static_cast<double>(covered - begin) * share) /
                            static_cast<double>(covered));
        }
        errors += wrong;
    }
    return risks;
}

void RiskCoverage::count(MatrixView<const Weight> weights, std::span<double> aurc) const {
    CANDOR_REQUIRE(weights.cols <= resample_block && static_cast<std::int64_t>(aurc.size()) == weights.cols,
                   std::to_string(weights.cols) + " resamples, " + std::to_string(aurc.size()) + " values");
    CANDOR_REQUIRE(last_patient_ < weights.rows,
                   "patient " + std::to_string(last_patient_) + " of " + std::to_string(weights.rows));
    const auto width = static_cast<std::size_t>(weights.cols);
    using Sums = std::array<std::int32_t, resample_block>;
    const auto add = [&](const Row& row, Sums& sums) {
        const Weight* const w = weights.row(row.patient).data();
        for (std::size_t b = 0; b < width; ++b) sums[b] += w[b];
    };
    CANDOR_REQUIRE(std::cmp_less(rows_.size(), std::numeric_limits<std::int32_t>::max() /
                                                   std::numeric_limits<Weight>::max()),
                   std::to_string(rows_.size()) + " rows");
    Sums drawn{};
    for (const Row& row : rows_) add(row, drawn);
    const std::vector<double> harmonic =
        harmonic_numbers(static_cast<std::size_t>(*std::ranges::max_element(drawn)));

    Curves<resample_block> curves;
    for (std::size_t begin = 0, end = 0; begin < rows_.size(); begin = end) {
        Sums rows{}, errors{};
        bool any_wrong = false, any_right = false;
        do {
            const Row& row = rows_[end];
            add(row, rows);
            if (row.wrong) add(row, errors);
            (row.wrong ? any_wrong : any_right) = true;
        } while (!rows_[end++].last);
        if (any_wrong && any_right) {
            curves.cover(rows.data(), errors.data(), width, harmonic.data());
        } else {
            curves.cover(rows.data(), any_wrong, width, harmonic.data());
        }
    }
    for (std::size_t b = 0; b < width; ++b) aurc[b] = curves.mean(b);
}

}  // namespace candor::stats
