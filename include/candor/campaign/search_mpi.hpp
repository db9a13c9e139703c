#pragma once

/// The operator carried out over ranks: every item searched once, what it found sent to who counts it.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/campaign/work.hpp"
#include "candor/instruments/discordance.hpp"
#include "candor/neighbors/search.hpp"
#include "candor/parallel/communicator.hpp"

namespace candor::campaign {

/// What one item found.
struct Found {
    SearchItem item;
    /// Per query of the item: the primary rule's draw 0.
    std::vector<instruments::Discordance> primary;
    /// Per entry of Cell::candidates that scores the cell, in their order, and per positive query of the
    /// item: +1 where DM > 0, 0 where DM == 0, -1 where DM < 0.
    std::vector<std::vector<std::int8_t>> sign;
};

/// How much was decided in double; it depends on the block size, so it is told in /run and not among the
/// results.
struct SearchCost {
    std::int64_t searches = 0;  ///< (query, list view) pairs
    std::int64_t kept = 0;      ///< rows decided, all searches together
    std::int64_t kept_max = 0;  ///< the most of one search
};

/// The search of items of one task, encoder and context, whose rows these are. Pure but for the threads.
std::vector<Found> search_group(const study::Study& study, const TaskWork& work,
                                std::span<const SearchItem> items, const neighbors::RowSet& rows,
                                const neighbors::SearchOptions& options, SearchCost& cost);

/// Searches this rank's items, in the order of `items`; parts of one cell that follow each other become one.
/// Collective only in its failures.
std::vector<Found> search_mine(const Inputs& inputs, const std::vector<TaskWork>& work,
                               const std::vector<SearchItem>& items, const std::vector<int>& placed, int rank,
                               const neighbors::SearchOptions& options, const Log& log, SearchCost& cost);

/// Sends each Found to the rank `owner(work, encoder, finding)`; @returns those owned here, ordered by work,
/// encoder, cell and first query. Collective.
std::vector<Found> deliver_mpi(const parallel::Communicator& world, const std::vector<TaskWork>& work,
                               const std::vector<Found>& found,
                               const std::function<int(std::size_t, std::size_t, std::size_t)>& owner);

}  // namespace candor::campaign
