#include "candor/stats/auroc.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "candor/stats/resampling.hpp"
#include "says.hpp"
#include "testing/vector_targets.hpp"

using namespace candor;
using namespace candor::stats;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Scores and patients of one label.
struct Side {
    std::vector<double> score;
    std::vector<std::int32_t> patient;

    Side() = default;
    explicit Side(std::vector<double> s) : score(std::move(s)), patient(score.size()) {
        std::iota(patient.begin(), patient.end(), 0);
    }
};

PairCounter counter(const Side& positive, const Side& negative) {
    return {positive.score, positive.patient, negative.score, negative.patient};
}

double observed(const PairCounter& pairs) {
    return auroc(pairs.twice_wins(), pairs.pairs());
}

Matrix<Weight> matrix(const std::vector<std::vector<Weight>>& rows) {
    Matrix<Weight> weights(std::ssize(rows), std::ssize(rows.front()));
    for (std::int64_t p = 0; p < weights.rows(); ++p)
        std::ranges::copy(rows[static_cast<std::size_t>(p)], weights.row(p).begin());
    return weights;
}

/// The definition in each column of `weights`, pair by pair.
void check_against_definition(const Side& positive, const Side& negative, MatrixView<const Weight> weights) {
    const auto n = static_cast<std::size_t>(weights.cols);
    std::vector<std::int64_t> wins(n, 17), pairs(n, 40), expected_wins(wins), expected_pairs(pairs);
    std::int64_t plain_wins = 0, plain_pairs = 0;
    for (std::size_t p = 0; p < positive.score.size(); ++p) {
        for (std::size_t q = 0; q < negative.score.size(); ++q) {
            const int twice =
                2 * (positive.score[p] > negative.score[q]) + (positive.score[p] == negative.score[q]);
            plain_wins += twice;
            plain_pairs += 1;
            for (std::size_t b = 0; b < n; ++b) {
                const std::int64_t both =
                    std::int64_t{weights.row(positive.patient[p])[b]} * weights.row(negative.patient[q])[b];
                expected_wins[b] += both * twice;
                expected_pairs[b] += both;
            }
        }
    }
    const PairCounter pair_counter = counter(positive, negative);
    BOOST_CHECK_EQUAL(pair_counter.twice_wins(), plain_wins);
    BOOST_CHECK_EQUAL(pair_counter.pairs(), plain_pairs);
    pair_counter.count(weights, wins, pairs);
    BOOST_CHECK_EQUAL_COLLECTIONS(wins.begin(), wins.end(), expected_wins.begin(), expected_wins.end());
    BOOST_CHECK_EQUAL_COLLECTIONS(pairs.begin(), pairs.end(), expected_pairs.begin(), expected_pairs.end());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stats_auroc)

BOOST_AUTO_TEST_CASE(ties_count_half_in_every_input_order) {
    // Positives 3, 1, 1 and negatives 1, 0: of 6 pairs 4 are won and 2 tied.
    std::vector<int> order = {0, 1, 2, 3, 4};
    const double score[] = {3, 1, 1, 1, 0};
    int orders = 0;
    do {
        Side positive, negative;
        for (const int row : order) {
            Side& side = row < 3 ? positive : negative;
            side.score.push_back(score[row]);
            side.patient.push_back(row);
        }
        const PairCounter pairs = counter(positive, negative);
        BOOST_CHECK_EQUAL(pairs.twice_wins(), 10);
        BOOST_CHECK_EQUAL(pairs.pairs(), 6);
        BOOST_CHECK_EQUAL(observed(pairs), 5.0 / 6.0);
        ++orders;
    } while (std::ranges::next_permutation(order).found);
    BOOST_CHECK_EQUAL(orders, 120);
    BOOST_CHECK_EQUAL(observed(counter(Side({2, 2, 2}), Side({2, 2}))), 0.5);
    BOOST_CHECK_EQUAL(observed(counter(Side({0.9, 0.5}), Side({0.5}))), 0.75);
}

BOOST_AUTO_TEST_CASE(infinities_are_ordered_and_zeros_are_one) {
    BOOST_CHECK_EQUAL(observed(counter(Side({infinity}), Side({1e308, infinity}))), 0.75);
    BOOST_CHECK_EQUAL(observed(counter(Side({-infinity}), Side({-1e308}))), 0.0);
    BOOST_CHECK_EQUAL(observed(counter(Side({0.0}), Side({-0.0}))), 0.5);
}

BOOST_AUTO_TEST_CASE(one_class_has_no_auroc) {
    BOOST_CHECK(std::isnan(observed(counter(Side({1, 2}), Side()))));
    BOOST_CHECK(std::isnan(observed(counter(Side(), Side({1, 2})))));
    BOOST_CHECK(std::isnan(observed(counter(Side(), Side()))));
    const Matrix<Weight> weights = matrix({{3, 3, 3}, {3, 3, 3}});
    std::vector<std::int64_t> wins(3), pairs(3);
    counter(Side({1, 2}), Side()).count(weights.view(), wins, pairs);
    BOOST_CHECK(wins == std::vector<std::int64_t>(3) && pairs == std::vector<std::int64_t>(3));
}

// Scores from 1 (all tied) to 1000 (hardly a tie) values; patients shared by both labels; block widths
// about the vectors of every size.
BOOST_AUTO_TEST_CASE(counts_are_the_definition) {
    on_every_vector_target([] {
        for (const std::int64_t values : {1, 2, 7, 1000}) {
            for (const std::int64_t resamples : {1, 15, 16, 17, 32, 33, 40, 63, 64}) {
                Side positive, negative;
                for (std::int64_t i = 0; i < 90; ++i) {
                    Side& side = i * i % 7 < 3 ? positive : negative;
                    side.score.push_back(static_cast<double>(i * 7919 % 1009 % values) - 3);
                    side.patient.push_back(static_cast<std::int32_t>(i * 31 % 23));
                }
                Matrix<Weight> weights(23, resamples);
                Resampling(5, "pairs", 23, resamples).weights(0, resamples, weights.view());
                check_against_definition(positive, negative, std::as_const(weights).view());
            }
        }
    });
}

// Runs of one label and ties of any length, about the 128 rows that one 16-bit pass takes and the 256 that
// one sum takes, with weights up to the largest.
BOOST_AUTO_TEST_CASE(runs_and_ties_of_every_length_are_exact) {
    on_every_vector_target([] {
        Matrix<Weight> weights(23, 21);
        for (std::int64_t p = 0; p < 23; ++p)
            for (std::int64_t b = 0; b < 21; ++b)
                weights.row(p)[b] = b == 0 ? 255 : static_cast<Weight>((p * 7919 + b * 104729) % 256);
        for (const int length : {1, 63, 64, 65, 127, 128, 129, 255, 256, 257, 600}) {
            for (const bool tied : {false, true}) {
                Side positive, negative;
                const auto add = [](Side& side, int rows, double score) {
                    for (int i = 0; i < rows; ++i) {
                        side.score.push_back(score);
                        side.patient.push_back(static_cast<std::int32_t>(side.score.size() * 5 % 23));
                    }
                };
                add(negative, 100, 0);
                add(positive, length, 1);
                add(negative, length, tied ? 1 : 2);
                add(positive, 100, 3);
                add(negative, 1, 3);
                check_against_definition(positive, negative, std::as_const(weights).view());
            }
        }
    });
}

// 70,000 rows of weight 255 and negatives of weight 255: the wins pass 2^32, on either side. Row i has score
// i mod 3 (23,334 + 23,333 + 23,333 rows) against scores 0 and 1: one, three, four half wins.
BOOST_AUTO_TEST_CASE(sums_beyond_32_bits_are_exact) {
    on_every_vector_target([] {
        Side many, two({0, 1});
        for (int i = 0; i < 70000; ++i) {
            many.score.push_back(i % 3);
            many.patient.push_back(2);
        }
        // In resample 1 score 1 counts twice.
        const Matrix<Weight> weights = matrix({{255, 1}, {255, 2}, {255, 1}});
        const std::int64_t even = 23334 * 1 + 23333 * 3 + 23333 * 4,
                           uneven = 23334 * 1 + 23333 * 4 + 23333 * 6;
        std::vector<std::int64_t> wins(2), pairs(2);
        counter(many, two).count(weights.view(), wins, pairs);
        BOOST_CHECK(wins == (std::vector<std::int64_t>{65025 * even, uneven}));
        BOOST_CHECK(pairs == (std::vector<std::int64_t>{std::int64_t{65025} * 140000, 210000}));

        // With the labels exchanged the wins are the rest of twice the pairs.
        std::vector<std::int64_t> lost(2), same(2);
        counter(two, many).count(weights.view(), lost, same);
        BOOST_CHECK(same == pairs);
        for (int b = 0; b < 2; ++b) BOOST_CHECK_EQUAL(wins[b] + lost[b], 2 * pairs[b]);
    });
}

BOOST_AUTO_TEST_CASE(a_count_that_could_pass_two_to_the_62_is_refused) {
    // 8,500,000^2 x 255^2 passes 2^62, and 8,500,000^2 does not.
    constexpr std::int64_t rows = 8'500'000, pairs_of_rows = rows * rows;
    Side positive, negative;
    positive.score.assign(rows, 1.0);
    negative.score.assign(rows, 0.0);
    positive.patient.assign(rows, 0);
    negative.patient.assign(rows, 0);
    const PairCounter large = counter(positive, negative);
    std::vector<std::int64_t> wins(2), pairs(2);
    BOOST_CHECK_EXCEPTION(large.count(matrix({{1, 255}}).view(), wins, pairs), InternalError,
                          says("resample 1 of the block: the count of pairs could pass 2^62"));
    BOOST_CHECK(wins == std::vector<std::int64_t>(2) && pairs == std::vector<std::int64_t>(2));

    const std::int64_t largest = std::int64_t{1} << 62;
    wins = {0, largest - 2 * pairs_of_rows};
    BOOST_CHECK_NO_THROW(large.count(matrix({{1, 1}}).view(), wins, pairs));
    BOOST_CHECK_EQUAL(wins[1], largest);
    BOOST_CHECK_EXCEPTION(large.count(matrix({{1, 1}}).view(), wins, pairs), InternalError,
                          says("resample 1"));
}

BOOST_AUTO_TEST_CASE(bad_input_is_refused) {
    BOOST_CHECK_EXCEPTION(counter(Side({1, not_a_number}), Side({1})), InternalError,
                          says("positive 1 has score NaN"));
    BOOST_CHECK_EXCEPTION(counter(Side({1}), Side({not_a_number})), InternalError,
                          says("negative 0 has score NaN"));
    Side mismatched({1, 2}), nobody({1, 2});
    mismatched.patient.pop_back();
    nobody.patient[1] = -1;
    BOOST_CHECK_EXCEPTION(counter(mismatched, Side({1})), InternalError,
                          says("2 positive scores, 1 patients"));
    BOOST_CHECK_EXCEPTION(counter(Side({1}), nobody), InternalError, says("negative 1 has patient -1"));

    const PairCounter pairs = counter(Side({1, 2, 3}), Side({1}));
    Matrix<Weight> few(2, 4), wide(3, 65), right(3, 4);
    std::vector<std::int64_t> four(4), five(5), many(65);
    BOOST_CHECK_EXCEPTION(pairs.count(few.view(), four, four), InternalError, says("patient 2 of 2"));
    BOOST_CHECK_EXCEPTION(pairs.count(wide.view(), many, many), InternalError, says("65 resamples"));
    BOOST_CHECK_EXCEPTION(pairs.count({right.view().data, 3, 4, 63}, four, four), InternalError,
                          says("stride 63"));
    BOOST_CHECK_EXCEPTION(pairs.count(right.view(), four, five), InternalError,
                          says("4 resamples, 4 and 5 sums"));
    BOOST_CHECK_EXCEPTION(pairs.count(right.view(), five, four), InternalError,
                          says("4 resamples, 5 and 4 sums"));
}

BOOST_AUTO_TEST_SUITE_END()
