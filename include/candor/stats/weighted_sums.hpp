#pragma once

/// Weighted counts of a block of resamples: numerators and denominators of the rates (METHODS 4).

#include <cstdint>
#include <span>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/stats/resampling.hpp"

namespace candor::stats {

/// How many patients share a value.
struct ValueGroup {
    std::int64_t value, patients;
};

/// The patients of some rows, for all the values that are added up over them.
class RowPatients {
  public:
    /// Patients are positions among the rows of the weights. Takes time for each up to the largest.
    /// @throws InternalError where one is negative.
    explicit RowPatients(std::span<const std::int32_t> patient);

    /// The different patients, ascending.
    std::span<const std::int32_t> patients() const { return patients_; }
    /// Of each row, the place of its patient among patients().
    std::span<const std::int32_t> place() const { return place_; }

  private:
    std::vector<std::int32_t> patients_, place_;
};

/// The values of some rows, e.g. 1 where the query is discordant, added up once by patient.
class WeightedSums {
  public:
    /// @param value  an integer for each row
    /// @throws InternalError where the sizes differ or a weighted sum could pass 2^62.
    WeightedSums(const RowPatients& rows, std::span<const std::int64_t> value);

    /// Sum of all values.
    std::int64_t observed() const { return observed_; }

    /// out[b] += sum over rows i of weights[patient of i][b] * value[i], exactly.
    /// @param weights  patients x resamples, as Resampling::weights fills it, at most resample_block columns
    /// @throws InternalError where the sizes differ, a patient has no row in `weights`, or a sum could pass
    /// 2^62; `out` is then unchanged.
    void add(MatrixView<const Weight> weights, std::span<std::int64_t> out) const;

  private:
    // Patients of one value are added up by themselves and multiplied together: a row costs the same whatever
    // its value, and nothing where it is 0.
    std::vector<ValueGroup> groups_;
    std::vector<std::int32_t> patients_;  // of the groups, one after the other, ascending in each
    std::int32_t last_patient_ = -1;
    std::int64_t observed_ = 0;
    std::uint64_t magnitude_ = 0;  // of the values together
};

}  // namespace candor::stats
