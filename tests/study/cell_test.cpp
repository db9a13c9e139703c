#include "candor/study/cell.hpp"

#include <algorithm>
#include <random>
#include <set>

#include "candor/base/hash.hpp"
#include "study/sample.hpp"

BOOST_AUTO_TEST_SUITE(study_cell)

using namespace candor;
using namespace candor::study;
using Names = std::vector<std::string>;

namespace {

/// A pool of one context "c" in the order given: image ids "0", "1", ..., their labels and patients.
Pool pool_of(const std::vector<int>& labels, const std::vector<std::int32_t>& patients = {}) {
    Pool pool;
    pool.contexts = {"c"};
    pool.labels.resize(1);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        pool.dataset.push_back(0);
        pool.table_row.emplace_back(static_cast<std::int64_t>(i));
        pool.image.push_back(std::to_string(i));
        pool.key.push_back(i);
        pool.patient.push_back(patients.empty() ? static_cast<std::int32_t>(i) : patients[i]);
        pool.context.push_back(0);
        pool.labels[0].push_back(static_cast<std::int8_t>(labels[i]));
        pool.asks.push_back(true);
        pool.answers.push_back(true);
        pool.identity.emplace_back(static_cast<std::int64_t>(i));
    }
    const std::int32_t most = *std::ranges::max_element(pool.patient);
    for (std::int32_t p = 0; p <= most; ++p) pool.patients.push_back("p" + std::to_string(p));
    return pool;
}

Cell cell_of(const Study& study, const Pool& pool, const std::vector<Rule>& rules) {
    return make_cell(study, study.tasks[0], pool, contexts_of(pool).at(0), 0, rules, pool.asks);
}

/// Image ids of the rows that query q may have as neighbours on a side.
Names seen(const Pool& pool, const Candidates& candidates, int side, std::size_t q) {
    const Reach reach = candidates.reach[side].at(q);
    Names names;
    for (std::int64_t i = 0; i < reach.end; ++i) {
        if (i == reach.skip) continue;
        // The context holds every row of the pool, so positions agree.
        names.push_back(pool.image.at(
            static_cast<std::size_t>(candidates.list[side].at(static_cast<std::size_t>(i)).value)));
    }
    BOOST_CHECK_EQUAL(std::ssize(names), reach.size());
    return names;
}

Names queries(const Pool& pool, const Cell& cell) {
    Names names;
    for (const ContextRow q : cell.queries) names.push_back(pool.image.at(static_cast<std::size_t>(q.value)));
    return names;
}

const std::vector<Rule> all_rules{Rule::equal, Rule::distinct, Rule::literal, Rule::unequal};

}  // namespace

// Positives 0 2 4 6 8, negatives 1 3 5: n = min(5 - 1, 3 - 1) = 2, one patient an image.
BOOST_AUTO_TEST_CASE(equal_by_hand) {
    const Study study = sample("k = 2");
    const Pool pool = pool_of({1, 0, 1, 0, 1, 0, 1, -1, 1});
    const Cell cell = cell_of(study, pool, {Rule::equal});
    BOOST_CHECK(cell.scored());
    BOOST_CHECK(cell.positives == 5 && cell.negatives == 3 && cell.positive_patients == 5 &&
                cell.negative_patients == 3);
    BOOST_CHECK(queries(pool, cell) == (Names{"0", "2", "4", "6", "8", "1", "3", "5"}));
    BOOST_CHECK_EQUAL(cell.positive_queries, 5);
    const Candidates& c = cell.candidates.at(0);
    BOOST_CHECK_EQUAL(c.n, 2);
    BOOST_CHECK(seen(pool, c, 1, 0) == (Names{"2", "4"}));  // itself out, the third moves up
    BOOST_CHECK(seen(pool, c, 1, 1) == (Names{"0", "4"}));
    BOOST_CHECK(seen(pool, c, 1, 2) == (Names{"0", "2"}));  // third in the list: the first two are others
    BOOST_CHECK(seen(pool, c, 1, 4) == (Names{"0", "2"}));
    BOOST_CHECK(seen(pool, c, 0, 4) == (Names{"1", "3"}));
    BOOST_CHECK(seen(pool, c, 0, 5) == (Names{"3", "5"}));
    BOOST_CHECK(seen(pool, c, 1, 5) == (Names{"0", "2"}));
}

BOOST_AUTO_TEST_CASE(literal_and_unequal_by_hand) {
    const Study study = sample("k = 2\nbank_cap = 4");
    const Pool pool = pool_of({1, 0, 1, 0, 1, 0, 1, -1, 1});
    const Cell cell = cell_of(study, pool, {Rule::literal, Rule::unequal});
    // literal: three a side, the query out of its own list only where it stands on it. Four negatives are
    // asked.
    BOOST_CHECK(queries(pool, cell) == (Names{"0", "2", "4", "6", "8", "1", "3", "5"}));
    const Candidates& literal = cell.candidates.at(0);
    BOOST_CHECK_EQUAL(literal.n, 3);
    BOOST_CHECK(!literal.unscored);
    BOOST_CHECK(seen(pool, literal, 1, 0) == (Names{"2", "4"}));
    BOOST_CHECK(seen(pool, literal, 1, 3) == (Names{"0", "2", "4"}));  // not on the list: loses no neighbour
    BOOST_CHECK(seen(pool, literal, 0, 0) == (Names{"1", "3", "5"}));
    BOOST_CHECK(seen(pool, literal, 0, 6) == (Names{"1", "5"}));
    const Candidates& unequal = cell.candidates.at(1);
    BOOST_CHECK(!unequal.unscored);
    BOOST_CHECK(seen(pool, unequal, 1, 0) == (Names{"2", "4", "6"}));
    BOOST_CHECK(seen(pool, unequal, 1, 4) == (Names{"0", "2", "4", "6"}));
    BOOST_CHECK(seen(pool, unequal, 0, 4) == (Names{"1", "3", "5"}));
}

// Patients: a = {0+, 1-, 2+}, b = {3+, 4+}, c = {5-, 6-}, d = {7+}, e = {8-}. First rows: positive side 0
// (a), 3 (b), 7 (d); negative side 1 (a), 5 (c), 8 (e): n = 2.
BOOST_AUTO_TEST_CASE(distinct_by_hand) {
    const Study study = sample("k = 2\nnegative_queries = \"all\"");
    const Pool pool = pool_of({1, 0, 1, 1, 1, 0, 0, 1, 0}, {0, 0, 0, 1, 1, 2, 2, 3, 4});
    const Cell cell = cell_of(study, pool, {Rule::distinct});
    BOOST_CHECK_EQUAL(cell.positive_patients, 3);
    BOOST_CHECK_EQUAL(cell.negative_patients, 3);
    const Candidates& c = cell.candidates.at(0);
    BOOST_CHECK_EQUAL(c.n, 2);
    BOOST_CHECK(queries(pool, cell) == (Names{"0", "2", "3", "4", "7", "1", "5", "6", "8"}));
    BOOST_CHECK(seen(pool, c, 1, 0) == (Names{"3", "7"}));
    BOOST_CHECK(seen(pool, c, 0, 0) == (Names{"5", "8"}));  // a's negative image is a's too
    BOOST_CHECK(seen(pool, c, 1, 1) == (Names{"3", "7"}));  // 2 is not on the list, its patient is
    BOOST_CHECK(seen(pool, c, 1, 3) == (Names{"0", "7"}));
    BOOST_CHECK(seen(pool, c, 0, 3) == (Names{"1", "5"}));
    BOOST_CHECK(seen(pool, c, 1, 4) == (Names{"0", "3"}));  // d is third: the first two are others
    BOOST_CHECK(seen(pool, c, 0, 7) == (Names{"1", "8"}));  // 6 is c's second image
    BOOST_CHECK(seen(pool, c, 1, 5) == (Names{"3", "7"}));
    // Under `equal`, 2 would be a candidate of 0.
    BOOST_CHECK(seen(pool, cell_of(study, pool, {Rule::equal}).candidates[0], 1, 0) ==
                (Names{"2", "3", "4"}));
}

// faults.md case 5: three positives, three negatives, k = 1, `literal`: each positive meets the other two,
// and all three negatives.
BOOST_AUTO_TEST_CASE(a_query_is_known_by_its_row) {
    const Study study = sample("k = 1\ncandidates = \"literal\"");
    const Pool pool = pool_of({1, 1, 1, 0, 0, 0});
    const Candidates c = cell_of(study, pool, {Rule::literal}).candidates.at(0);
    BOOST_CHECK(seen(pool, c, 1, 0) == (Names{"1", "2"}));
    BOOST_CHECK(seen(pool, c, 1, 1) == (Names{"0", "2"}));
    BOOST_CHECK(seen(pool, c, 1, 2) == (Names{"0", "1"}));
    BOOST_CHECK(seen(pool, c, 0, 0) == (Names{"3", "4", "5"}));
}

BOOST_AUTO_TEST_CASE(the_cap_and_the_negative_queries) {
    std::vector<int> labels;
    for (int i = 0; i < 40; ++i) labels.push_back(i % 4 == 0);  // 10 positives, 30 negatives
    const Pool pool = pool_of(labels);
    const auto counts = [&](const std::string& op) {
        const Study study = sample(op);
        const Cell cell = cell_of(study, pool, rules_of(study, pool));
        BOOST_CHECK_EQUAL(cell.positive_queries, 10);
        return std::pair(cell.candidates.at(0).n, std::ssize(cell.queries) - cell.positive_queries);
    };
    BOOST_CHECK(counts("") == std::pair(std::int64_t{9}, std::int64_t{10}));
    BOOST_CHECK(counts("bank_cap = 0") == std::pair(std::int64_t{9}, std::int64_t{10}));
    BOOST_CHECK(counts("bank_cap = 6") == std::pair(std::int64_t{6}, std::int64_t{7}));
    BOOST_CHECK(counts("negative_queries = \"all\"") == std::pair(std::int64_t{9}, std::int64_t{30}));
    BOOST_CHECK(counts("negative_queries = \"none\"") == std::pair(std::int64_t{9}, std::int64_t{0}));
    BOOST_CHECK(counts("candidates = \"literal\"") == std::pair(std::int64_t{10}, std::int64_t{11}));
}

BOOST_AUTO_TEST_CASE(reasons_why_a_cell_is_not_scored) {
    const auto reason = [](const Study& study, const Pool& pool, Rule rule) {
        const Candidates c = cell_of(study, pool, {rule}).candidates.at(0);
        if (c.unscored)
            BOOST_CHECK(c.list[0].empty() && c.list[1].empty() && c.reach[0].empty() && c.reach[1].empty());
        return c.unscored.value_or("");
    };
    const Study k5 = sample(), k1 = sample("k = 1");
    for (const Rule rule : all_rules) {
        BOOST_CHECK_EQUAL(reason(k1, pool_of({0, 0, 0}), rule), "no positives");
        BOOST_CHECK_EQUAL(reason(k1, pool_of({1, 1, -1}), rule), "no negatives");
    }
    // Four of a label: three others. Five: enough for unequal's and literal's negatives, not for its
    // positives.
    const Pool four = pool_of({1, 1, 1, 1, 0, 0, 0, 0, 0, 0});
    BOOST_CHECK_EQUAL(reason(k5, four, Rule::equal), "fewer than k candidates a side (n = 3, k = 5)");
    BOOST_CHECK_EQUAL(reason(k5, four, Rule::distinct), "fewer than k candidates a side (n = 3, k = 5)");
    BOOST_CHECK_EQUAL(reason(k5, four, Rule::literal), "fewer than k candidates a side (n = 3, k = 5)");
    BOOST_CHECK_EQUAL(reason(k5, four, Rule::unequal), "fewer than k candidates a side (n = 3, k = 5)");
    const Pool six = pool_of({1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0});
    for (const Rule rule : all_rules) BOOST_CHECK_EQUAL(reason(k5, six, rule), "");
    // Five negatives that are not asked are five candidates of every positive.
    const Pool five = pool_of({1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0});
    const Study positives_only = sample("negative_queries = \"none\"");
    BOOST_CHECK_EQUAL(reason(positives_only, five, Rule::unequal), "");
    BOOST_CHECK_EQUAL(reason(k5, five, Rule::unequal), "fewer than k candidates a side (n = 4, k = 5)");
    BOOST_CHECK_EQUAL(reason(positives_only, five, Rule::equal),
                      "fewer than k candidates a side (n = 4, k = 5)");
    // Six images of one patient are one candidate patient, who is the query's own.
    const Pool one = pool_of({1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6});
    BOOST_CHECK_EQUAL(reason(k1, one, Rule::distinct), "fewer than k candidates a side (n = 0, k = 1)");
    BOOST_CHECK_EQUAL(reason(k1, pool_of({1, 0}), Rule::equal),
                      "fewer than k candidates a side (n = 0, k = 1)");
    // The primary rule decides whether the cell counts.
    BOOST_CHECK(!cell_of(k1, one, {Rule::distinct, Rule::equal}).scored());
    BOOST_CHECK(cell_of(k1, one, {Rule::equal, Rule::distinct}).scored());
}

BOOST_AUTO_TEST_CASE(rules_of_a_task) {
    Pool single = pool_of({1, 0}), repeated = single;
    repeated.repeats_patients = true;
    using Rules = std::vector<Rule>;
    BOOST_CHECK((rules_of(sample(), single) == Rules{Rule::equal}));
    BOOST_CHECK((rules_of(sample(), repeated) == Rules{Rule::equal, Rule::distinct}));
    BOOST_CHECK((rules_of(sample("also = []"), repeated) == Rules{Rule::equal}));
    BOOST_CHECK((rules_of(sample("also = [\"unequal\", \"literal\"]"), repeated) ==
                 Rules{Rule::equal, Rule::unequal, Rule::literal}));
    BOOST_CHECK((rules_of(sample("candidates = \"distinct\""), repeated) == Rules{Rule::distinct}));
}

BOOST_AUTO_TEST_CASE(draws_reorder_candidates_and_nothing_else) {
    std::string table = "image_id,edema\n";
    for (int i = 0; i < 60; ++i) table += "i" + std::to_string(i) + (i % 3 ? ",0\n" : ",1\n");
    const Study study = sample("draws = 3\nbank_cap = 6");
    const Pool pool = sample_pool(study, table);
    const Cell cell = cell_of(study, pool, {Rule::equal, Rule::unequal});
    BOOST_REQUIRE_EQUAL(cell.candidates.size(), 6);
    for (std::size_t i = 0; i < 6; ++i) {
        const Candidates& c = cell.candidates[i];
        BOOST_CHECK(c.rule == (i < 3 ? Rule::equal : Rule::unequal));
        BOOST_CHECK_EQUAL(c.draw, static_cast<int>(i % 3));
        for (int s = 0; s < 2; ++s) {
            // The expected list: that side's ids by their key under seed + draw.
            std::vector<std::pair<std::uint64_t, std::string>> expected;
            for (std::size_t r = 0; r < pool.image.size(); ++r) {
                if (pool.labels[0][r] == s) {
                    expected.emplace_back(image_key(pool.image[r], 42 + static_cast<std::uint64_t>(c.draw)),
                                          pool.image[r]);
                }
            }
            std::ranges::sort(expected);
            BOOST_REQUIRE_EQUAL(c.list[s].size(), i < 3 ? 7 : 6);
            for (std::size_t e = 0; e < c.list[s].size(); ++e) {
                BOOST_CHECK_EQUAL(pool.image.at(static_cast<std::size_t>(c.list[s][e].value)),
                                  expected[e].second);
            }
        }
    }
    // Without draws, draw 0 is the same.
    const Study once = sample("bank_cap = 6");
    BOOST_CHECK(cell_of(once, pool, {Rule::equal}).candidates[0].list[1] == cell.candidates[0].list[1]);
    BOOST_CHECK(cell_of(once, pool, {Rule::equal}).queries == cell.queries);
}

BOOST_AUTO_TEST_CASE(contexts_keep_key_order) {
    Pool pool = pool_of({1, 0, 1, 0, 1});
    pool.contexts = {"c", "d"};
    pool.context = {1, 0, 1, 1, 0};
    const std::vector<Context> contexts = contexts_of(pool);
    BOOST_REQUIRE_EQUAL(contexts.size(), 2);
    BOOST_CHECK_EQUAL(contexts[1].position, 1);
    BOOST_CHECK((contexts[1].rows == std::vector<PoolRow>{PoolRow(0), PoolRow(2), PoolRow(3)}));
    const Study study = sample("k = 1");
    const Cell cell = make_cell(study, study.tasks[0], pool, contexts[1], 0, {Rule::unequal}, pool.asks);
    BOOST_CHECK(cell.positives == 2 && cell.negatives == 1 && cell.context == 1);
    BOOST_CHECK((cell.queries == std::vector<ContextRow>{ContextRow(0), ContextRow(1), ContextRow(2)}));
}

// METHODS 12.6: queries of one table, candidates of another. Counts and n are the reference's; a query that
// is one of its images is left out there, one that is not sees the first n.
BOOST_AUTO_TEST_CASE(queries_of_one_table_candidates_of_another) {
    const Study study = sample("k = 1\nnegative_queries = \"bank\"");
    //                         0  1  2  3  4  5 | 6: twin of 2 | 7, 8, 9 ask only
    Pool pool = pool_of({1, 0, 1, 0, 1, 0, 1, 1, 0, 0});
    for (std::size_t i = 0; i < 10; ++i) {
        pool.asks[i] = i >= 6;
        pool.answers[i] = i < 6;
    }
    pool.identity[6] = PoolRow(2);
    pool.patient[6] = pool.patient[2];
    const Cell cell = cell_of(study, pool, {Rule::equal, Rule::distinct, Rule::literal, Rule::unequal});
    BOOST_CHECK(cell.positives == 3 && cell.negatives == 3 && cell.patients == 6);
    BOOST_CHECK(queries(pool, cell) == (Names{"6", "7", "8", "9"}));
    BOOST_CHECK_EQUAL(cell.positive_queries, 2);
    for (const Candidates& c : cell.candidates) {
        const bool equalised = c.rule == Rule::equal || c.rule == Rule::distinct;
        BOOST_CHECK_EQUAL(c.n, equalised ? 2 : 3);
        BOOST_CHECK(seen(pool, c, 1, 0) == (Names{"0", "4"}));  // 6 is 2
        BOOST_CHECK(seen(pool, c, 0, 0) == (equalised ? Names{"1", "3"} : Names{"1", "3", "5"}));
        BOOST_CHECK(seen(pool, c, 1, 1) == (equalised ? Names{"0", "2"} : Names{"0", "2", "4"}));
    }

    for (std::size_t i = 6; i < 8; ++i) pool.labels[0][i] = 0;
    const Cell without = cell_of(study, pool, {Rule::equal});
    BOOST_CHECK(without.queries.empty() && !without.scored());
    BOOST_CHECK_EQUAL(*without.candidates[0].unscored, "no positives to ask for");
}

// Whatever the pool: under `equal` and `distinct` every query meets exactly n rows a side, never itself, and
// under `distinct` neither its own patient nor anyone twice. The rules are worked out again from their
// definition.
BOOST_AUTO_TEST_CASE(every_query_has_exactly_n_candidates) {
    std::mt19937 generator(7);
    int scored = 0;
    for (int trial = 0; trial < 400; ++trial) {
        const auto below = [&](int bound) {
            return static_cast<int>(generator() % static_cast<unsigned>(bound));
        };
        const int rows = 2 + below(60), patients = 1 + below(rows), mostly = 1 + below(5);
        std::string table = "image_id,patient_id,edema\n";
        for (int i = 0; i < rows; ++i) {
            table += "i" + std::to_string(i) + ",p" + std::to_string(below(patients)) +
                     (below(9) == 0        ? ",-1\n"
                      : below(mostly) == 0 ? ",1\n"
                                           : ",0\n");
        }
        const char* choices[] = {"bank", "all", "none"};
        const Study study =
            sample("k = " + std::to_string(1 + below(3)) + "\nbank_cap = " + std::to_string(3 + below(12)) +
                   "\ndraws = 2\nnegative_queries = \"" + choices[below(3)] + '"');
        const Pool pool = sample_pool(study, table);
        const Cell cell = cell_of(study, pool, all_rules);
        for (const Candidates& c : cell.candidates) {
            const Candidates& first =
                cell.candidates[static_cast<std::size_t>(&c - cell.candidates.data()) / 2 * 2];
            BOOST_REQUIRE(c.unscored == first.unscored);  // a rule scores all its draws or none
            if (c.unscored) continue;
            ++scored;
            std::vector<std::size_t> order(pool.image.size());
            for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
            std::ranges::sort(order, {}, [&](std::size_t i) {
                return std::pair(image_key(pool.image[i], 42 + static_cast<std::uint64_t>(c.draw)),
                                 pool.image[i]);
            });
            for (std::size_t q = 0; q < cell.queries.size(); ++q) {
                const auto x = static_cast<std::size_t>(cell.queries[q].value);
                for (int s = 0; s < 2; ++s) {
                    Names expected;
                    std::set<std::int32_t> met;
                    std::int64_t place = 0;
                    for (const std::size_t i : order) {
                        if (pool.labels[0][i] != s) continue;
                        const bool counts = c.rule == Rule::equal || c.rule == Rule::distinct;
                        const std::int64_t limit = c.rule == Rule::unequal ? study.op.bank_cap : c.n;
                        if (c.rule == Rule::distinct &&
                            (pool.patient[i] == pool.patient[x] || !met.insert(pool.patient[i]).second))
                            continue;
                        if (counts && i == x) continue;
                        if (place++ < limit && i != x) expected.push_back(pool.image[i]);
                    }
                    BOOST_REQUIRE(seen(pool, c, s, q) == expected);
                    if (c.rule == Rule::equal || c.rule == Rule::distinct) {
                        BOOST_REQUIRE_EQUAL(std::ssize(expected), c.n);
                    }
                    BOOST_REQUIRE_GE(std::ssize(expected), study.op.k);
                }
            }
        }
    }
    BOOST_CHECK_GT(scored, 500);  // the trials are not all trivial
}

BOOST_AUTO_TEST_SUITE_END()
