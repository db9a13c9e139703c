#pragma once

/// The operator carried out over ranks: panels meet where the plan says, what they keep is brought together
/// and decided at their owners, and each cell is put together where it is counted.

#include <functional>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/found.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/campaign/search_journal_mpi.hpp"
#include "candor/campaign/search_plan.hpp"
#include "candor/campaign/work.hpp"
#include "candor/neighbors/row_source.hpp"
#include "candor/neighbors/search.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/parallel/stop.hpp"

namespace candor::campaign {

/// Opens the rows of a group's context.
using OpenRows = std::function<std::unique_ptr<neighbors::RowSource>(const SearchGroup& group)>;

/// What a search leaves behind on its way, and what it heeds.
struct SearchWatch {
    SearchJournal& journal;
    Search search = Search::matched;  ///< by which name the journal knows it
    parallel::StopRequest& stop;
    const Log& log;
};

/// Does this rank's share of the plan; cells whose panels are all its own it permutes too. @param earlier
/// what the plan was made without, as `journal` gave it.
/// @returns what the panels that it owns found, and what was found earlier and read here. Collective.
/// @throws parallel::Stopped; what is finished is in the journal by then.
std::vector<FoundPart> search_mpi(const parallel::Communicator& world, const study::Study& study,
                                  const std::vector<TaskWork>& work, const SearchPlan& plan, Earlier earlier,
                                  const OpenRows& open, const neighbors::SearchOptions& options,
                                  const SearchWatch& watch, SearchCost& cost);

/// Opens them from the feature files, those of one encoder at a time.
OpenRows from_files(const Inputs& inputs, const std::vector<TaskWork>& work);

/// Sends each part to the rank `owner(work, encoder, finding)`, some at a time; @returns the cells owned
/// here, whole, ordered by work, encoder and cell. Collective.
std::vector<Found> deliver_mpi(const parallel::Communicator& world, const std::vector<TaskWork>& work,
                               std::vector<FoundPart> parts,
                               const std::function<int(std::size_t, std::size_t, std::size_t)>& owner);

}  // namespace candor::campaign
