#include "candor/campaign/work.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "made_study.hpp"

using namespace candor;
using namespace candor::testing;
using campaign::TaskWork;

BOOST_AUTO_TEST_SUITE(campaign_work)

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
