#include "candor/neighbors/census.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/random.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/neighbors/tile_scan.hpp"
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

/// Holds the census against a search of each question by itself, bit for bit.
void check(const RowSet& rows, const Questions& questions, int k, const std::string& what) {
    linalg::open_blas();
    const std::vector<Question> views = questions.views();
    std::vector<NeighborSets> expected;
    for (const Question& q : views) {
        const std::span<const Reach> reach[] = {q.reach};
        expected.push_back(std::move(neighbors::nearest(rows, q.list, q.queries, reach, k, {}).front()));
    }
    for (const auto& [block, panel] :
         {std::pair<std::int64_t, std::int64_t>{1, 7}, {19, 50}, {64, 64}, {20, 1000}, {512, 4096}}) {
        for (const int threads : {1, 3}) {
            const std::vector<NeighborSets> found =
                neighbors::census(rows, views, k, {block, threads, panel});
            BOOST_REQUIRE_EQUAL(found.size(), views.size());
            for (std::size_t q = 0; q < views.size(); ++q) {
                BOOST_TEST(wrong(found[q], expected[q]) == 0, what << ", question " << q << ", blocks of "
                                                                   << block << ", panels of " << panel << ", "
                                                                   << threads << " threads");
                BOOST_TEST(found[q].kept >= k * static_cast<std::int64_t>(views[q].queries.size()));
            }
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(neighbors_census)

BOOST_AUTO_TEST_CASE(every_question_is_answered_as_by_itself) {
    check(RowSet(gaussian<float>(150, 40)), cells(150, 1, 5), 5, "one finding");
    check(RowSet(gaussian<double>(150, 7)), cells(150, 4, 3), 3, "four findings");
    check(RowSet(gaussian<float>(120, 3)), cells(120, 3, 1), 1, "k = 1");
    check(RowSet(gaussian<float>(90, 65)), cells(90, 40, 2), 2, "more questions than a word has bits");
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

// The scan by vectors against the sentence that says what it does, at odd widths and with cuts that rise.
BOOST_AUTO_TEST_CASE(a_tile_is_looked_through_whole) {
    for (const std::int64_t cols : {1, 5, 16, 63, 64, 65, 131}) {
        const std::int64_t rows = 9;
        const Matrix<float> products = gaussian<float>(rows, cols);
        std::vector<float> row_offset, row_cut, col_offset, col_cut;
        for (std::int64_t i = 0; i < rows; ++i) {
            row_offset.push_back(0.1F * static_cast<float>(i));
            row_cut.push_back(i == 4 ? std::numeric_limits<float>::infinity() : 1.5F);
        }
        for (std::int64_t j = 0; j < cols; ++j) {
            col_offset.push_back(-0.02F * static_cast<float>(j % 7));
            col_cut.push_back(j % 3 == 0 ? std::numeric_limits<float>::infinity() : 1.8F);
        }
        const neighbors::Tile tile{
            products.view().data, products.view().stride, rows,           cols,
            row_offset.data(),    col_offset.data(),      row_cut.data(), col_cut.data()};
        std::vector<std::pair<std::int64_t, std::int64_t>> found, expected;
        neighbors::scan_tile(
            tile,
            [](void* to, std::int64_t row, std::int64_t first, std::uint64_t hits) {
                for (int b = 0; b < 64; ++b) {
                    if (hits >> b & 1) static_cast<decltype(found)*>(to)->emplace_back(row, first + b);
                }
            },
            &found);
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < cols; ++j) {
                const float p = products.row(i)[static_cast<std::size_t>(j)];
                const auto r = static_cast<std::size_t>(i), c = static_cast<std::size_t>(j);
                if (p + col_offset[c] >= row_cut[r] || p + row_offset[r] >= col_cut[c])
                    expected.emplace_back(i, j);
            }
        }
        BOOST_CHECK(found == expected);
        BOOST_CHECK(cols < 16 || !expected.empty());
    }
}

BOOST_AUTO_TEST_SUITE_END()
