#include "candor/campaign/work.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "made_study.hpp"

using namespace candor;
using namespace candor::testing;
using campaign::SearchItem;
using campaign::TaskWork;

namespace {

/// A work of cells by hand: per cell its context, queries and candidates a side (0: not scored).
struct CellSize {
    std::int32_t finding, context;
    std::int64_t queries, candidates;
};

TaskWork work_of(const std::vector<CellSize>& sizes) {
    TaskWork work;
    for (const CellSize& size : sizes) {
        study::Cell cell;
        cell.finding = size.finding;
        cell.context = size.context;
        cell.queries.resize(static_cast<std::size_t>(size.queries));
        study::Candidates candidates;
        for (auto& list : candidates.list) list.resize(static_cast<std::size_t>(size.candidates));
        if (size.candidates == 0) candidates.unscored = "too small";
        cell.candidates.push_back(candidates);
        work.cells.push_back(cell);
    }
    return work;
}

/// A study of one task with as many encoders as there are dimensions.
study::Study study_of(std::size_t encoders) {
    study::Study study;
    study.tasks.emplace_back();
    for (std::size_t e = 0; e < encoders; ++e) study.tasks[0].encoders.push_back(e);
    return study;
}

const std::vector<CellSize> sizes{{0, 0, 10000, 4000}, {0, 1, 300, 200}, {0, 2, 50, 0},
                                  {1, 0, 4096, 2000},  {1, 1, 4097, 10}, {1, 2, 7, 5}};

std::vector<double> loads_of(const std::vector<SearchItem>& items, const std::vector<int>& placed,
                             int ranks) {
    std::vector<double> loads(static_cast<std::size_t>(ranks));
    for (std::size_t i = 0; i < items.size(); ++i)
        loads.at(static_cast<std::size_t>(placed[i])) += items[i].flops;
    return loads;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(campaign_work)

BOOST_AUTO_TEST_CASE(items_cover_each_query_of_each_scored_cell_once_for_every_encoder) {
    const std::vector<TaskWork> work{work_of(sizes)};
    const auto items = campaign::search_items(study_of(3), work, {64, 512, 8});
    std::map<std::pair<std::size_t, std::size_t>, std::vector<int>> times;
    for (const SearchItem& item : items) {
        BOOST_TEST(item.work == 0);
        BOOST_TEST(item.count >= 1);
        BOOST_TEST(item.count <= campaign::item_queries);
        auto& queries = times[{item.encoder, item.cell}];
        queries.resize(static_cast<std::size_t>(sizes[item.cell].queries));
        for (std::int64_t q = item.first; q < item.first + item.count; ++q)
            ++queries.at(static_cast<std::size_t>(q));
    }
    BOOST_TEST(times.size() == 3 * 5);  // the third cell is not scored
    for (const auto& [key, queries] : times) {
        BOOST_TEST(key.second != 2);
        BOOST_TEST(std::ranges::all_of(queries, [](int n) { return n == 1; }));
    }
}

BOOST_AUTO_TEST_CASE(items_are_cut_at_their_size_and_costed_by_products) {
    const std::vector<TaskWork> work{work_of(sizes)};
    const auto items = campaign::search_items(study_of(2), work, {64, 512});
    std::vector<std::tuple<std::size_t, std::size_t, std::int64_t, std::int64_t>> seen, expected;
    for (const SearchItem& item : items) {
        seen.emplace_back(item.encoder, item.cell, item.first, item.count);
        const double columns = item.encoder == 0 ? 64 : 512;
        BOOST_TEST(item.flops ==
                   2.0 * static_cast<double>(item.count * 2 * sizes[item.cell].candidates) * columns);
    }
    // By encoder, then context, then cell: what shares rows stands together.
    for (std::size_t e = 0; e < 2; ++e) {
        expected.insert(expected.end(), {{e, 0, 0, 4096},
                                         {e, 0, 4096, 4096},
                                         {e, 0, 8192, 1808},
                                         {e, 3, 0, 4096},
                                         {e, 1, 0, 300},
                                         {e, 4, 0, 4096},
                                         {e, 4, 4096, 1},
                                         {e, 5, 0, 7}});
    }
    BOOST_TEST((seen == expected));
}

BOOST_AUTO_TEST_CASE(no_rank_carries_more_than_its_share_and_one_group) {
    const std::vector<TaskWork> work{work_of(sizes), work_of(sizes)};
    study::Study study = study_of(4);
    const auto items = campaign::search_items(study, work, {64, 512, 8, 1024});
    const double total = std::accumulate(items.begin(), items.end(), 0.0,
                                         [](double sum, const SearchItem& item) { return sum + item.flops; });
    const double longest = std::ranges::max(items, {}, &SearchItem::flops).flops;
    for (const int ranks : {1, 2, 3, 5, 16, 1000}) {
        const auto placed = campaign::place_items(items, work, ranks);
        BOOST_TEST(placed.size() == items.size());
        const auto loads = loads_of(items, placed, ranks);
        // Longest first leaves at most one group above the mean; a group is one item or an eighth of the
        // mean.
        BOOST_TEST(std::ranges::max(loads) <=
                   total / ranks + std::max(longest, total / (8.0 * ranks)) * (1 + 1e-12));
        BOOST_TEST(campaign::place_items(items, work, ranks) == placed, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(what_shares_rows_stays_together_where_the_balance_allows) {
    // Twenty equal cells of two contexts under 40 encoders on 2 ranks: groups of a fortieth are no burden.
    std::vector<CellSize> many;
    for (std::int32_t f = 0; f < 20; ++f) {
        many.push_back({f, 0, 100, 50});
        many.push_back({f, 1, 100, 50});
    }
    const std::vector<TaskWork> work{work_of(many)};
    const auto items = campaign::search_items(study_of(40), work, std::vector<std::int64_t>(40, 16));
    const auto placed = campaign::place_items(items, work, 2);
    std::map<std::pair<std::size_t, std::int32_t>, std::set<int>> ranks_of;
    for (std::size_t i = 0; i < items.size(); ++i) {
        ranks_of[{items[i].encoder, many[items[i].cell].context}].insert(placed[i]);
    }
    BOOST_TEST(ranks_of.size() == 80);
    for (const auto& [rows, ranks] : ranks_of) BOOST_TEST(ranks.size() == 1);
    const auto loads = loads_of(items, placed, 2);
    BOOST_TEST(loads[0] == loads[1]);
}

BOOST_AUTO_TEST_CASE(nothing_to_do_is_placed_nowhere) {
    const std::vector<TaskWork> work{work_of({{0, 0, 10, 0}})};
    const auto items = campaign::search_items(study_of(2), work, {64, 64});
    BOOST_TEST(items.empty());
    BOOST_TEST(campaign::place_items(items, work, 5).empty());
    BOOST_TEST(campaign::search_items(study_of(2), {}, {64, 64}).empty());
}

BOOST_AUTO_TEST_CASE(a_task_becomes_cells_by_finding_and_context_and_cases_one_after_another) {
    const campaign::Inputs inputs = made_inputs();
    const std::vector<TaskWork> work = made_work(inputs);
    BOOST_TEST(work.size() == 2);
    const TaskWork& both = work[0];
    BOOST_TEST(both.contexts.size() == 3);
    BOOST_TEST(both.cells.size() == 2 * 3);
    BOOST_TEST(both.rules.size() == 4);
    BOOST_TEST(work[1].contexts.size() == 1);
    std::int64_t cases = 0;
    for (std::size_t c = 0; c < both.cells.size(); ++c) {
        const study::Cell& cell = both.cells[c];
        BOOST_TEST(cell.finding == static_cast<std::int32_t>(c / 3));
        BOOST_TEST(cell.context == static_cast<std::int32_t>(c % 3));
        BOOST_TEST(both.first_case[c] == cases);
        if (cell.scored()) cases += static_cast<std::int64_t>(cell.queries.size());
    }
    BOOST_TEST(both.cases == cases);
    BOOST_TEST(!both.cells[2].scored());  // edema in dataset b: two positives
    BOOST_TEST(both.cells[0].scored());
    BOOST_TEST(both.cells[5].scored());
}

BOOST_AUTO_TEST_SUITE_END()
