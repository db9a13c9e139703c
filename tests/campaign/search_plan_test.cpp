#include "candor/campaign/search_plan.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "made_study.hpp"
#include "neighbors/made_rows.hpp"

using namespace candor;
using namespace candor::testing;
using campaign::SearchGroup;
using campaign::SearchPlan;
using campaign::SearchTask;
using campaign::TaskWork;
using neighbors::SearchOptions;

namespace {

/// A cell about rows first .. first + count of a context, of which every `one_in`-th is a positive; everyone
/// asks, and sees all but itself.
study::Cell cell_of(std::int32_t finding, std::int32_t context, std::int64_t first, std::int64_t count,
                    std::int64_t one_in = 2) {
    study::Cell cell;
    cell.finding = finding;
    cell.context = context;
    study::Candidates candidates;
    for (std::int64_t row = first; row < first + count; ++row)
        candidates.list[(row - first) % one_in == 0].emplace_back(row);
    cell.positive_queries = std::ssize(candidates.list[1]);
    for (const int side : {1, 0})
        cell.queries.insert(cell.queries.end(), candidates.list[side].begin(), candidates.list[side].end());
    for (const int side : {0, 1}) {
        for (std::int64_t q = 0; q < std::ssize(cell.queries); ++q) {
            const bool own = (q < cell.positive_queries) == (side == 1);
            const std::int64_t at = side == 1 ? q : q - cell.positive_queries;
            candidates.reach[side].push_back({std::ssize(candidates.list[side]), own ? at : -1});
        }
    }
    cell.candidates.push_back(candidates);
    return cell;
}

study::Cell unscored(std::int32_t finding, std::int32_t context) {
    study::Cell cell = cell_of(finding, context, 0, 4);
    cell.candidates.front().unscored = "too small";
    return cell;
}

/// A work of cells by hand, with as many rows in each context as `rows` says.
TaskWork work_of(const std::vector<std::int64_t>& rows, std::vector<study::Cell> cells) {
    TaskWork work;
    for (const std::int64_t count : rows) {
        work.contexts.emplace_back();
        for (std::int64_t row = 0; row < count; ++row) {
            // Every third row from a second table: what is read together is not what follows in key order.
            work.contexts.back().rows.emplace_back(std::ssize(work.pool.dataset));
            work.pool.table_row.emplace_back(std::ssize(work.pool.dataset));
            work.pool.dataset.push_back(row % 3 == 2);
        }
    }
    work.cells = std::move(cells);
    return work;
}

/// A study of one task with as many encoders as there are dimensions.
study::Study study_of(std::size_t encoders) {
    study::Study study;
    study.tasks.emplace_back();
    for (std::size_t e = 0; e < encoders; ++e) study.tasks[0].encoders.push_back(e);
    return study;
}

/// Three contexts, large, middling and small; one cell is not scored.
TaskWork uneven() {
    return work_of({900, 200, 40}, {cell_of(0, 0, 0, 900), cell_of(0, 1, 0, 200), unscored(0, 2),
                                    cell_of(1, 0, 50, 800, 7), cell_of(1, 1, 20, 90), cell_of(1, 2, 0, 30)});
}

std::vector<neighbors::Question> questions_of(const TaskWork& work, const SearchGroup& group) {
    std::vector<neighbors::Question> all;
    for (const std::size_t c : group.cells) {
        const auto own = campaign::questions_of(work, c);
        all.insert(all.end(), own.begin(), own.end());
    }
    return all;
}

std::int64_t rows_of(const TaskWork& work, const SearchGroup& group) {
    return std::ssize(work.contexts[static_cast<std::size_t>(group.context)].rows);
}

std::vector<double> loads_of(const SearchPlan& plan, int ranks) {
    std::vector<double> loads(static_cast<std::size_t>(ranks));
    for (std::size_t t = 0; t < plan.tasks.size(); ++t)
        loads.at(static_cast<std::size_t>(plan.rank[t])) += plan.tasks[t].cost;
    return loads;
}

std::set<int> ranks_of(const SearchPlan& plan, std::size_t group) {
    std::set<int> ranks;
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
        if (plan.tasks[t].group == group) ranks.insert(plan.rank[t]);
    }
    return ranks;
}

double total_of(const SearchPlan& plan) {
    return std::accumulate(plan.tasks.begin(), plan.tasks.end(), 0.0,
                           [](double sum, const SearchTask& task) { return sum + task.cost; });
}

using Key = std::tuple<std::size_t, std::int64_t, std::int64_t, double>;

std::vector<Key> keys_of(const SearchPlan& plan) {
    std::vector<Key> keys;
    for (const SearchTask& task : plan.tasks)
        keys.emplace_back(task.group, task.encounter.i, task.encounter.j, task.flops);
    return keys;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(campaign_search_plan)

BOOST_AUTO_TEST_CASE(the_negative_side_is_asked_before_the_positive_one_and_negatives_once) {
    const std::vector<TaskWork> work = made_work(made_inputs());
    for (const study::Cell& cell : work[0].cells) {
        if (!cell.scored()) continue;
        const std::vector<neighbors::Question> asked = campaign::questions_of(cell);
        std::size_t next = 0;
        for (const study::Candidates& candidates : cell.candidates) {
            if (candidates.unscored) continue;
            BOOST_REQUIRE(next + 2 <= asked.size());
            for (const int side : {0, 1}) {
                const neighbors::Question& one = asked[next++];
                const auto count =
                    static_cast<std::size_t>(next <= 2 ? std::ssize(cell.queries) : cell.positive_queries);
                BOOST_TEST(one.list.data() == candidates.list[side].data());
                BOOST_TEST(one.list.size() == candidates.list[side].size());
                BOOST_TEST(one.queries.data() == cell.queries.data());
                BOOST_TEST(one.queries.size() == count);
                BOOST_TEST(one.reach.data() == candidates.reach[side].data());
                BOOST_TEST(one.reach.size() == count);
            }
        }
        BOOST_TEST(next == asked.size());
        BOOST_TEST(next > 2);
    }
    // A rule that does not score a cell that the primary one scores is not asked.
    study::Cell cell = cell_of(0, 0, 0, 10);
    cell.candidates.insert(cell.candidates.end(), 2, cell.candidates.front());
    cell.candidates[1].unscored = "too small";
    const auto asked = campaign::questions_of(cell);
    BOOST_REQUIRE(asked.size() == 4);
    BOOST_TEST(asked[2].list.data() == cell.candidates[2].list[0].data());
}

BOOST_AUTO_TEST_CASE(every_scored_cell_is_in_one_group_of_each_encoder_and_every_encounter_is_one_task) {
    const std::vector<TaskWork> work{uneven(), uneven()};
    const std::vector<std::int64_t> dimensions{64, 512, 8};
    for (const std::int64_t panel : {64, 4096}) {
        const SearchOptions options{32, 1, panel};
        const SearchPlan plan = campaign::plan_search(study_of(3), work, dimensions, options, 3);
        std::map<std::tuple<std::size_t, std::size_t, std::size_t>, int> times;  // by work, encoder, cell
        std::vector<std::tuple<std::size_t, std::size_t, std::int32_t>> places;
        for (const SearchGroup& group : plan.groups) {
            places.emplace_back(group.work, group.encoder, group.context);
            for (const std::size_t c : group.cells) {
                BOOST_TEST(work[group.work].cells[c].context == group.context);
                ++times[{group.work, group.encoder, c}];
            }
        }
        BOOST_TEST(std::ranges::is_sorted(places));
        BOOST_TEST(times.size() == 2 * 3 * 5);  // the third cell is not scored
        for (const auto& [key, count] : times) {
            BOOST_TEST(std::get<2>(key) != 2);
            BOOST_TEST(count == 1);
        }

        BOOST_TEST(std::ranges::is_sorted(plan.tasks, {}, &SearchTask::group));
        for (std::size_t g = 0; g < plan.groups.size(); ++g) {
            const SearchGroup& group = plan.groups[g];
            const TaskWork& here = work[group.work];
            std::map<std::pair<std::int64_t, std::int64_t>, double> expected, seen;
            for (const auto& one :
                 neighbors::encounters_of(rows_of(here, group), questions_of(here, group), options,
                                          campaign::places_of(here, group.context)))
                expected[{one.i, one.j}] = 2 * one.products * static_cast<double>(dimensions[group.encoder]);
            std::int64_t last = 0;
            for (const SearchTask& task : plan.tasks) {
                if (task.group != g) continue;
                const bool is_new =
                    seen.emplace(std::pair(task.encounter.i, task.encounter.j), task.flops).second;
                BOOST_TEST(is_new);
                last = std::max(last, task.encounter.j);
            }
            BOOST_TEST((seen == expected));
            BOOST_TEST(group.panels == last + 1);
            const neighbors::RowSet rows(gaussian<float>(rows_of(here, group), 2));
            const auto asked = questions_of(here, group);
            BOOST_TEST(neighbors::Census(rows, asked, 2, options, campaign::places_of(here, group.context))
                           .panels() == group.panels);
        }
    }
}

// So the panel that the next one needs is mostly there.
BOOST_AUTO_TEST_CASE(a_panel_stays_while_the_others_pass_it_to_and_fro) {
    const SearchPlan plan =
        campaign::plan_search(study_of(1), {work_of({640}, {cell_of(0, 0, 0, 640)})}, {64}, {64, 1, 64}, 1);
    BOOST_TEST(plan.groups.front().panels == 10);
    BOOST_TEST(plan.tasks.size() == 10 * 11 / 2);
    for (std::size_t t = 1; t < plan.tasks.size(); ++t) {
        const neighbors::Encounter &before = plan.tasks[t - 1].encounter, &now = plan.tasks[t].encounter;
        BOOST_TEST(now.i - before.i == (now.i == before.i ? 0 : 1));
        BOOST_TEST(std::abs(now.j - before.j) <= 1);
    }
}

BOOST_AUTO_TEST_CASE(what_is_to_be_done_depends_on_study_and_pool_alone) {
    const std::vector<TaskWork> work{uneven(), uneven()};
    const SearchOptions options{32, 1, 64};
    const SearchPlan one = campaign::plan_search(study_of(2), work, {64, 512}, options, 1);
    BOOST_TEST(std::ranges::count(one.rank, 0) == std::ssize(one.tasks));
    for (int ranks = 1; ranks <= 7; ++ranks) {
        const SearchPlan plan = campaign::plan_search(study_of(2), work, {64, 512}, options, ranks);
        BOOST_TEST((keys_of(plan) == keys_of(one)));
        BOOST_REQUIRE(plan.groups.size() == one.groups.size());
        for (std::size_t g = 0; g < plan.groups.size(); ++g) {
            BOOST_TEST(plan.groups[g].cells == one.groups[g].cells, boost::test_tools::per_element());
            BOOST_TEST(plan.groups[g].panels == one.groups[g].panels);
        }
        BOOST_REQUIRE(plan.rank.size() == plan.tasks.size());
        for (const int rank : plan.rank) BOOST_TEST((rank >= 0 && rank < ranks));
        const SearchPlan again = campaign::plan_search(study_of(2), work, {64, 512}, options, ranks);
        BOOST_TEST(again.rank == plan.rank, boost::test_tools::per_element());
        BOOST_TEST((again.owner == plan.owner));
    }
}

BOOST_AUTO_TEST_CASE(a_panel_is_decided_by_a_rank_that_met_someone_of_its_group) {
    const std::vector<TaskWork> work{uneven(), uneven()};
    for (const int ranks : {1, 2, 3, 5, 64}) {
        const SearchPlan plan = campaign::plan_search(study_of(2), work, {64, 512}, {32, 1, 64}, ranks);
        BOOST_REQUIRE(plan.owner.size() == plan.groups.size());
        std::size_t owners_of_largest = 0;
        for (std::size_t g = 0; g < plan.groups.size(); ++g) {
            const std::set<int> at_work = ranks_of(plan, g);
            BOOST_TEST(std::ssize(plan.owner[g]) == plan.groups[g].panels);
            for (const int rank : plan.owner[g]) BOOST_TEST(at_work.contains(rank));
            // Decisions are work too: all who can share it.
            const std::set<int> owners(plan.owner[g].begin(), plan.owner[g].end());
            BOOST_TEST(owners.size() == std::min(at_work.size(), plan.owner[g].size()));
            owners_of_largest = std::max(owners_of_largest, owners.size());
        }
        // With fewer ranks whole groups are even enough.
        if (ranks == 64) BOOST_TEST(owners_of_largest >= 5);
    }
}

BOOST_AUTO_TEST_CASE(no_rank_carries_more_than_its_share_and_one_piece) {
    const std::vector<TaskWork> work{uneven(), uneven()};
    for (const int ranks : {1, 2, 3, 5, 16, 1000}) {
        const SearchPlan plan =
            campaign::plan_search(study_of(4), work, {64, 512, 8, 1024}, {32, 1, 64}, ranks);
        const double total = total_of(plan);
        const double longest = std::ranges::max(plan.tasks, {}, &SearchTask::cost).cost;
        // Longest first leaves at most one piece above the mean: a task, or a group of an eighth of the mean.
        BOOST_TEST(std::ranges::max(loads_of(plan, ranks)) <=
                   total / ranks + std::max(longest, total / (8.0 * ranks)) * (1 + 1e-12));
    }
}

BOOST_AUTO_TEST_CASE(one_large_context_keeps_all_ranks_at_work) {
    for (const std::int64_t panels : {8, 9, 12, 20}) {
        const std::int64_t rows = 64 * panels;
        for (const bool two_findings : {false, true}) {
            std::vector<study::Cell> cells{cell_of(0, 0, 0, rows)};
            if (two_findings) cells.push_back(cell_of(1, 0, 0, rows, 5));
            const std::vector<TaskWork> work{work_of({rows}, cells)};
            for (const int ranks : {2, 3, 5}) {
                const SearchPlan plan = campaign::plan_search(study_of(1), work, {64}, {16, 1, 64}, ranks);
                BOOST_TEST(plan.groups.size() == 1);
                BOOST_TEST(std::ranges::max(loads_of(plan, ranks)) <= 1.1 * total_of(plan) / ranks,
                           panels << " panels, " << ranks << " ranks");
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(what_shares_rows_stays_together_where_the_balance_allows) {
    // Twenty equal cells of two contexts under 40 encoders on 2 ranks: groups of an eightieth are no burden.
    std::vector<study::Cell> many;
    for (std::int32_t f = 0; f < 20; ++f) {
        for (const std::int32_t context : {0, 1}) many.push_back(cell_of(f, context, 0, 100, 2 + f % 3));
    }
    const std::vector<TaskWork> work{work_of({100, 100}, many)};
    const SearchPlan plan =
        campaign::plan_search(study_of(40), work, std::vector<std::int64_t>(40, 16), {8, 1, 16}, 2);
    BOOST_TEST(plan.groups.size() == 80);
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
        BOOST_TEST(plan.groups[g].cells.size() == 20);
        BOOST_TEST(plan.groups[g].panels >= 7);
        BOOST_TEST(ranks_of(plan, g).size() == 1);
    }
    const auto loads = loads_of(plan, 2);
    BOOST_TEST(loads[0] == loads[1]);

    // Beside a large group the small ones stay whole too.
    const std::vector<TaskWork> beside{work_of({900, 60}, {cell_of(0, 0, 0, 900), cell_of(0, 1, 0, 60)})};
    const SearchPlan uneven_ones = campaign::plan_search(study_of(1), beside, {64}, {16, 1, 16}, 3);
    BOOST_REQUIRE(uneven_ones.groups.size() == 2);
    BOOST_TEST(ranks_of(uneven_ones, 0).size() == 3);
    BOOST_TEST(ranks_of(uneven_ones, 1).size() == 1);
}

BOOST_AUTO_TEST_CASE(cells_that_share_few_rows_are_searched_apart) {
    const auto groups_of = [](const std::vector<study::Cell>& cells) {
        const std::vector<TaskWork> work{work_of({400}, cells)};
        const SearchOptions options{16, 1, 64};
        const SearchPlan plan = campaign::plan_search(study_of(1), work, {64}, options, 2);
        // What was chosen takes no more products than the other choice.
        double apart = 0;
        std::vector<neighbors::Question> all;
        for (const study::Cell& cell : cells) {
            const auto own = campaign::questions_of(cell);
            apart += neighbors::products_of(400, own);
            all.insert(all.end(), own.begin(), own.end());
        }
        const double together = neighbors::products_of(400, all);
        double chosen = 0;
        for (const SearchGroup& group : plan.groups)
            chosen += neighbors::products_of(400, questions_of(work[0], group));
        BOOST_TEST(chosen == std::min(apart, together));
        return plan.groups.size();
    };
    BOOST_TEST(groups_of({cell_of(0, 0, 0, 100), cell_of(1, 0, 100, 100), cell_of(2, 0, 200, 100)}) == 3);
    BOOST_TEST(groups_of({cell_of(0, 0, 0, 100), cell_of(1, 0, 90, 100)}) == 2);
    BOOST_TEST(groups_of({cell_of(0, 0, 0, 100), cell_of(1, 0, 0, 100, 3)}) == 1);
    BOOST_TEST(groups_of({cell_of(0, 0, 0, 100), cell_of(1, 0, 10, 100)}) == 1);
    // Seven cells that share half of their rows with the next.
    std::vector<study::Cell> chain;
    for (std::int32_t f = 0; f < 7; ++f) chain.push_back(cell_of(f, 0, 50 * f, 100));
    BOOST_TEST(groups_of(chain) == 7);
}

BOOST_AUTO_TEST_CASE(nothing_to_do_is_placed_nowhere) {
    const std::vector<TaskWork> work{work_of({10}, {unscored(0, 0)})};
    for (const SearchPlan& plan : {campaign::plan_search(study_of(2), work, {64, 64}, {}, 5),
                                   campaign::plan_search(study_of(2), {}, {64, 64}, {}, 5)}) {
        BOOST_TEST(plan.groups.empty());
        BOOST_TEST(plan.tasks.empty());
        BOOST_TEST(plan.rank.empty());
        BOOST_TEST(plan.owner.empty());
    }
}

BOOST_AUTO_TEST_SUITE_END()
