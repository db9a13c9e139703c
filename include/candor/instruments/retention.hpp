#pragma once

/// Erasure retention (METHODS 7; Eq. 4 of the paper): how little an encoder's row moves when the evidence is
/// filled in the image.

#include <cstdint>
#include <span>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/instruments/summary.hpp"
#include "candor/stats/resampling.hpp"

namespace candor::instruments {

/// rho = <g(x), g(x erased)> of the normalised rows, in double and in one fixed order, within [-1, 1].
/// float16 and float32 rows are widened by the caller, which is exact.
/// @throws InternalError where the lengths differ, or a row is all zero or not finite.
double retention(std::span<const double> original, std::span<const double> erased);

/// Sums from which mean retention follows, observed and in each resample. They add over regions.
struct RetentionTally {
    double sum = 0;         ///< of rho
    std::int64_t rows = 0;  ///< (image, region) rows
    std::vector<double> resampled_sum;
    std::vector<std::int64_t> resampled_rows;

    RetentionTally& operator+=(const RetentionTally& other);
};

/// Mean rho, observed and in each resample; NaN where there is no row.
Replicates mean_retention(const RetentionTally& tally);

/// The rows of one (encoder, region), summed once by patient. Sums run over rows in the order given, then
/// over patients in ascending order, so their bits depend on nothing else.
class RetentionCounter {
  public:
    /// @param rho      of each row
    /// @param patient  of each row, a row of the weights
    RetentionCounter(std::span<const double> rho, std::span<const std::int32_t> patient);

    /// The observed sums; no resamples yet.
    const RetentionTally& observed() const { return observed_; }

    /// Sets the sums of a block of resamples: sum[b] = sum_i w[b][patient_i] rho_i, rows[b] likewise of 1.
    /// @throws InternalError where the sizes differ or a patient has no row in `weights`.
    void count(MatrixView<const stats::Weight> weights, std::span<double> sum,
               std::span<std::int64_t> rows) const;

  private:
    struct Patient {
        std::int32_t patient;
        double sum;
        std::int64_t rows;
    };
    std::vector<Patient> patients_;
    RetentionTally observed_;
};

}  // namespace candor::instruments
