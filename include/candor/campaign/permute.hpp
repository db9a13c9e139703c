#pragma once

/// Label permutations and subsamples of a cell, from the lists that its search brought (METHODS 4, 5, 6). A
/// cell that one rank searched is permuted as soon as it is decided, so that its lists are never held beside
/// those of other groups, and never in a journal; one whose panels several ranks decided, where it is
/// counted.

#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/found.hpp"
#include "candor/campaign/search_mpi.hpp"
#include "candor/campaign/work.hpp"
#include "candor/neighbors/row_source.hpp"
#include "candor/parallel/stop.hpp"

namespace candor::campaign {

/// Reads what a whole cell's lists say to `found.worlds`, and gives the lists up. Lists that end too early
/// for some world are made longer, from the features of `rows`, the cell's context.
/// @throws InternalError where the lists and the search tell the labels as they are differently.
void permute_cell(const study::Study& study, const TaskWork& work, Found& found,
                  const neighbors::RowSource& rows, int threads);

/// The same for those of `owned` that still have lists; every cell is one rank's. Collective.
/// @param open as for search_mpi.
void permute(const study::Study& study, const std::vector<TaskWork>& work, std::vector<Found>& owned,
             const OpenRows& open, int threads, parallel::StopRequest& stop, const Log& log);

/// Bytes of the lists of a cell, and of reading them.
std::int64_t lists_memory(const ListedCell& listed);
std::int64_t reading_memory(const study::Study& study, const ListedCell& listed);
/// Bytes of what is read off them, which stay.
std::int64_t worlds_memory(const study::Study& study, const ListedCell& listed);

}  // namespace candor::campaign
