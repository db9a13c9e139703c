#pragma once

/// The passes over a block of weights, by the widest vectors of this processor. All sums are whole numbers,
/// so that none depends on the instruction set.

#include <array>
#include <cstdint>
#include <span>

#include "candor/base/matrix.hpp"
#include "candor/stats/auroc.hpp"
#include "candor/stats/resampling.hpp"
#include "candor/stats/weighted_sums.hpp"

namespace candor::stats {

/// Resamples that are drawn side by side before they are laid out by patient.
inline constexpr std::int64_t drawn_together = 16;

/// out[p][k] = counts[k][p] for all columns k < out.cols <= drawn_together of `out`.
/// @param counts  drawn_together x patients, rows readable up to a multiple of 64 columns
void transpose_counts(MatrixView<const Weight> counts, MatrixView<Weight> out);

/// Sums of a block, one a resample; those beyond the columns of the weights are of no use.
using BlockSums = std::array<std::uint64_t, resample_block>;

/// sums[b] += value x sum of weights[p][b] over the patients p of the group, modulo 2^64, for every group.
/// @param patients  of the groups, one after the other
void add_value_groups(MatrixView<const Weight> weights, std::span<const ValueGroup> groups,
                      std::span<const std::int32_t> patients, BlockSums& sums);

/// What the pairs of an order add up to.
struct PairSums {
    BlockSums twice_wins{}, positives{}, negatives{};
};

/// The weights of the positives, of the negatives, and 2 x those of the pairs whose negative comes in an
/// earlier step plus those of the pairs of one step, all modulo 2^64.
/// @param patients  of the rows, step after step
void add_pairs(MatrixView<const Weight> weights, std::span<const PairStep> steps,
               std::span<const std::int32_t> patients, PairSums& sums);

}  // namespace candor::stats
