#include "candor/neighbors/search.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/linalg/gemm.hpp"
#include "made_rows.hpp"

using namespace candor;
using namespace candor::testing;
using neighbors::Neighbor;
using neighbors::NeighborSets;
using neighbors::RowSet;

namespace {

using Reaches = std::vector<Reach>;
using Rows = std::vector<ContextRow>;

/// The definition: all candidates within reach, decided in double, sorted by cosine descending, then
/// position.
std::vector<Neighbor> by_definition(const RowSet& rows, const Rows& list, ContextRow query,
                                    const Reach& reach, int k) {
    std::vector<Neighbor> all;
    for (std::int64_t i = 0; i < reach.end; ++i) {
        if (i != reach.skip) all.push_back({rows.cosine(query, list[static_cast<std::size_t>(i)]), i});
    }
    std::ranges::stable_sort(all, std::greater<>(), &Neighbor::cosine);
    all.resize(static_cast<std::size_t>(k));
    return all;
}

/// How many queries of one view differ from the definition in any bit.
std::int64_t wrong(const RowSet& rows, const Rows& list, const Rows& queries, const Reaches& view,
                   const NeighborSets& sets) {
    std::int64_t count = 0;
    for (std::size_t q = 0; q < queries.size(); ++q) {
        const auto expected = by_definition(rows, list, queries[q], view[q], sets.k);
        const auto found = sets.of(static_cast<std::int64_t>(q));
        count += !std::ranges::equal(expected, found, [](const Neighbor& a, const Neighbor& b) {
            return a.cosine == b.cosine && a.position == b.position;
        });
    }
    return count;
}

std::vector<NeighborSets> search(const RowSet& rows, const Rows& list, const Rows& queries,
                                 const std::vector<Reaches>& views, int k, std::int64_t block, int threads) {
    std::vector<std::span<const Reach>> spans(views.begin(), views.end());
    return neighbors::nearest(rows, list, queries, spans, k, {block, threads});
}

/// Searches at every block size and thread count and holds each against the definition.
void check(const RowSet& rows, const Rows& list, const Rows& queries, const std::vector<Reaches>& views,
           int k, const std::string& what) {
    linalg::open_blas();
    for (const std::int64_t block : {1, 19, 20, 1000}) {
        for (const int threads : {1, 2}) {
            const auto sets = search(rows, list, queries, views, k, block, threads);
            BOOST_TEST(sets.size() == views.size());
            for (std::size_t v = 0; v < views.size(); ++v) {
                BOOST_TEST(
                    wrong(rows, list, queries, views[v], sets[v]) == 0,
                    what << ", view " << v << ", blocks of " << block << ", " << threads << " threads");
            }
        }
    }
}

/// Every `step`-th row of the set is a candidate; all rows are queries; four views as the rules of METHODS 3
/// make them: the whole list without the query itself, a prefix without it, a prefix as it is, and a reach of
/// its own a query.
void check_all_views(RowSet rows, int k, const std::string& what, std::int64_t step = 2) {
    Rows list;
    for (std::int64_t i = 0; i < rows.rows(); i += step) list.emplace_back(i);
    const Rows queries = first_rows(rows.rows());
    const auto length = static_cast<std::int64_t>(list.size());
    std::vector<Reaches> views(4);
    for (std::int64_t q = 0; q < rows.rows(); ++q) {
        const std::int64_t own = q % step == 0 ? q / step : -1;
        const std::int64_t prefix = std::max<std::int64_t>(k + 1, length / 3);
        views[0].push_back({length, own});
        views[1].push_back({prefix, own < prefix ? own : -1});
        views[2].push_back({prefix, -1});
        views[3].push_back({k + 1 + q % (length - k), q % (k + 1)});
    }
    check(rows, list, queries, views, k, what);
}

/// The next float after `v` towards larger size.
float one_ulp_more(float v) {
    return std::nextafter(v, v < 0 ? -10.0F : 10.0F);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(neighbors_search)

BOOST_AUTO_TEST_CASE(ordinary_rows_are_found_as_by_definition) {
    check_all_views(RowSet(gaussian<float>(90, 40)), 5, "float");
    check_all_views(RowSet(gaussian<double>(90, 40)), 5, "double");
    check_all_views(RowSet(gaussian<float>(50, 3)), 1, "k = 1");
    check_all_views(RowSet(gaussian<float>(61, 17)), 20, "k = 20", 1);
}

BOOST_AUTO_TEST_CASE(duplicates_come_in_the_order_of_the_list) {
    Matrix<float> matrix = gaussian<float>(90, 24);
    for (std::int64_t i = 0; i < 90; ++i) {
        if (i % 3 != 0)
            std::ranges::copy(matrix.row(i / 30 * 30), matrix.row(i).begin());  // three rows, 20 times each
    }
    check_all_views(RowSet(std::move(matrix)), 5, "duplicates");
    Matrix<float> one(40, 24);
    for (std::int64_t i = 0; i < 40; ++i)
        std::ranges::copy(gaussian<float>(1, 24).row(0), one.row(i).begin());
    check_all_views(RowSet(std::move(one)), 3, "all rows alike");
}

BOOST_AUTO_TEST_CASE(near_ties_of_one_ulp_are_told_apart) {
    // A row, and copies with one entry one unit in the last place larger: single precision cannot order them.
    Matrix<float> matrix = gaussian<float>(120, 32);
    for (std::int64_t i = 1; i < 120; ++i) {
        if (i % 6 == 0) continue;
        std::ranges::copy(matrix.row(0), matrix.row(i).begin());
        float& entry = matrix.row(i)[static_cast<std::size_t>(i % 32)];
        entry = one_ulp_more(entry);
    }
    const RowSet rows(std::move(matrix));
    // The case is what it says: many different cosines, closer than a float can tell.
    std::vector<double> cosines;
    for (std::int64_t i = 1; i < 120; ++i) {
        if (i % 6 != 0) cosines.push_back(rows.cosine(ContextRow(6), ContextRow(i)));
    }
    std::ranges::sort(cosines);
    const auto different = std::ranges::unique(cosines).begin() - cosines.begin();
    BOOST_TEST(different > 20);
    BOOST_TEST(cosines[static_cast<std::size_t>(different - 1)] - cosines[0] < 0x1p-20);
    check(rows, first_rows(120), first_rows(120), {[] {
              Reaches all;
              for (std::int64_t q = 0; q < 120; ++q) all.push_back({120, q});
              return all;
          }()},
          5, "1 ulp");

    Matrix<double> doubles = gaussian<double>(80, 8);
    for (std::int64_t i = 1; i < 80; ++i) {
        std::ranges::copy(doubles.row(0), doubles.row(i).begin());
        double& entry = doubles.row(i)[static_cast<std::size_t>(i % 8)];
        for (std::int64_t times = 0; times < i; ++times) entry = std::nextafter(entry, 10.0);
    }
    check_all_views(RowSet(std::move(doubles)), 5, "1 ulp of a double");
}

BOOST_AUTO_TEST_CASE(one_dimension_is_all_ties) {
    Matrix<float> matrix(50, 1);
    for (std::int64_t i = 0; i < 50; ++i) matrix.row(i)[0] = static_cast<float>((i * 7) % 5) - 2.5F;
    check_all_views(RowSet(std::move(matrix)), 5, "d = 1");
}

BOOST_AUTO_TEST_CASE(narrow_cones_are_searched_exactly) {
    check_all_views(RowSet(cone<float>(90, 64, 0.0316)), 5, "cosine 0.999");
    check_all_views(RowSet(cone<float>(90, 64, 1e-6)), 5, "cosine 1 - 1e-12: rows are a few ulp apart");
    check_all_views(RowSet(cone<double>(90, 64, 1e-9)), 5, "cosine 1 - 1e-18, double");
}

BOOST_AUTO_TEST_CASE(rows_of_very_different_size_are_searched_by_direction) {
    Matrix<double> matrix = gaussian<double>(60, 12);
    for (std::int64_t i = 0; i < 60; ++i) {
        for (double& v : matrix.row(i)) v *= i % 2 ? 1e200 : 1e-200;
    }
    check_all_views(RowSet(std::move(matrix)), 5, "1e200 and 1e-200");
}

BOOST_AUTO_TEST_CASE(queries_need_not_be_candidates_and_may_repeat) {
    const RowSet rows(gaussian<float>(70, 16));
    const Rows list{ContextRow(40), ContextRow(3), ContextRow(17),
                    ContextRow(41), ContextRow(2), ContextRow(60)};
    const Rows queries{ContextRow(69), ContextRow(3), ContextRow(69), ContextRow(0)};
    check(rows, list, queries, {{{6, -1}, {6, 1}, {4, -1}, {3, 2}}}, 2, "any order");
}

// Faults 5: the query is recognised by its place in the list, not by a cosine of 1 and not by being found
// first.
BOOST_AUTO_TEST_CASE(a_query_leaves_itself_out_and_its_duplicates_in) {
    const RowSet rows(matrix_of<float>({{1, 0}, {1, 0}, {0, 1}, {0.8, 0.6}, {0.6, 0.8}, {-1, 0}}));
    const Rows positives{ContextRow(0), ContextRow(1), ContextRow(2)},
        negatives{ContextRow(3), ContextRow(4), ContextRow(5)};
    linalg::open_blas();
    const auto to_positives =
        search(rows, positives, positives, {{{3, 0}, {3, 1}, {3, 2}}}, 1, 20, 1).front();
    const auto to_negatives =
        search(rows, negatives, positives, {{{3, -1}, {3, -1}, {3, -1}}}, 1, 20, 1).front();
    const std::int64_t partner[3] = {1, 0, 0};
    const double margin[3] = {-0.2, -0.2, 0.8};
    for (std::int64_t q = 0; q < 3; ++q) {
        BOOST_TEST(to_positives.of(q)[0].position == partner[q]);
        // 0.8 is a float: off by 2^-26 at most.
        BOOST_TEST(std::abs(to_negatives.of(q)[0].cosine - to_positives.of(q)[0].cosine - margin[q]) <
                   0x1p-24);
    }
}

BOOST_AUTO_TEST_CASE(beyond_k_plus_one_only_duplicates_are_decided) {
    linalg::open_blas();
    const std::int64_t n = 1500;
    const int k = 5;
    Reaches others;
    for (std::int64_t q = 0; q < n; ++q) others.push_back({n, q});
    const auto kept_a_query = [&](const RowSet& rows) {
        const NeighborSets sets = search(rows, first_rows(n), first_rows(n), {others}, k, 512, 2).front();
        BOOST_TEST(sets.kept >= k * n);
        BOOST_TEST(sets.kept_max >= k);
        return static_cast<double>(sets.kept) / static_cast<double>(n);
    };
    BOOST_TEST(kept_a_query(RowSet(gaussian<float>(n, 96))) < k + 1);
    // Centred, a narrow cone is as easy; uncentred its bands would hold hundreds.
    BOOST_TEST(kept_a_query(RowSet(cone<float>(n, 96, 0.0316))) < k + 1);
    Matrix<float> twice = gaussian<float>(n, 96);
    for (std::int64_t i = n / 2; i < n; ++i) std::ranges::copy(twice.row(i - n / 2), twice.row(i).begin());
    BOOST_TEST(kept_a_query(RowSet(std::move(twice))) < k + 2);  // of a pair at the edge both are kept
}

BOOST_AUTO_TEST_CASE(no_queries_and_no_views_give_nothing) {
    const RowSet rows(gaussian<float>(10, 4));
    const auto none = search(rows, first_rows(10), {}, {Reaches{}}, 3, 20, 2);
    BOOST_TEST(none.size() == 1);
    BOOST_TEST(none.front().values.empty());
    BOOST_TEST(none.front().kept == 0);
    BOOST_TEST(search(rows, first_rows(10), first_rows(10), {}, 3, 20, 2).empty());
}

BOOST_AUTO_TEST_CASE(a_reach_that_holds_fewer_than_k_or_passes_the_list_is_refused) {
    const RowSet rows(gaussian<float>(10, 4));
    const auto refused = [&](Reach reach, const std::string& values) {
        BOOST_CHECK_EXCEPTION(
            search(rows, first_rows(6), {ContextRow(9), ContextRow(8)}, {{{6, -1}, reach}}, 3, 20, 1),
            InternalError, [&](const InternalError& error) {
                return std::string(error.what()).find(values) != std::string::npos;
            });
    };
    refused({2, -1}, "(query 1 reaches 2)");
    refused({3, 2}, "(query 1 reaches 2)");
    refused({7, -1}, "(query 1 reaches 7)");
    BOOST_CHECK_NO_THROW(
        search(rows, first_rows(6), {ContextRow(9), ContextRow(8)}, {{{6, -1}, {4, 0}}}, 3, 20, 1));
}

BOOST_AUTO_TEST_SUITE_END()
