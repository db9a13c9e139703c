#include "candor/campaign/search_plan.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "candor/parallel/schedule.hpp"

namespace candor::campaign {

namespace {

/// Scanning the product of two rows takes about as long as multiplying as many columns.
constexpr double scan_columns = 200;

/// Cells that make one census, and who meets in it: the same under every encoder.
struct Census {
    std::int32_t context = 0;
    std::vector<std::size_t> cells;
    std::vector<neighbors::Encounter> encounters;
    std::int64_t panels = 0;
};

Census make_census(const TaskWork& work, std::int32_t context, std::vector<std::size_t> cells,
                   std::span<const neighbors::Question> questions, const neighbors::SearchOptions& options) {
    const std::int64_t rows = std::ssize(work.contexts[static_cast<std::size_t>(context)].rows);
    Census census{context, std::move(cells),
                  neighbors::encounters_of(rows, questions, options, places_of(work, context)), 0};
    // A panel stays while the others pass it, to and fro: the last of one pass is the first of the next.
    std::ranges::stable_sort(census.encounters, [](const auto& a, const auto& b) {
        return a.i != b.i ? a.i < b.i : a.i % 2 == 0 ? a.j < b.j : a.j > b.j;
    });
    for (const neighbors::Encounter& one : census.encounters)
        census.panels = std::max(census.panels, one.j + 1);
    return census;
}

std::vector<Census> censuses_of(const TaskWork& work, const neighbors::SearchOptions& options) {
    std::map<std::int32_t, std::vector<std::size_t>> by_context;
    for (std::size_t c = 0; c < work.cells.size(); ++c) {
        if (work.cells[c].scored()) by_context[work.cells[c].context].push_back(c);
    }
    std::vector<Census> made;
    for (const auto& [context, cells] : by_context) {
        const std::int64_t rows = std::ssize(work.contexts[static_cast<std::size_t>(context)].rows);
        std::vector<neighbors::Question> all;
        double apart = 0;
        for (const std::size_t c : cells) {
            const auto own = questions_of(work, c);
            apart += neighbors::products_of(rows, own);
            all.insert(all.end(), own.begin(), own.end());
        }
        if (apart >= neighbors::products_of(rows, all)) {
            made.push_back(make_census(work, context, cells, all, options));
            continue;
        }
        for (const std::size_t c : cells)
            made.push_back(make_census(work, context, {c}, questions_of(work, c), options));
    }
    return made;
}

/// Tasks of one group that are placed together: whole groups of a cost up to `whole`, others in pieces of up
/// to a quarter of that, at least a task.
struct Pieces {
    std::vector<double> cost;
    std::vector<std::size_t> of_task;
};

Pieces cut(const std::vector<SearchTask>& tasks, const std::vector<double>& of_group, double whole) {
    Pieces pieces;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
        const SearchTask& task = tasks[t];
        const bool follows = t > 0 && tasks[t - 1].group == task.group;
        const bool joins =
            follows && (of_group[task.group] <= whole || pieces.cost.back() + task.cost <= whole / 4);
        if (!joins) pieces.cost.push_back(0);
        pieces.cost.back() += task.cost;
        pieces.of_task.push_back(pieces.cost.size() - 1);
    }
    return pieces;
}

/// The rank of each task. A rank reads all rows of a group that it has tasks of, so that pieces are as large
/// as they may be while ranks carry alike.
std::vector<int> place(const std::vector<SearchTask>& tasks, std::size_t groups, int ranks) {
    std::vector<double> of_group(groups);
    double total = 0;
    for (const SearchTask& task : tasks) {
        total += task.cost;
        of_group[task.group] += task.cost;
    }
    const double mean = total / ranks;
    std::vector<int> best;
    double best_most = 0;
    for (const double share : {1.0, 1.0 / 2, 1.0 / 4, 1.0 / 8, 1.0 / 16}) {
        const Pieces pieces = cut(tasks, of_group, share * mean);
        const std::vector<int> placed = parallel::place_longest_first(pieces.cost, ranks);
        std::vector<double> loads(static_cast<std::size_t>(ranks));
        for (std::size_t p = 0; p < placed.size(); ++p)
            loads[static_cast<std::size_t>(placed[p])] += pieces.cost[p];
        const double most = std::ranges::max(loads);
        if (best.empty() || most < best_most) {
            best.clear();
            for (const std::size_t piece : pieces.of_task) best.push_back(placed[piece]);
            best_most = most;
        }
        constexpr double alike = 0.97;
        if (alike * best_most <= mean) break;
    }
    return best;
}

bool is_answered(const SearchDone& done, std::size_t group, std::int64_t panels) {
    const auto first = done.answered.lower_bound({group, 0}), end = done.answered.lower_bound({group + 1, 0});
    return panels > 0 && std::distance(first, end) == panels;
}

}  // namespace

std::vector<bool> shared_groups(const SearchPlan& plan, const SearchDone& done) {
    std::vector<bool> shared(plan.groups.size());
    for (const auto& [group, pair] : done.met) shared[group] = true;
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
        const std::size_t group = plan.tasks[t].group;
        if (plan.rank[t] != plan.owner[group].front()) shared[group] = true;
    }
    return shared;
}

std::vector<neighbors::Question> questions_of(const study::Cell& cell) {
    std::vector<neighbors::Question> asked;
    for (std::size_t c = 0; c < cell.candidates.size(); ++c) {
        const study::Candidates& candidates = cell.candidates[c];
        if (candidates.unscored) continue;
        const auto count = c == 0 ? cell.queries.size() : static_cast<std::size_t>(cell.positive_queries);
        for (const int side : {0, 1}) {
            asked.push_back({candidates.list[side], std::span(cell.queries).first(count),
                             std::span(candidates.reach[side]).first(count)});
        }
    }
    return asked;
}

std::vector<neighbors::Question> questions_of(const TaskWork& work, std::size_t cell) {
    std::vector<neighbors::Question> asked = questions_of(work.cells[cell]);
    if (work.listed.empty() || !work.listed[cell].has_lists()) return asked;
    for (std::size_t side = 0; side < 2; ++side) asked[side].k = work.listed[cell].side_length;
    asked.push_back(work.listed[cell].question());
    return asked;
}

std::vector<std::int64_t> places_of(const TaskWork& work, std::int32_t context) {
    std::vector<std::int64_t> places;
    for (const PoolRow row : work.contexts[static_cast<std::size_t>(context)].rows) {
        const auto at = static_cast<std::size_t>(row.value);
        places.push_back((static_cast<std::int64_t>(work.pool.dataset[at]) << 40) +
                         work.pool.table_row[at].value);
    }
    return places;
}

SearchPlan list_search(const study::Study& study, const std::vector<TaskWork>& work,
                       const std::vector<std::int64_t>& dimensions, const neighbors::SearchOptions& options,
                       const SearchDone& done) {
    SearchPlan plan;
    for (std::size_t w = 0; w < work.size(); ++w) {
        const study::Task& task = study.tasks[work[w].task];
        const std::vector<Census> censuses = censuses_of(work[w], options);
        for (std::size_t e = 0; e < task.encoders.size(); ++e) {
            const auto dimension = static_cast<double>(dimensions[task.encoders[e]]);
            for (const Census& census : censuses) {
                const std::size_t group = plan.groups.size();
                plan.groups.push_back({w, e, census.context, census.cells, census.panels});
                if (is_answered(done, group, census.panels)) continue;
                for (const neighbors::Encounter& one : census.encounters) {
                    if (!done.met.contains({group, {one.i, one.j}}))
                        plan.tasks.push_back({group, one, 2 * one.products * dimension,
                                              2 * one.products * (dimension + scan_columns)});
                }
            }
        }
    }
    return plan;
}

void place_search(SearchPlan& plan, int ranks, const SearchDone& done) {
    plan.rank = place(plan.tasks, plan.groups.size(), ranks);
    plan.owner.clear();
    // A panel is decided by one of the ranks that have its group's rows.
    std::vector<std::vector<int>> at_work(plan.groups.size());
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) at_work[plan.tasks[t].group].push_back(plan.rank[t]);
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
        plan.owner.emplace_back();
        if (is_answered(done, g, plan.groups[g].panels)) continue;
        std::vector<int>& ranks_of = at_work[g];
        // All have met, in earlier runs: whoever reads the rows anew will do.
        if (ranks_of.empty()) ranks_of.push_back(static_cast<int>(g % static_cast<std::size_t>(ranks)));
        std::ranges::sort(ranks_of);
        ranks_of.erase(std::unique(ranks_of.begin(), ranks_of.end()), ranks_of.end());
        for (std::int64_t panel = 0; panel < plan.groups[g].panels; ++panel)
            plan.owner[g].push_back(ranks_of[static_cast<std::size_t>(panel) % ranks_of.size()]);
    }
}

SearchPlan plan_search(const study::Study& study, const std::vector<TaskWork>& work,
                       const std::vector<std::int64_t>& dimensions, const neighbors::SearchOptions& options,
                       int ranks, const SearchDone& done) {
    SearchPlan plan = list_search(study, work, dimensions, options, done);
    place_search(plan, ranks, done);
    return plan;
}

}  // namespace candor::campaign
