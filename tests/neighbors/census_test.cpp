#include "candor/neighbors/census.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/random.hpp"
#include "candor/linalg/gemm.hpp"
#include "decided_sets.hpp"
#include "made_rows.hpp"

using namespace candor;
using namespace candor::testing;
using neighbors::NeighborSets;
using neighbors::Question;
using neighbors::RowSet;

namespace {

/// Questions with the storage that they look at.
struct Questions {
    struct One {
        std::vector<ContextRow> list, queries;
        std::vector<Reach> reach;
    };
    std::vector<One> all;

    std::vector<Question> views() const {
        std::vector<Question> out;
        for (const One& one : all) out.push_back({one.list, one.queries, one.reach});
        return out;
    }
};

/// A question a side and finding: each finding's positives are a share of the rows, from rare to common; the
/// queries are all positives and as many negatives; each sees a prefix of the list without itself. `draw`
/// shuffles the lists. Some rows of either label are left out of everything.
Questions cells(std::int64_t rows, int findings, int k, std::uint64_t draw = 0) {
    Questions made;
    for (int f = 0; f < findings; ++f) {
        const Stream stream(31, "labels", static_cast<std::uint64_t>(f));
        const double share = findings == 1 ? 0.5 : 0.1 + 0.5 * f / findings;
        std::vector<ContextRow> side[2];
        for (std::int64_t i = 0; i < rows; ++i) {
            if (i % 13 != 5) side[stream.uniform(static_cast<std::uint64_t>(i)) < share].emplace_back(i);
        }
        std::vector<ContextRow> queries = side[1];
        queries.insert(
            queries.end(), side[0].begin(),
            side[0].begin() + static_cast<std::ptrdiff_t>(std::min(side[0].size(), side[1].size())));
        const auto n = static_cast<std::int64_t>(std::min(side[0].size(), side[1].size())) - 1;
        BOOST_REQUIRE(n >= k);
        for (std::vector<ContextRow>& list : side) {
            std::ranges::stable_sort(list, {}, [&](ContextRow row) {
                const Stream key(draw, "key", static_cast<std::uint64_t>(row.value));
                return draw == 0 ? static_cast<double>(row.value) : key.uniform(0);
            });
            Questions::One one{list, queries, {}};
            for (const ContextRow query : queries) {
                const auto at = std::ranges::find(list, query) - list.begin();
                const bool own = at < n + 1 && at < std::ssize(list);
                one.reach.push_back({own ? n + 1 : n, own ? at : -1});
            }
            made.all.push_back(std::move(one));
        }
    }
    return made;
}

std::int64_t wrong(const NeighborSets& a, const NeighborSets& b) {
    std::int64_t count = a.values.size() != b.values.size();
    for (std::size_t i = 0; i < std::min(a.values.size(), b.values.size()); ++i)
        count += a.values[i].cosine != b.values[i].cosine || a.values[i].position != b.values[i].position;
    return count;
}

/// Who meets and who decides in a census that is done in parts.
struct Shares {
    std::size_t ranks = 3;
    std::uint64_t order = 0;  // of the encounters
    double first = 0;         // the share of the first rank, before what is left is shared alike
};

struct Answer {
    std::vector<NeighborSets> sets;
    neighbors::CensusCost cost;  // of all
};

/// As ranks do it: encounters in any order, each on one of several censuses; what each kept of a panel goes
/// to its owner, sometimes the owner's own too, and is decided there.
Answer in_parts(const RowSet& rows, const std::vector<Question>& views, int k,
                const neighbors::SearchOptions& options, const Shares& shares) {
    std::vector<neighbors::Census> censuses;
    for (std::size_t r = 0; r < shares.ranks; ++r) censuses.emplace_back(rows, views, k, options);
    auto encounters = neighbors::encounters_of(rows.rows(), views, options);
    const Stream stream(shares.order, "encounters", 0);
    std::uint64_t next = 0;
    for (std::size_t i = encounters.size(); i-- > 1;)
        std::swap(encounters[i], encounters[stream.below(next++, i + 1)]);
    for (std::size_t e = 0; e < encounters.size(); ++e) {
        const bool to_first = stream.uniform(next++) < shares.first;
        neighbors::Census& one = censuses[to_first ? 0 : stream.below(next++, shares.ranks)];
        // What is read ahead is mostly asked for, and sometimes not.
        one.meet(encounters[e].i, encounters[e].j, e + 1 < encounters.size() ? encounters[e + 1].j : -1);
    }
    for (std::int64_t panel = 0; panel < censuses.front().panels(); ++panel) {
        const std::size_t owner = static_cast<std::size_t>(2 * panel + 1) % shares.ranks;
        for (std::size_t r = 0; r < shares.ranks; ++r) {
            if (r != owner || panel % 2 == 0) censuses[owner].add(panel, censuses[r].kept(panel));
        }
    }
    Answer answer;
    answer.sets = blank_sets(views, k);
    for (std::size_t r = 0; r < shares.ranks; ++r) {
        for (std::int64_t panel = 0; panel < censuses[r].panels(); ++panel) {
            if (static_cast<std::size_t>(2 * panel + 1) % shares.ranks != r) continue;
            BOOST_REQUIRE(put(answer.sets, censuses[r].decide(panel)) == 0);  // one has decided it
        }
        const neighbors::CensusCost cost = censuses[r].cost();
        answer.cost.products += cost.products;
        answer.cost.bounded += cost.bounded;
        answer.cost.survivors += cost.survivors;
        answer.cost.directions = std::max(answer.cost.directions, cost.directions);
        answer.cost.loads += cost.loads;
    }
    return answer;
}

std::vector<NeighborSets> one_by_one(const RowSet& rows, const std::vector<Question>& views, int k) {
    std::vector<NeighborSets> sets;
    for (const Question& q : views) {
        const std::span<const Reach> reach[] = {q.reach};
        sets.push_back(std::move(neighbors::nearest(rows, q.list, q.queries, reach, k, {}).front()));
    }
    return sets;
}

void check_sets(const std::vector<NeighborSets>& found, const std::vector<NeighborSets>& expected,
                const std::vector<Question>& views, const std::string& what) {
    BOOST_REQUIRE_EQUAL(found.size(), expected.size());
    for (std::size_t q = 0; q < found.size(); ++q) {
        BOOST_TEST(wrong(found[q], expected[q]) == 0, what << ", question " << q);
        BOOST_TEST(found[q].kept >= found[q].k * static_cast<std::int64_t>(views[q].queries.size()));
    }
}

std::string told(const neighbors::SearchOptions& options) {
    return ", blocks of " + std::to_string(options.block_rows) + ", panels of " +
           std::to_string(options.panel_rows) + ", " + std::to_string(options.threads) + " threads, " +
           std::to_string(options.memory) + " bytes, " + std::to_string(options.directions) + " directions";
}

/// Holds the census, whole and in parts, against a search of each question by itself, bit for bit.
void check(const RowSet& rows, const Questions& questions, int k, const std::string& what) {
    linalg::open_blas();
    const std::vector<Question> views = questions.views();
    const std::vector<NeighborSets> expected = one_by_one(rows, views, k);
    std::size_t way = 0;
    for (const auto& [block, panel] :
         {std::pair<std::int64_t, std::int64_t>{1, 7}, {19, 50}, {64, 64}, {20, 1000}, {512, 4096}}) {
        for (const int threads : {1, 3}) {
            // One byte of memory: what is kept is packed whenever a panel leaves.
            const std::int64_t directions[] = {-1, 0, 1, rows.dimension()};
            neighbors::SearchOptions options{block, threads, panel, static_cast<std::int64_t>(way % 2),
                                             directions[way % 4]};
            check_sets(neighbors::census(rows, views, k, options), expected, views, what + told(options));
            options.memory = 1 - options.memory;
            options.directions = directions[(way + way / 4 + 1) % 4];
            const Answer parts = in_parts(rows, views, k, options, {3, way, 0});
            check_sets(parts.sets, expected, views, what + ", in parts" + told(options));
            ++way;
        }
    }
}

/// Rows that are long in a few directions and short in all others, as features are.
Matrix<float> few_directions(std::int64_t rows, std::int64_t dimension, std::int64_t strong, double rest) {
    const Matrix<float> axes = gaussian<float>(strong, dimension);
    Normal normal("few directions");
    Matrix<float> out(rows, dimension);
    for (std::int64_t i = 0; i < rows; ++i) {
        std::ranges::fill(out.row(i), 0.0F);
        for (std::int64_t s = 0; s < strong; ++s) {
            const double along = normal();
            for (std::size_t j = 0; j < out.row(i).size(); ++j)
                out.row(i)[j] += static_cast<float>(along * axes.row(s)[j]);
        }
        for (float& v : out.row(i)) v += static_cast<float>(rest * normal());
    }
    return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(neighbors_census)

BOOST_AUTO_TEST_CASE(every_question_is_answered_as_by_itself) {
    check(RowSet(gaussian<float>(150, 40)), cells(150, 1, 5), 5, "one finding");
    check(RowSet(gaussian<double>(150, 7)), cells(150, 4, 3), 3, "four findings");
    check(RowSet(gaussian<float>(120, 3)), cells(120, 3, 1), 1, "k = 1");
    check(RowSet(gaussian<float>(90, 65)), cells(90, 40, 2), 2, "more questions than a word has bits");
}

BOOST_AUTO_TEST_CASE(one_dimension_is_all_ties) {
    Matrix<float> matrix(90, 1);
    for (std::int64_t i = 0; i < 90; ++i) matrix.row(i)[0] = static_cast<float>((i * 7) % 5) - 2.5F;
    check(RowSet(std::move(matrix)), cells(90, 2, 3), 3, "d = 1");
}

// Few directions tell most of a product: then most pairs are ruled out, and nothing is lost. Where all
// directions are alike the bounds tell nothing.
BOOST_AUTO_TEST_CASE(bounds_rule_out_most_pairs_where_few_directions_are_strong) {
    linalg::open_blas();
    const Questions questions = cells(800, 2, 4);
    const std::vector<Question> views = questions.views();
    const RowSet strong(few_directions(800, 300, 6, 0.05)), even(gaussian<float>(800, 300));
    const auto of_strong = one_by_one(strong, views, 4), of_even = one_by_one(even, views, 4);
    for (const std::int64_t directions : {-1, 0, 1, 8, 300}) {
        for (const std::int64_t memory : {0, 1}) {
            const neighbors::SearchOptions options{64, 2, 200, memory, directions};
            const Answer found = in_parts(strong, views, 4, options, {3, 5, 0});
            check_sets(found.sets, of_strong, views, "strong" + told(options));
            BOOST_TEST(found.cost.directions == (directions < 0 ? 300 / 4 : directions));
            if (directions == -1 || directions == 8) {
                BOOST_TEST(found.cost.bounded > 0, told(options));
                BOOST_TEST(found.cost.bounded > found.cost.products / 2, told(options));
                BOOST_TEST(found.cost.survivors > 0);
                BOOST_TEST(found.cost.survivors < found.cost.bounded / 2);
            }
            if (directions == 0) BOOST_TEST(found.cost.bounded == 0);
            if (memory == 1) continue;
            const Answer none = in_parts(even, views, 4, options, {3, 6, 0});
            check_sets(none.sets, of_even, views, "even" + told(options));
            // Where it is left to the search, it sees beforehand that no direction leads.
            if (directions == -1) BOOST_TEST(none.cost.directions == 0);
            // Nothing is ruled out by one direction of 300: the search notices and stops looking.
            if (directions == 1) BOOST_TEST(none.cost.bounded < none.cost.products / 2);
        }
    }
}

BOOST_AUTO_TEST_CASE(lists_in_any_order_and_several_draws) {
    Questions made = cells(130, 2, 4);
    for (const std::uint64_t draw : {1, 2}) {
        for (auto& one : cells(130, 2, 4, draw).all) made.all.push_back(std::move(one));
    }
    check(RowSet(gaussian<float>(130, 20)), made, 4, "three draws");
}

BOOST_AUTO_TEST_CASE(duplicates_and_narrow_cones_keep_the_total_order) {
    Matrix<float> matrix = gaussian<float>(140, 24);
    for (std::int64_t i = 0; i < 140; ++i) {
        if (i % 3 != 0) std::ranges::copy(matrix.row(i / 40 * 40), matrix.row(i).begin());
    }
    check(RowSet(std::move(matrix)), cells(140, 3, 5), 5, "duplicates");
    Matrix<float> alike(100, 24);
    for (std::int64_t i = 0; i < 100; ++i)
        std::ranges::copy(gaussian<float>(1, 24).row(0), alike.row(i).begin());
    check(RowSet(std::move(alike)), cells(100, 2, 3), 3, "all rows alike");
    check(RowSet(cone<float>(150, 48, 1e-3)), cells(150, 3, 5), 5, "a cone");
    check(RowSet(cone<double>(150, 48, 1e-6)), cells(150, 3, 5), 5, "a needle");
}

// More rows alike than are put aside before they are decided: the first of the list are the nearest.
BOOST_AUTO_TEST_CASE(thousands_of_rows_alike_are_decided_as_they_come) {
    linalg::open_blas();
    const std::int64_t n = 9000;
    Matrix<float> alike(n, 2);
    for (std::int64_t i = 0; i < n; ++i)
        std::ranges::copy(gaussian<float>(1, 2).row(0), alike.row(i).begin());
    const RowSet rows(std::move(alike));
    Questions::One one;
    one.list = first_rows(n);
    std::ranges::reverse(one.list);
    for (std::int64_t i = 0; i < n; i += 300) {
        one.queries.emplace_back(i);
        one.reach.push_back({n, n - 1 - i});
    }
    Questions questions;
    questions.all.push_back(std::move(one));
    const NeighborSets found = neighbors::census(rows, questions.views(), 3, {512, 2, 4096}).front();
    std::int64_t wrong_ones = 0;
    for (std::int64_t q = 0; q < 30; ++q) {
        for (std::int64_t j = 0; j < 3; ++j) {
            const neighbors::Neighbor& neighbor = found.of(q)[static_cast<std::size_t>(j)];
            const std::int64_t own = n - 1 - 300 * q;
            wrong_ones += neighbor.cosine != 1 || neighbor.position != j + (own <= j);
        }
    }
    BOOST_TEST(wrong_ones == 0);
    BOOST_TEST(found.kept_max <= 64 + 3 + 3);  // put aside, k, and the sink's room beside them
}

// The same over panels that are small beside the crowd, in any order: all or most of it on one rank, or
// enough on each of two.
BOOST_AUTO_TEST_CASE(a_crowd_over_many_panels_is_decided_as_it_comes) {
    linalg::open_blas();
    struct Way {
        std::int64_t rows, memory;
        Shares shares;
    };
    for (const Way& way : {Way{6000, 1, {1, 1, 0}}, Way{6000, 0, {3, 2, 0.8}}, Way{12000, 1, {2, 3, 0}}}) {
        const std::int64_t n = way.rows;
        Matrix<float> alike = gaussian<float>(n, 3);
        for (std::int64_t i = 0; i < n; ++i) {
            if (i % 20 != 0) std::ranges::copy(alike.row(0), alike.row(i).begin());
        }
        const RowSet rows(std::move(alike));
        Questions questions;
        for (const bool reversed : {false, true}) {
            Questions::One one;
            one.list = first_rows(n);
            if (reversed) std::ranges::reverse(one.list);
            for (std::int64_t i = 0; i < n; i += 997) {
                one.queries.emplace_back(i);
                one.reach.push_back({n, reversed ? n - 1 - i : i});
            }
            questions.all.push_back(std::move(one));
        }
        const std::vector<Question> views = questions.views();
        const neighbors::SearchOptions options{256, 2, 700, way.memory, way.memory - 1};
        check_sets(in_parts(rows, views, 3, options, way.shares).sets, one_by_one(rows, views, 3), views,
                   std::to_string(way.shares.ranks) + " ranks" + told(options));
    }
}

BOOST_AUTO_TEST_CASE(a_panel_decides_its_own_queries_alone) {
    linalg::open_blas();
    const Questions questions = cells(60, 1, 3);
    const std::vector<Question> views = questions.views();
    const RowSet rows(gaussian<float>(60, 8));
    neighbors::Census one(rows, views, 3, {8, 1, 16}), idle(rows, views, 3, {8, 1, 16});
    BOOST_REQUIRE(one.panels() > 2);
    for (const auto& encounter : neighbors::encounters_of(60, views, {8, 1, 16}))
        one.meet(encounter.i, encounter.j);
    std::vector<NeighborSets> found = blank_sets(views, 3);
    put(found, one.decide(1));
    const std::vector<NeighborSets> expected = one_by_one(rows, views, 3);
    std::int64_t decided = 0, others = 0;
    for (std::size_t q = 0; q < found.size(); ++q) {
        for (std::int64_t i = 0; i < std::ssize(views[q].queries); ++i) {
            for (std::size_t j = 0; j < 3; ++j) {
                const neighbors::Neighbor &seen = found[q].of(i)[j], &right = expected[q].of(i)[j];
                if (seen.position < 0) {
                    ++others;
                } else {
                    ++decided;
                    BOOST_TEST(seen.position == right.position);
                    BOOST_TEST(seen.cosine == right.cosine);
                }
            }
        }
    }
    BOOST_TEST(decided > 0);
    BOOST_TEST(others > 0);
    for (std::int64_t panel = 0; panel < idle.panels(); ++panel) BOOST_TEST(idle.kept(panel).empty());
}

// Every pair of rows of which one asks a list of the other is in one encounter.
BOOST_AUTO_TEST_CASE(encounters_are_all_that_have_something_to_show_each_other) {
    const Questions questions = cells(150, 2, 4);
    const std::vector<Question> views = questions.views();
    for (const std::int64_t panel : {7, 40, 1000}) {
        const auto encounters = neighbors::encounters_of(150, views, {5, 1, panel});
        double products = 0;
        for (std::size_t e = 0; e < encounters.size(); ++e) {
            BOOST_TEST(encounters[e].i <= encounters[e].j);
            BOOST_TEST(encounters[e].products > 0);
            if (e > 0) {
                BOOST_TEST((std::pair(encounters[e - 1].i, encounters[e - 1].j) <
                            std::pair(encounters[e].i, encounters[e].j)));
            }
            products += encounters[e].products;
        }
        // All of these rows are candidates: half of all pairs, and diagonal tiles are taken whole.
        const double pairs = neighbors::products_of(150, views);
        BOOST_TEST(products >= pairs);
        BOOST_TEST(products <= 1.3 * pairs);
    }
    // Those who only ask do not meet each other.
    Questions::One one;
    one.list = first_rows(10);
    for (std::int64_t i = 10; i < 100; ++i) {
        one.queries.emplace_back(i);
        one.reach.push_back({10, -1});
    }
    Questions asked;
    asked.all.push_back(one);
    BOOST_TEST(neighbors::products_of(100, asked.views()) == 10 * (5 + 90));
    for (const auto& encounter : neighbors::encounters_of(100, asked.views(), {10, 1, 10}))
        BOOST_TEST(encounter.i == 0);
}

// Queries that are candidates of nothing, candidates that ask nothing, as with a reference dataset.
BOOST_AUTO_TEST_CASE(those_who_ask_need_not_be_those_who_answer) {
    Questions made;
    Questions::One one;
    for (std::int64_t i = 0; i < 60; ++i) one.list.emplace_back(3 * i);
    for (std::int64_t i = 0; i < 80; ++i) {
        one.queries.emplace_back(2 * i + 1);
        const auto at = std::ranges::find(one.list, one.queries.back()) - one.list.begin();
        one.reach.push_back({40 + i % 20, at < std::ssize(one.list) ? at : -1});
    }
    made.all.push_back(one);
    std::ranges::reverse(one.list);
    for (Reach& reach : one.reach) reach = {30, reach.skip < 0 ? -1 : 59 - reach.skip};
    made.all.push_back(one);
    check(RowSet(gaussian<float>(200, 30)), made, 5, "a reference");
}

BOOST_AUTO_TEST_CASE(no_question_has_no_answer) {
    const RowSet rows(gaussian<float>(10, 4));
    BOOST_CHECK(neighbors::census(rows, {}, 5, {}).empty());
    const std::vector<ContextRow> list = first_rows(10);
    const std::vector<Question> nobody{{list, {}, {}}};
    BOOST_CHECK(neighbors::census(rows, nobody, 5, {}).front().values.empty());
}

BOOST_AUTO_TEST_SUITE_END()
