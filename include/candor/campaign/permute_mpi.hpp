#pragma once

/// Label permutations and subsamples of every cell that a rank counts, from the lists that the search brought
/// (METHODS 4, 5, 6).

#include <cstdint>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/search_mpi.hpp"
#include "candor/campaign/work.hpp"
#include "candor/instruments/tally.hpp"
#include "candor/parallel/stop.hpp"

namespace candor::campaign {

/// What a cell says under one encoder where labels are permuted and where patients are drawn; all empty where
/// it has no lists.
struct CellWorlds {
    instruments::Counts observed;                 ///< draw 0, read off the lists too
    std::vector<instruments::Counts> permuted;    ///< one a permutation
    std::vector<instruments::Counts> subsampled;  ///< one a draw
    /// Per permutation `words` words: who of the positives, in the order of their rows, has DM > 0.
    std::vector<std::uint64_t> blind;
    std::int64_t words = 0;
};

/// One a cell of `owned`, in its order; every cell is one rank's. Lists that end too early are made longer,
/// by reading the participants' features anew, and then given up: `owned` has none afterwards. Cells are
/// taken one after the other, all encoders of one together, so that permutations are drawn once.
/// @param open as for search_mpi.
std::vector<CellWorlds> permute(const study::Study& study, const std::vector<TaskWork>& work,
                                std::vector<Found>& owned, const OpenRows& open, int threads,
                                parallel::StopRequest& stop, const Log& log);

}  // namespace candor::campaign
