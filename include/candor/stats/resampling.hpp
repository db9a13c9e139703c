#pragma once

/// The patient bootstrap's draws (METHODS 4): how often each resample draws each patient.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "candor/base/matrix.hpp"

namespace candor::stats {

/// How often a resample draws a patient. One of P patients in P draws comes more than 255 times with a chance
/// below P/256!, and where P < 256 never.
using Weight = std::uint8_t;

/// Resamples that a block of weights holds at most. The kernels of this room take one block at a time and
/// vectorise over its resamples: a patient's row is one cache line, and 8,000 patients are half a megabyte.
/// They read whole rows, so a block's stride is resample_block or more, as that of a Matrix<Weight> is.
inline constexpr std::int64_t resample_block = 64;

/// B resamples of P patients with replacement. Resample b draws patient
/// `Stream(seed, "bootstrap/" + task, b).below(i, P)` for i = 0 .. P-1, so its counts depend on nothing but
/// (seed, task, b, P): every statistic of a task sees the same resamples.
class Resampling {
  public:
    /// @pre 0 <= patients < 2^31, resamples >= 0.
    Resampling(std::uint64_t seed, std::string_view task, std::int64_t patients, std::int64_t resamples);

    std::int64_t patients() const { return patients_; }
    std::int64_t resamples() const { return resamples_; }

    /// Fills `out` (patients() x count, one row a patient, one column a resample) with the counts w[b][p] of
    /// the resamples b = first .. first + count - 1. A column sums to patients().
    /// @pre the resamples exist and count <= resample_block.
    /// @throws InternalError where a count would pass 255.
    void weights(std::int64_t first, std::int64_t count, MatrixView<Weight> out) const;

    /// Calls `take(weights, first)` for one block after the other, first = 0, resample_block, ..., with the
    /// weights of all patients in the resamples first .. first + weights.cols - 1.
    void for_each_block(
        const std::function<void(MatrixView<const Weight> weights, std::int64_t first)>& take) const;

  private:
    std::uint64_t seed_;
    std::string purpose_;
    std::int64_t patients_, resamples_;
};

}  // namespace candor::stats
