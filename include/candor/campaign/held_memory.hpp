#pragma once

/// What a rank holds of results while it searches and counts: it grows with the study, and no bound on memory
/// can make it less.

#include <cstdint>
#include <vector>

#include "candor/campaign/search_plan.hpp"
#include "candor/campaign/work.hpp"
#include "candor/study/study.hpp"

namespace candor::campaign {

/// Bytes by rank.
struct HeldMemory {
    std::vector<std::int64_t> found;    ///< what the searches found, to the end
    std::vector<std::int64_t> counted;  ///< beside it while it is counted: sums of all resamples
    /// Beside it while it searches: the lists of the group that it permutes, or of panels that it decided of
    /// groups on several ranks, and what its panels keep of these; and then, of the latter, the lists that
    /// are sent to it and read.
    std::vector<std::int64_t> lists, delivered;

    /// The most of any rank, where its search takes `search` bytes and has gone before it counts.
    /// @param heads  bytes of heads, which come when that has gone too
    std::int64_t most(std::int64_t search, std::int64_t heads) const;
};

/// As count_mpi and its owners have it. @param plan  placed on `ranks` ranks.
HeldMemory held_memory(const study::Study& study, const std::vector<TaskWork>& work, const SearchPlan& plan,
                       int ranks);

/// Ways of counting a cell: one a rule that scores it.
std::int64_t rules_of(const TaskWork& work, const study::Cell& cell);

}  // namespace candor::campaign
