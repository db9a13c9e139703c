#pragma once

/// Spearman's rank correlation in every resample of the patients (METHODS 4, 7).

#include <cstdint>
#include <span>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/stats/resampling.hpp"

namespace candor::stats {

/// Pairs (x, y) of patients, sorted once.
class WeightedSpearman {
  public:
    /// Patients are positions among the rows of the weights. Infinite values are ranked like any other.
    /// @throws InternalError where sizes differ, a value is NaN or a patient is negative.
    WeightedSpearman(std::span<const double> x, std::span<const double> y,
                     std::span<const std::int32_t> patient);

    /// For each resample (column) b of `weights` (patients x at most resample_block resamples) rho[b] is, to
    /// the bit, the rho that `spearman` gives where each pair stands as often as its patient was drawn: the
    /// mid-ranks and the sums of their products are whole numbers, and the last step is the same. NaN where
    /// one side is constant or fewer than 3 pairs are drawn.
    /// @throws InternalError where the sizes differ, a patient has no row in `weights`, or a resample draws
    /// more than 2,000,000 pairs.
    void correlate(MatrixView<const Weight> weights, std::span<double> rho) const;

  private:
    // Pairs in the order of x, and for each distinct x one past its last pair.
    std::vector<std::int32_t> patient_by_x_;
    std::vector<std::int64_t> end_x_;
    // Pairs in the order of y, likewise, each with the place of its x among the distinct ones.
    std::vector<std::int32_t> patient_by_y_, group_x_;
    std::vector<std::int64_t> end_y_;
    std::int32_t last_patient_ = -1;
};

}  // namespace candor::stats
