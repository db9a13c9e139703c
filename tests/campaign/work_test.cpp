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

namespace {

/// Dataset r answers, dataset q asks; contexts are views. View ap: 4 + 4 rows of r; view pa: one positive of
/// r; view ll: rows of q alone.
campaign::Inputs inputs_with_reference() {
    campaign::Inputs inputs;
    inputs.study = study::parse_study(
        "made.toml",
        "[study]\nname = \"made\"\n[operator]\nk = 2\n[[encoder]]\nid = \"e\"\n"
        "[[dataset]]\nid = \"r\"\ntable = \"r.csv\"\nfeatures = \"r.h5\"\n"
        "[[dataset]]\nid = \"q\"\ntable = \"q.csv\"\nfeatures = \"q.h5\"\nreference = \"r\"\n"
        "[[task]]\nid = \"t\"\ndatasets = [\"q\"]\nfindings = [\"f\"]\ncontext = [\"dataset\", \"view\"]\n");
    std::string r = "image_id,view,f\n", q = r;
    for (int i = 0; i < 8; ++i) r += "r" + std::to_string(i) + ",ap," + (i % 2 == 0 ? "1\n" : "0\n");
    r += "r8,pa,1\n";
    for (int i = 0; i < 5; ++i) q += "q" + std::to_string(i) + ",ap," + (i < 3 ? "1\n" : "0\n");
    q += "q5,pa,1\nq6,pa,0\nq7,ll,1\nq8,ll,\n";
    inputs.tables = {study::parse_table(inputs.study.datasets[0], r, {"f"}, {"view"}),
                     study::parse_table(inputs.study.datasets[1], q, {"f"}, {"view"})};
    return inputs;
}

std::set<std::string> images_asked(const TaskWork& work, const study::Cell& cell) {
    std::set<std::string> images;
    for (const ContextRow query : cell.queries) {
        const PoolRow row = work.contexts.at(static_cast<std::size_t>(cell.context))
                                .rows.at(static_cast<std::size_t>(query.value));
        images.insert(work.pool.image.at(static_cast<std::size_t>(row.value)));
    }
    return images;
}

}  // namespace

BOOST_AUTO_TEST_CASE(queries_without_a_scored_context_ask_the_whole_reference) {
    const campaign::Inputs inputs = inputs_with_reference();
    const TaskWork work = made_work(inputs)[0];
    BOOST_TEST(work.pool.clusters == 9);  // the images of q; each its own patient
    BOOST_REQUIRE(work.contexts.size() == 4);
    BOOST_REQUIRE(work.cells.size() == 4);
    BOOST_TEST(work.contexts[0].name == "r / ap");
    BOOST_TEST(work.cells[0].in_figures());
    BOOST_TEST((images_asked(work, work.cells[0]) == std::set<std::string>{"q0", "q1", "q2", "q3", "q4"}));
    BOOST_TEST((work.cells[0].positives == 4 && work.cells[0].negatives == 4));
    BOOST_TEST(!work.cells[1].scored());  // r / ll: nothing answers
    BOOST_TEST(!work.cells[2].scored());  // r / pa: no negatives answer

    const study::Cell& pooled = work.cells[3];
    BOOST_TEST(work.contexts[3].name == "(pooled)");
    BOOST_TEST(pooled.pooled_reference);
    BOOST_TEST((pooled.scored() && !pooled.in_figures()));
    BOOST_TEST((images_asked(work, pooled) == std::set<std::string>{"q5", "q6", "q7"}));
    BOOST_TEST((pooled.positives == 5 && pooled.negatives == 4 && pooled.positive_queries == 2));
    BOOST_TEST(pooled.candidates[0].n == 3);
    for (const auto& list : pooled.candidates[0].list) {
        for (const ContextRow row : list) {
            const PoolRow in_pool = work.contexts[3].rows[static_cast<std::size_t>(row.value)];
            BOOST_TEST(work.pool.image[static_cast<std::size_t>(in_pool.value)][0] == 'r');
        }
    }
    BOOST_TEST(work.cases == 5 + 3);
    const auto counted =
        std::ranges::find(work.pool.exclusions, "own context not scored, asked of the whole reference",
                          &study::Exclusion::what);
    BOOST_REQUIRE(counted != work.pool.exclusions.end());
    BOOST_TEST(counted->rows == 3);
    BOOST_TEST(counted->dataset == "q");
    BOOST_TEST(counted->detail == "f");
}

BOOST_AUTO_TEST_CASE(merged_contexts_are_asked_by_the_matched_positives) {
    const campaign::Inputs inputs = made_inputs();
    const TaskWork matched = made_work(inputs)[0];
    const TaskWork merged = campaign::merge_contexts(inputs.study, matched);
    BOOST_REQUIRE(merged.contexts.size() == 1);
    BOOST_TEST(merged.contexts[0].rows.size() == matched.pool.image.size());
    BOOST_TEST(merged.rules.size() == 1);
    BOOST_REQUIRE(merged.cells.size() == 2);
    for (const study::Cell& cell : merged.cells) {
        std::int64_t positives = 0, queries = 0, labelled = 0;
        for (const study::Cell& part : matched.cells) {
            if (part.finding != cell.finding) continue;
            labelled += part.positives;
            if (part.scored()) queries += part.positive_queries;
        }
        for (const std::int8_t label : merged.pool.labels[static_cast<std::size_t>(cell.finding)])
            positives += label == 1;
        BOOST_TEST(cell.positives == positives);
        BOOST_TEST(labelled == positives);
        BOOST_TEST(cell.positive_queries == queries);
        BOOST_TEST(std::ssize(cell.queries) == queries);  // no negatives: rates alone
    }
    // Of edema the two positives of dataset b are in no scored cell, so they are not asked.
    BOOST_TEST(merged.cells[0].positive_queries == merged.cells[0].positives - 2);
}

BOOST_AUTO_TEST_SUITE_END()
