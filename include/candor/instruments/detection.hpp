#pragma once

/// Failure detection (METHODS 9; Eq. 5 of the paper): how well each score tells a head's errors from the rows
/// it gets right, and how impurity compares with the others.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/instruments/summary.hpp"
#include "candor/stats/auroc.hpp"
#include "candor/stats/resampling.hpp"
#include "candor/stats/risk_coverage.hpp"

namespace candor::instruments {

/// The scores, all larger where the head is more likely wrong (`confidence.hpp`, `training_neighbors.hpp`,
/// `mahalanobis.hpp`). Confidences are measured from z = 0 while a head decides at its threshold, far below 0
/// for rare findings; `threshold_distance` stands beside the seven of METHODS 9 to tell what that costs them.
enum class DetectionScore {
    impurity,
    msp,
    max_logit,
    energy,
    ensemble,
    mahalanobis,
    neighbor_distance,
    threshold_distance
};
inline constexpr std::size_t detection_scores = 8;
/// Values of something for each score.
template <class T>
using ByScore = std::array<T, detection_scores>;

constexpr std::size_t at(DetectionScore score) {
    return static_cast<std::size_t>(score);
}
/// As tables name it, e.g. "max_logit".
std::string_view name_of(DetectionScore score);

/// Counts of one set of rows, of one resample or as they are.
struct DetectionCounts {
    ByScore<std::int64_t> twice_wins{};  ///< over pairs of one context: 2 [s_error > s_right] + [equal]
    std::int64_t pairs = 0;              ///< (error, right) pairs of one context
    std::int64_t errors = 0, rows = 0;

    DetectionCounts& operator+=(const DetectionCounts& other);
};

/// Observed counts and those of each resample. They are whole numbers and add over contexts (a cell, a site),
/// and over cells (pooled), exactly in any order.
struct DetectionTally {
    DetectionCounts observed;
    std::vector<DetectionCounts> resampled;
    ByScore<bool> undefined{};  ///< in a part, so that the sum would not be of the same rows as the others

    DetectionTally& operator+=(const DetectionTally& other);

    /// AUROC against the errors, observed and in each resample; NaN without a pair or where undefined.
    Replicates auroc(DetectionScore score) const;
    /// AUROC of `a` less that of `b`, paired: the same rows, the same resamples.
    Replicates gap(DetectionScore a, DetectionScore b) const;
};

/// The rows of one (encoder, dataset, finding) in one context, ready to be counted. Rows that lack neighbours
/// (fewer than k training rows in their context) take no part, for any score, so that all scores are compared
/// on the same rows; the caller counts them.
class DetectionCounter {
  public:
    /// @param scores  one row a score, in the order of DetectionScore, one column a test row; a score that is
    ///                undefined for the cell (Mahalanobis, ensemble) is NaN throughout
    /// @param errs    1 where the head errs, else 0
    /// @param patient of each test row, a row of the weights
    /// @throws InternalError where sizes differ, a score is NaN for some rows only, or `errs` is neither.
    DetectionCounter(MatrixView<const double> scores, std::span<const std::int8_t> errs,
                     std::span<const std::int32_t> patient);

    /// No resamples yet.
    const DetectionTally& observed() const { return observed_; }

    /// Adds the counts of a block of resamples to `into[0] .. into[weights.cols - 1]`.
    /// @throws InternalError as stats::PairCounter::count does.
    void count(MatrixView<const stats::Weight> weights, std::span<DetectionCounts> into) const;

  private:
    DetectionTally observed_;
    std::vector<stats::PairCounter> counters_;  // of the scores that are defined
    std::vector<std::size_t> score_of_;         // of each counter
    std::vector<stats::WeightedSums> sums_;     // errors, rows
};

/// AURC of each score over the rows of a cell (any contexts: what is given up first is one order), observed
/// and in each resample; NaN where undefined. Arguments as DetectionCounter's.
ByScore<Replicates> risk_coverage(MatrixView<const double> scores, std::span<const std::int8_t> errs,
                                  std::span<const std::int32_t> patient, const stats::Resampling& resampling);

/// Risks at coverages 1 / risk_points, 2 / risk_points, ... 1.
inline constexpr std::size_t risk_points = 20;
using RiskCurve = std::array<double, risk_points>;
/// Risk-coverage curves of a cell.
struct RiskCurves {
    ByScore<RiskCurve> of;  ///< NaN where the score is undefined
    RiskCurve oracle;       ///< all errors given up first: no score can be below
};
/// Arguments as DetectionCounter's. All NaN without rows.
RiskCurves risk_curves(MatrixView<const double> scores, std::span<const std::int8_t> errs);

/// A gap with its test against 0.
struct Gap {
    Estimate estimate;
    double p = 0;           ///< METHODS 4; NaN: undefined
    double smallest_p = 0;  ///< that so many resamples can give
};

/// What a cell, or cells pooled, say.
struct DetectionSummary {
    ByScore<Estimate> auroc;
    ByScore<Gap> gap;  ///< impurity less each score; that to itself is NaN throughout
    /// The largest difference of the AUROCs of MSP, max logit and energy, which are one order but for
    /// rounding; NaN without pairs.
    double confidence_disagreement = 0;
    std::int64_t rows = 0, errors = 0, pairs = 0;
    std::int64_t patients = 0;
    bool few_patients = false;  ///< fewer than 10
};

/// @param patients of the rows.
DetectionSummary summarise(const DetectionTally& tally, std::int64_t patients, double confidence);

/// Cells in which impurity stands above a score, below it, or level.
struct GapCounts {
    std::int64_t wins = 0, losses = 0, level = 0, undefined = 0;
    std::int64_t clear_wins = 0, clear_losses = 0;  ///< of those, with an interval that excludes 0
};
GapCounts count_gaps(std::span<const Estimate> gaps);

}  // namespace candor::instruments
