#include "candor/instruments/detection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "candor/base/error.hpp"
#include "candor/stats/bootstrap_p.hpp"

namespace candor::instruments {

namespace {

constexpr double undefined_value = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t few = 10;  // METHODS 4

void require_rows(MatrixView<const double> scores, std::span<const std::int8_t> errs,
                  std::span<const std::int32_t> patient) {
    CANDOR_REQUIRE(scores.rows == std::ssize(ByScore<int>{}) && scores.cols == std::ssize(errs) &&
                       patient.size() == errs.size(),
                   std::to_string(scores.rows) + " scores of " + std::to_string(scores.cols) + " rows, " +
                       std::to_string(errs.size()) + " outcomes, " + std::to_string(patient.size()) +
                       " patients");
    for (std::size_t i = 0; i < errs.size(); ++i)
        CANDOR_REQUIRE(errs[i] == 0 || errs[i] == 1,
                       "row " + std::to_string(i) + " has outcome " + std::to_string(errs[i]));
}

/// Whether a score is defined for the cell; it is for all of its rows or for none.
bool defined(MatrixView<const double> scores, std::size_t score) {
    const std::span<const double> values = scores.row(static_cast<std::int64_t>(score));
    const auto missing = std::ranges::count_if(values, [](double v) { return std::isnan(v); });
    CANDOR_REQUIRE(missing == 0 || missing == std::ssize(values),
                   std::string(name_of(static_cast<DetectionScore>(score))) + " is NaN in " +
                       std::to_string(missing) + " of " + std::to_string(values.size()) + " rows");
    return missing == 0;
}

double difference(double a, double b) {
    return std::abs(a - b);
}

}  // namespace

std::string_view name_of(DetectionScore score) {
    constexpr ByScore<std::string_view> names{
        "impurity", "msp",         "max_logit",         "energy",
        "ensemble", "mahalanobis", "neighbor_distance", "threshold_distance"};
    return names[at(score)];
}

DetectionCounts& DetectionCounts::operator+=(const DetectionCounts& other) {
    for (std::size_t s = 0; s < detection_scores; ++s) twice_wins[s] += other.twice_wins[s];
    pairs += other.pairs;
    errors += other.errors;
    rows += other.rows;
    return *this;
}

DetectionTally& DetectionTally::operator+=(const DetectionTally& other) {
    observed += other.observed;
    if (resampled.empty()) resampled.resize(other.resampled.size());
    CANDOR_REQUIRE(resampled.size() == other.resampled.size(), "resamples differ");
    for (std::size_t b = 0; b < resampled.size(); ++b) resampled[b] += other.resampled[b];
    for (std::size_t s = 0; s < detection_scores; ++s) undefined[s] = undefined[s] || other.undefined[s];
    return *this;
}

Replicates DetectionTally::auroc(DetectionScore score) const {
    const std::size_t s = at(score);
    const auto of = [&](const DetectionCounts& counts) {
        return undefined[s] ? undefined_value : stats::auroc(counts.twice_wins[s], counts.pairs);
    };
    Replicates out{of(observed), {}};
    out.resampled.reserve(resampled.size());
    for (const DetectionCounts& counts : resampled) out.resampled.push_back(of(counts));
    return out;
}

Replicates DetectionTally::gap(DetectionScore a, DetectionScore b) const {
    Replicates out = auroc(a);
    const Replicates less = auroc(b);
    out.observed -= less.observed;
    for (std::size_t i = 0; i < out.resampled.size(); ++i) out.resampled[i] -= less.resampled[i];
    return out;
}

DetectionCounter::DetectionCounter(MatrixView<const double> scores, std::span<const std::int8_t> errs,
                                   std::span<const std::int32_t> patient) {
    require_rows(scores, errs, patient);
    std::vector<std::int32_t> who[2];  // of the rows that are right, of the errors
    for (std::size_t i = 0; i < errs.size(); ++i)
        who[static_cast<std::size_t>(errs[i])].push_back(patient[i]);
    for (std::size_t s = 0; s < detection_scores; ++s) {
        if (!defined(scores, s)) {
            observed_.undefined[s] = true;
            continue;
        }
        const std::span<const double> all = scores.row(static_cast<std::int64_t>(s));
        std::vector<double> score[2];
        for (std::size_t i = 0; i < errs.size(); ++i)
            score[static_cast<std::size_t>(errs[i])].push_back(all[i]);
        counters_.emplace_back(score[1], who[1], score[0], who[0]);
        score_of_.push_back(s);
        observed_.observed.twice_wins[s] = counters_.back().twice_wins();
    }
    const stats::RowPatients of_rows(patient);
    sums_.emplace_back(of_rows, std::vector<std::int64_t>(errs.begin(), errs.end()));
    sums_.emplace_back(of_rows, std::vector<std::int64_t>(errs.size(), 1));
    observed_.observed.errors = sums_[0].observed();
    observed_.observed.rows = sums_[1].observed();
    observed_.observed.pairs =
        observed_.observed.errors * (observed_.observed.rows - observed_.observed.errors);
}

void DetectionCounter::count(MatrixView<const stats::Weight> weights, std::span<DetectionCounts> into) const {
    const auto width = static_cast<std::size_t>(weights.cols);
    CANDOR_REQUIRE(into.size() == width,
                   std::to_string(width) + " resamples, " + std::to_string(into.size()) + " counts");
    std::vector<std::int64_t> errors(width), rows(width), wins(width), pairs(width);
    sums_[0].add(weights, errors);
    sums_[1].add(weights, rows);
    for (std::size_t b = 0; b < width; ++b) {
        into[b].errors += errors[b];
        into[b].rows += rows[b];
        into[b].pairs += errors[b] * (rows[b] - errors[b]);
    }
    for (std::size_t c = 0; c < counters_.size(); ++c) {
        std::ranges::fill(wins, 0);
        std::ranges::fill(pairs, 0);
        counters_[c].count(weights, wins, pairs);
        for (std::size_t b = 0; b < width; ++b) into[b].twice_wins[score_of_[c]] += wins[b];
    }
}

ByScore<Replicates> risk_coverage(MatrixView<const double> scores, std::span<const std::int8_t> errs,
                                  std::span<const std::int32_t> patient,
                                  const stats::Resampling& resampling) {
    require_rows(scores, errs, patient);
    ByScore<Replicates> out;
    std::vector<stats::RiskCoverage> curves;
    std::vector<std::size_t> score_of;
    for (std::size_t s = 0; s < detection_scores; ++s) {
        out[s] = {undefined_value,
                  std::vector<double>(static_cast<std::size_t>(resampling.resamples()), undefined_value)};
        if (!defined(scores, s)) continue;
        curves.emplace_back(scores.row(static_cast<std::int64_t>(s)), errs, patient);
        score_of.push_back(s);
        out[s].observed = curves.back().observed();
    }
    resampling.for_each_block([&](MatrixView<const stats::Weight> weights, std::int64_t first) {
        for (std::size_t c = 0; c < curves.size(); ++c) {
            const std::span<double> all(out[score_of[c]].resampled);
            curves[c].count(weights, all.subspan(static_cast<std::size_t>(first),
                                                 static_cast<std::size_t>(weights.cols)));
        }
    });
    return out;
}

RiskCurves risk_curves(MatrixView<const double> scores, std::span<const std::int8_t> errs) {
    const std::vector<std::int32_t> nobody(errs.size(), 0);
    require_rows(scores, errs, nobody);
    RiskCurves curves;
    const auto of = [&](std::span<const double> score) {
        RiskCurve curve;
        curve.fill(undefined_value);
        std::ranges::copy(stats::RiskCoverage(score, errs, nobody).curve(std::ssize(curve)), curve.begin());
        return curve;
    };
    for (std::size_t s = 0; s < detection_scores; ++s) {
        curves.of[s].fill(undefined_value);
        if (defined(scores, s)) curves.of[s] = of(scores.row(static_cast<std::int64_t>(s)));
    }
    curves.oracle = of(std::vector<double>(errs.begin(), errs.end()));
    return curves;
}

DetectionSummary summarise(const DetectionTally& tally, std::int64_t patients, double confidence) {
    DetectionSummary summary;
    for (std::size_t s = 0; s < detection_scores; ++s) {
        const auto score = static_cast<DetectionScore>(s);
        summary.auroc[s] = estimate(tally.auroc(score), confidence);
        Replicates gap = tally.gap(DetectionScore::impurity, score);
        if (score == DetectionScore::impurity)
            gap = {undefined_value, std::vector<double>(gap.resampled.size(), undefined_value)};
        summary.gap[s].estimate = estimate(gap, confidence);
        const bool known = !std::isnan(gap.observed);
        summary.gap[s].p = known ? stats::bootstrap_p(gap.resampled, 0) : undefined_value;
        summary.gap[s].smallest_p = stats::smallest_bootstrap_p(summary.gap[s].estimate.valid);
    }
    const double msp = summary.auroc[at(DetectionScore::msp)].value,
                 max_logit = summary.auroc[at(DetectionScore::max_logit)].value,
                 energy = summary.auroc[at(DetectionScore::energy)].value;
    summary.confidence_disagreement =
        std::max({difference(msp, max_logit), difference(msp, energy), difference(max_logit, energy)});
    summary.rows = tally.observed.rows;
    summary.errors = tally.observed.errors;
    summary.pairs = tally.observed.pairs;
    summary.patients = patients;
    summary.few_patients = patients < few;
    return summary;
}

GapCounts count_gaps(std::span<const Estimate> gaps) {
    GapCounts counts;
    for (const Estimate& gap : gaps) {
        if (std::isnan(gap.value)) {
            ++counts.undefined;
            continue;
        }
        counts.wins += gap.value > 0;
        counts.losses += gap.value < 0;
        counts.level += gap.value == 0;
        counts.clear_wins += gap.value > 0 && gap.low > 0;
        counts.clear_losses += gap.value < 0 && gap.high < 0;
    }
    return counts;
}

}  // namespace candor::instruments
