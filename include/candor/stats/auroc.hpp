#pragma once

/// AUROC as exact counts of pairs, observed and in every resample (METHODS 3.2, 4, 8, 9). Pooled levels add
/// the counts of their contexts, so that a pair from two contexts is never compared.

#include <cstdint>
#include <span>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/stats/resampling.hpp"

namespace candor::stats {

/// twice_wins / (2 pairs); NaN where there is no pair.
double auroc(std::int64_t twice_wins, std::int64_t pairs);

/// Rows that share their place in the order: some positives, then some negatives. A step with both is a tie;
/// a run of one label alone is one step, whatever its scores.
struct PairStep {
    std::int64_t positives, negatives;
};

/// The (positive, negative) pairs of one cell, sorted once by score.
class PairCounter {
  public:
    /// Larger scores speak for positive. Patients are positions among the rows of the weights.
    /// Infinite scores are ordered like any other.
    /// @throws InternalError where sizes differ, a score is NaN or a patient is negative.
    PairCounter(std::span<const double> positive_score, std::span<const std::int32_t> positive_patient,
                std::span<const double> negative_score, std::span<const std::int32_t> negative_patient);

    /// Sum over pairs of 2 [s_p > s_n] + [s_p == s_n].
    std::int64_t twice_wins() const { return twice_wins_; }
    /// Number of pairs.
    std::int64_t pairs() const { return pairs_; }

    /// For each resample (column) b of `weights` (patients x at most resample_block resamples):
    ///
    ///     twice_wins[b] += sum over pairs of w_p w_n (2 [s_p > s_n] + [s_p == s_n])
    ///     pairs[b]      += sum over pairs of w_p w_n
    ///
    /// exactly, in one pass over the sorted rows for all columns.
    /// @throws InternalError where the sizes differ, a patient has no row in `weights`, or a sum could pass
    /// 2^62; the outputs are then unchanged.
    void count(MatrixView<const Weight> weights, std::span<std::int64_t> twice_wins,
               std::span<std::int64_t> pairs) const;

  private:
    std::vector<PairStep> steps_;
    std::vector<std::int32_t> patients_;  // of the rows, step after step
    std::int32_t last_patient_ = -1;
    std::int64_t positives_ = 0, negatives_ = 0, twice_wins_ = 0, pairs_ = 0;
};

}  // namespace candor::stats
