#pragma once

/// Who searches what: a function of study, pool and rank count alone, computed alike on every rank without a
/// message (DESIGN 7).

#include <compare>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "candor/campaign/work.hpp"
#include "candor/neighbors/census.hpp"
#include "candor/neighbors/search.hpp"

namespace candor::campaign {

/// Cells of one task, encoder and context that are searched together, in one census.
struct SearchGroup {
    std::size_t work = 0;            ///< position among the TaskWorks
    std::size_t encoder = 0;         ///< position in Task::encoders
    std::int32_t context = 0;        ///< position in TaskWork::contexts
    std::vector<std::size_t> cells;  ///< positions in TaskWork::cells, all scored
    std::int64_t panels = 0;         ///< of its census
};

/// Two panels of a group's census that meet: the unit of work. It depends on study and pool alone.
struct SearchTask {
    std::size_t group = 0;
    neighbors::Encounter encounter;
    double flops = 0;
    double cost = 0;  ///< beside that of other tasks: flops, and scanning what they give
};

/// Two panels, i <= j.
struct PanelPair {
    std::int64_t i = 0, j = 0;
    auto operator<=>(const PanelPair&) const = default;
};

/// What of a search need not be done again.
struct SearchDone {
    std::set<std::pair<std::size_t, std::int64_t>> answered;  ///< (group, panel) decided
    std::set<std::pair<std::size_t, PanelPair>> met;  ///< by group, panels that met and kept what they did
};

struct SearchPlan {
    std::vector<SearchGroup> groups;  ///< by task, encoder, context
    /// What is left to do, by group, then as a rank does them: panels stay while others pass.
    std::vector<SearchTask> tasks;
    std::vector<int> rank;  ///< of each task
    /// By group and panel: the rank that decides it; of groups that are answered in full, none.
    std::vector<std::vector<int>> owner;
};

/// Groups whose panels have met on several ranks, or in several runs: what they kept is brought together
/// before it is decided.
std::vector<bool> shared_groups(const SearchPlan& plan, const SearchDone& done = {});

/// Bytes that a rank takes beside what it holds and its census: messages, a slab of the file that is read,
/// and the BLAS' own buffers.
inline constexpr std::int64_t memory_beside_search = std::int64_t{20} << 20;

/// What the queries of a cell ask, in the order of its scored candidates, the negative side before the
/// positive one. Positives are asked under every rule and draw; negatives serve the margin classifier alone:
/// draw 0 of the primary rule.
std::vector<neighbors::Question> questions_of(const study::Cell& cell);

/// What a cell asks: that, where it has lists the primary rule's draw 0 for more than k neighbours, and then
/// the question of its lists.
std::vector<neighbors::Question> questions_of(const TaskWork& work, std::size_t cell);

/// Where the rows of a context are read from: their rows of the tables, one dataset after another.
std::vector<std::int64_t> places_of(const TaskWork& work, std::int32_t context);

/// What is left to do, not yet who does it: a plan with neither ranks nor owners. The cells of a context are
/// searched in one census, unless so few rows are shared that each by itself takes fewer products.
/// @param dimensions feature columns by position in Study::encoders.
/// @param done        what earlier runs of the same study did, whatever their ranks.
SearchPlan list_search(const study::Study& study, const std::vector<TaskWork>& work,
                       const std::vector<std::int64_t>& dimensions, const neighbors::SearchOptions& options,
                       const SearchDone& done = {});

/// Gives every task its rank and every panel its owner. Tasks of one group stay together as far as the ranks'
/// costs allow; longest first. @param done as the plan was listed with.
void place_search(SearchPlan& plan, int ranks, const SearchDone& done = {});

/// Both of them, one after the other: what a run does.
SearchPlan plan_search(const study::Study& study, const std::vector<TaskWork>& work,
                       const std::vector<std::int64_t>& dimensions, const neighbors::SearchOptions& options,
                       int ranks, const SearchDone& done = {});

}  // namespace candor::campaign
