#include "candor/instruments/training_neighbors.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/neighbors/row_set.hpp"
#include "neighbors/made_rows.hpp"

using namespace candor;
using namespace candor::instruments;
using namespace candor::testing;
using neighbors::RowSet;

namespace {

std::vector<ContextRow> rows_from(std::int64_t first, std::int64_t end) {
    std::vector<ContextRow> rows;
    for (std::int64_t i = first; i < end; ++i) rows.emplace_back(i);
    return rows;
}

/// The definition: every cosine in double, the k largest, ties by the order of the training rows.
NeighborScores by_definition(const RowSet& rows, const TrainingRows& finding, int k) {
    NeighborScores out;
    for (const ContextRow test : finding.test) {
        std::vector<std::size_t> order(finding.training.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto cosine = [&](std::size_t i) { return rows.cosine(test, finding.training[i]); };
        std::ranges::stable_sort(order, std::greater<>(), cosine);
        double positives = 0;
        for (int i = 0; i < k; ++i) positives += finding.label[order[static_cast<std::size_t>(i)]];
        out.impurity.push_back((k - std::abs(2 * positives - k)) / k);
        out.distance.push_back(1 - cosine(order[static_cast<std::size_t>(k - 1)]));
    }
    return out;
}

void check(const RowSet& rows, const std::vector<TrainingRows>& findings, int k) {
    linalg::open_blas();
    for (const std::int64_t block : {7, 512}) {
        for (const int threads : {1, 2}) {
            neighbors::SearchOptions options;
            options.block_rows = block;
            options.panel_rows = 4 * block;
            options.threads = threads;
            const std::vector<NeighborScores> found = training_neighbors(rows, findings, k, options);
            BOOST_REQUIRE_EQUAL(found.size(), findings.size());
            for (std::size_t f = 0; f < findings.size(); ++f) {
                const NeighborScores expected = by_definition(rows, findings[f], k);
                BOOST_TEST(found[f].impurity == expected.impurity);
                BOOST_TEST(found[f].distance == expected.distance);
            }
        }
    }
}

/// Some of the first `training` rows are labelled, of the others some are asked; row i by the bits of a hash.
TrainingRows made(std::int64_t training, std::int64_t all, std::uint64_t salt) {
    TrainingRows out;
    const Stream stream(salt, "labels", 0);
    for (std::int64_t i = 0; i < all; ++i) {
        const std::uint64_t draw = stream.below(static_cast<std::uint64_t>(i), 10);
        if (draw < 3) continue;
        if (i < training) {
            out.training.emplace_back(i);
            out.label.push_back(draw < 6);
        } else {
            out.test.emplace_back(i);
        }
    }
    return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_training_neighbors)

BOOST_AUTO_TEST_CASE(scores_are_those_of_the_definition) {
    const RowSet rows(gaussian<float>(150, 20));
    check(rows, {made(90, 150, 1), made(90, 150, 2), made(60, 150, 3)}, 5);
    check(rows, {made(90, 150, 1)}, 1);
    check(RowSet(gaussian<double>(80, 9)), {made(50, 80, 1), made(50, 80, 4)}, 20);
}

// Copies of three rows under both labels: which of them answer is decided by the order alone.
BOOST_AUTO_TEST_CASE(ties_are_broken_by_the_order_of_the_training_rows) {
    Matrix<float> matrix = gaussian<float>(120, 16);
    for (std::int64_t i = 0; i < 120; ++i) std::ranges::copy(matrix.row(i % 3), matrix.row(i).begin());
    const RowSet rows(std::move(matrix));
    check(rows, {made(80, 120, 1), made(80, 120, 2)}, 5);

    TrainingRows finding{rows_from(0, 12), std::vector<std::int8_t>(12), {ContextRow(60)}};
    for (const std::size_t first : {0, 3}) finding.label[first] = 1;  // of rows 0, 3, 6, 9 like row 60
    neighbors::SearchOptions options;
    const auto of = [&](const TrainingRows& one) {
        return training_neighbors(rows, std::span(&one, 1), 2, options).front();
    };
    BOOST_CHECK_EQUAL(of(finding).impurity[0], 0);
    BOOST_CHECK_SMALL(of(finding).distance[0], 1e-15);
    std::ranges::reverse(finding.training);
    std::ranges::reverse(finding.label);
    BOOST_CHECK_EQUAL(of(finding).impurity[0], 0);  // now two negatives
    std::swap(finding.label[2], finding.label[8]);  // row 9 is positive, row 3 not
    BOOST_CHECK_EQUAL(of(finding).impurity[0], 1);
}

BOOST_AUTO_TEST_CASE(impurity_is_the_same_bits_from_either_side) {
    for (int k = 1; k <= 30; ++k) {
        for (int positives = 0; positives <= k; ++positives) {
            neighbors::NeighborSets sets;
            sets.k = k;
            std::vector<std::int8_t> label(static_cast<std::size_t>(k)), other;
            for (int i = 0; i < k; ++i) {
                sets.values.push_back({0.5, i});
                label[static_cast<std::size_t>(i)] = i < positives;
            }
            for (const std::int8_t one : label) other.push_back(1 - one);
            const double r = neighbor_scores(sets, label).impurity[0];
            BOOST_REQUIRE_EQUAL(r, neighbor_scores(sets, other).impurity[0]);
            BOOST_REQUIRE_EQUAL(r, static_cast<double>(2 * std::min(positives, k - positives)) / k);
        }
    }
}

BOOST_AUTO_TEST_CASE(fewer_than_k_training_rows_leave_it_undefined) {
    const RowSet rows(gaussian<float>(20, 4));
    std::vector<TrainingRows> findings{
        {rows_from(0, 4), {1, 0, 1, 0}, rows_from(10, 13)},
        {rows_from(0, 5), {1, 0, 1, 0, 1}, rows_from(10, 11)},
        {rows_from(0, 5), {1, 0, 1, 0, 1}, {}},
        {{}, {}, rows_from(10, 12)},
    };
    const auto found = training_neighbors(rows, findings, 5, {});
    const auto undefined = [](const std::vector<double>& values) {
        return std::ranges::count_if(values, [](double v) { return std::isnan(v); });
    };
    BOOST_TEST(found[0].impurity.size() == 3);
    BOOST_TEST(undefined(found[0].impurity) == 3);
    BOOST_TEST(undefined(found[0].distance) == 3);
    BOOST_TEST(found[1].impurity.size() == 1);
    BOOST_CHECK_EQUAL(found[1].impurity[0], 2.0 * 2 / 5);  // all five, three positive
    BOOST_TEST(found[2].impurity.empty());
    BOOST_TEST(undefined(found[3].distance) == 2);
}

BOOST_AUTO_TEST_CASE(rows_of_both_kinds_and_strange_labels_are_refused) {
    const RowSet rows(gaussian<float>(20, 4));
    const auto run = [&](TrainingRows finding, int k) {
        return training_neighbors(rows, std::span(&finding, 1), k, {});
    };
    BOOST_CHECK_THROW(run({rows_from(0, 5), {1, 0, 1, 0, 1}, rows_from(4, 6)}, 3), InternalError);
    BOOST_CHECK_THROW(run({rows_from(0, 5), {1, 0, 1, 0}, rows_from(6, 7)}, 3), InternalError);
    BOOST_CHECK_THROW(run({rows_from(0, 5), {1, 0, 1, -1, 1}, rows_from(6, 7)}, 5), InternalError);
    BOOST_CHECK_THROW(run({rows_from(0, 5), {1, 0, 1, 0, 1}, rows_from(6, 7)}, 0), InternalError);
}

BOOST_AUTO_TEST_SUITE_END()
