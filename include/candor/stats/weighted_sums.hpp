#pragma once

/// Weighted counts of a block of resamples: numerators and denominators of the rates (METHODS 4).

#include <cstdint>
#include <span>

#include "candor/base/matrix.hpp"

namespace candor::stats {

/// out[b] += sum_i weights[patient[i]][b] * value[i], exactly.
///
/// @param weights  patients x resamples, as Resampling::weights fills it, at most resample_block columns
/// @param patient  n positions among the rows of `weights`
/// @param value    n integers, e.g. 1 where the query is discordant
/// @param out      one sum a column of `weights`; added to, so that cells and contexts add up
/// @throws InternalError where the sizes differ, a patient does not exist, or a sum could pass 2^62; `out` is
/// then unchanged.
void weighted_sums(MatrixView<const std::uint16_t> weights, std::span<const std::int32_t> patient,
                   std::span<const std::int64_t> value, std::span<std::int64_t> out);

}  // namespace candor::stats
