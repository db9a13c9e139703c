#pragma once

/// The operator carried out over ranks: panels meet where the plan says, what they keep is brought together
/// and decided at their owners, and each cell is put together where it is counted.

#include <cstdint>
#include <functional>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/campaign/search_plan.hpp"
#include "candor/campaign/work.hpp"
#include "candor/instruments/discordance.hpp"
#include "candor/neighbors/row_source.hpp"
#include "candor/neighbors/search.hpp"
#include "candor/parallel/communicator.hpp"

namespace candor::campaign {

/// What a cell found under one encoder.
struct Found {
    std::size_t work = 0;     ///< position among the TaskWorks
    std::size_t encoder = 0;  ///< position in Task::encoders
    std::size_t cell = 0;     ///< position in TaskWork::cells
    /// Per query of the cell: the primary rule's draw 0.
    std::vector<instruments::Discordance> primary;
    /// Per entry of Cell::candidates that scores the cell, in their order, and per positive query: +1 where
    /// DM > 0, 0 where DM == 0, -1 where DM < 0.
    std::vector<std::vector<std::int8_t>> sign;
};

/// The same of some of a cell's queries.
struct FoundPart {
    std::vector<std::int64_t> query;  ///< positions in Cell::queries, ascending; `found` is of these alone
    Found found;
};

/// How the search went; it depends on blocks, ranks and memory, so it is told in /run and not among the
/// results.
struct SearchCost {
    std::int64_t searches = 0;  ///< (query, list view) pairs
    std::int64_t kept = 0;      ///< rows decided, all searches together
    std::int64_t kept_max = 0;  ///< the most of one search
};

/// Opens the rows of a group's context.
using OpenRows = std::function<std::unique_ptr<neighbors::RowSource>(const SearchGroup& group)>;

/// Does this rank's share of the plan. @returns what the panels that it owns found. Collective.
std::vector<FoundPart> search_mpi(const parallel::Communicator& world, const study::Study& study,
                                  const std::vector<TaskWork>& work, const SearchPlan& plan,
                                  const OpenRows& open, const neighbors::SearchOptions& options,
                                  const Log& log, SearchCost& cost);

/// Opens them from the feature files, those of one encoder at a time.
OpenRows from_files(const Inputs& inputs, const std::vector<TaskWork>& work);

/// Sends each part to the rank `owner(work, encoder, finding)`; @returns the cells owned here, whole, ordered
/// by work, encoder and cell. Collective.
std::vector<Found> deliver_mpi(const parallel::Communicator& world, const std::vector<TaskWork>& work,
                               const std::vector<FoundPart>& parts,
                               const std::function<int(std::size_t, std::size_t, std::size_t)>& owner);

}  // namespace candor::campaign
