#pragma once

/// The patient bootstrap's draws (METHODS 4): how often each resample draws each patient.

#include <cstdint>
#include <string>
#include <string_view>

#include "candor/base/matrix.hpp"

namespace candor::stats {

/// Resamples that a block of weights holds at most. The kernels of this room take one block at a time and
/// vectorise over its resamples; a block of P patients is P x 128 bytes.
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
    /// @throws InternalError where a count would pass 65535.
    void weights(std::int64_t first, std::int64_t count, MatrixView<std::uint16_t> out) const;

  private:
    std::uint64_t seed_;
    std::string purpose_;
    std::int64_t patients_, resamples_;
};

}  // namespace candor::stats
