#include "candor/stats/resampling.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <vector>

#include "candor/base/random.hpp"
#include "candor/stats/interval.hpp"
#include "candor/stats/weighted_sums.hpp"
#include "says.hpp"
#include "testing/vector_targets.hpp"

using namespace candor;
using namespace candor::stats;

BOOST_AUTO_TEST_SUITE(stats_resampling)

BOOST_AUTO_TEST_CASE(weights_count_the_draws_of_the_stream) {
    on_every_vector_target([] {
        constexpr std::int64_t patients = 37, resamples = 150;
        const Resampling resampling(42, "chest", patients, resamples);
        Matrix<Weight> block(patients, 50);
        resampling.weights(100, 50, block.view());
        for (std::int64_t b = 100; b < 150; ++b) {
            std::vector<int> drawn(patients);
            const Stream stream(42, "bootstrap/chest", static_cast<std::uint64_t>(b));
            for (std::uint64_t i = 0; i < patients; ++i) ++drawn[stream.below(i, patients)];
            int sum = 0;
            for (std::int64_t p = 0; p < patients; ++p) {
                BOOST_CHECK_EQUAL(block.row(p)[b - 100], drawn[p]);
                sum += block.row(p)[b - 100];
            }
            BOOST_CHECK_EQUAL(sum, patients);
        }
    });
}

BOOST_AUTO_TEST_CASE(cutting_into_blocks_changes_nothing_and_padding_survives) {
    on_every_vector_target([] {
        constexpr std::int64_t patients = 11, stride = 7, poison = 213;
        const Resampling resampling(7, "eye", patients, 64);
        Matrix<Weight> whole(patients, 64);
        resampling.weights(0, 64, whole.view());
        for (std::int64_t first = 0; first < 64; first += 5) {
            const std::int64_t count = std::min<std::int64_t>(5, 64 - first);
            std::vector<Weight> storage(patients * stride, poison);
            resampling.weights(first, count, {storage.data(), patients, count, stride});
            for (std::int64_t p = 0; p < patients; ++p)
                for (std::int64_t c = 0; c < stride; ++c)
                    BOOST_CHECK_EQUAL(storage[p * stride + c], c < count ? whole.row(p)[first + c] : poison);
        }
    });
}

// Patient counts about the vectors of every size, and blocks one after the other.
BOOST_AUTO_TEST_CASE(every_block_has_the_draws_of_the_stream) {
    on_every_vector_target([] {
        for (const std::int64_t patients : {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 1000}) {
            const Resampling resampling(42, "skin", patients, 150);
            std::int64_t next = 0;
            resampling.for_each_block([&](MatrixView<const Weight> weights, std::int64_t first) {
                BOOST_CHECK_EQUAL(first, next);
                BOOST_CHECK_EQUAL(weights.rows, patients);
                BOOST_CHECK_EQUAL(weights.cols, first == 128 ? 22 : 64);
                for (std::int64_t b = 0; b < weights.cols; ++b) {
                    std::vector<int> drawn(patients), seen;
                    const Stream stream(42, "bootstrap/skin", static_cast<std::uint64_t>(first + b));
                    for (std::int64_t i = 0; i < patients; ++i) ++drawn[stream.below(i, patients)];
                    for (std::int64_t p = 0; p < patients; ++p) seen.push_back(weights.row(p)[b]);
                    BOOST_CHECK(seen == drawn);
                }
                next = first + weights.cols;
            });
            BOOST_CHECK_EQUAL(next, 150);
        }
    });
}

BOOST_AUTO_TEST_CASE(seed_and_task_choose_the_resamples) {
    const auto first_column = [](std::uint64_t seed, const char* task) {
        std::vector<Weight> column(50);
        Resampling(seed, task, 50, 1).weights(0, 1, {column.data(), 50, 1, 1});
        return column;
    };
    BOOST_CHECK(first_column(1, "chest") == first_column(1, "chest"));
    BOOST_CHECK(first_column(1, "chest") != first_column(2, "chest"));
    BOOST_CHECK(first_column(1, "chest") != first_column(1, "eye"));
}

// Patient A has two discordant positives, B and C one concordant positive each. A is drawn k times, k
// binomial (3, 1/3), and the rate is then 2k / (k + 3): 0, 1/2, 4/5, 1. A replicate of 2/3 would be a lost
// repeat.
BOOST_AUTO_TEST_CASE(a_patient_drawn_twice_counts_twice) {
    constexpr std::int64_t resamples = 10000;
    const std::vector<std::int32_t> patient = {0, 0, 1, 2};
    const std::vector<std::int64_t> discordant = {1, 1, 0, 0}, queried = {1, 1, 1, 1};
    const Resampling resampling(42, "repeats", 3, resamples);
    const RowPatients rows(patient);
    const WeightedSums all_discordant(rows, discordant), all_queried(rows, queried);
    std::vector<std::int64_t> num(resamples), den(resamples);
    resampling.for_each_block([&](MatrixView<const Weight> weights, std::int64_t first) {
        const auto part = [&](std::vector<std::int64_t>& sums) {
            return std::span(sums).subspan(first, weights.cols);
        };
        all_discordant.add(weights, part(num));
        all_queried.add(weights, part(den));
    });
    std::vector<double> rate(resamples);
    std::map<double, double> seen;
    for (std::int64_t b = 0; b < resamples; ++b) {
        rate[b] = static_cast<double>(num[b]) / static_cast<double>(den[b]);
        ++seen[rate[b]];
    }

    const std::map<double, double> chance = {{0.0, 8 / 27.}, {0.5, 12 / 27.}, {0.8, 6 / 27.}, {1.0, 1 / 27.}};
    double chi_square = 0, mean = 0;
    for (const auto& [value, p] : chance) {
        const double expected = p * resamples;
        chi_square += std::pow(seen[value] - expected, 2) / expected;
        mean += p * value;
    }
    BOOST_CHECK_EQUAL(seen.size(), chance.size());  // no other value, 2/3 least of all
    BOOST_CHECK_LT(chi_square, 16.27);              // 99.9 % point of chi-square with 3 degrees of freedom

    double second = 0, fourth = 0, observed = 0;
    for (const auto& [value, p] : chance) {
        second += p * std::pow(value - mean, 2);
        fourth += p * std::pow(value - mean, 4);
        observed += seen[value] / resamples * std::pow(value - mean, 2);
    }
    BOOST_CHECK_SMALL(std::sqrt(second) - 0.31523, 5e-6);  // five printed digits
    // The variance around the known mean is a mean of B squares, each of variance fourth - second^2.
    BOOST_CHECK_SMALL(observed - second, 3 * std::sqrt((fourth - second * second) / resamples));

    const Interval interval = percentile_interval(rate, 0.95);
    BOOST_CHECK_EQUAL(interval.low, 0.0);
    BOOST_CHECK_EQUAL(interval.high, 1.0);
}

BOOST_AUTO_TEST_CASE(one_patient_is_always_drawn_and_none_never) {
    std::vector<Weight> weights(64, 9);
    Resampling(1, "t", 1, 64).weights(0, 64, {weights.data(), 1, 64, 64});
    BOOST_CHECK(weights == std::vector<Weight>(64, 1));
    BOOST_CHECK_NO_THROW(Resampling(1, "t", 0, 64).weights(0, 64, {weights.data(), 0, 64, 64}));
}

BOOST_AUTO_TEST_CASE(wrong_shapes_are_refused) {
    const Resampling resampling(1, "t", 5, 100);
    Matrix<Weight> block(5, 64), wide(5, 65), long_block(6, 64);
    BOOST_CHECK_EXCEPTION(resampling.weights(64, 64, block.view()), InternalError,
                          says("resamples 64 + 64 of 100"));
    BOOST_CHECK_EXCEPTION(resampling.weights(-1, 64, block.view()), InternalError,
                          says("resamples -1 + 64 of 100"));
    BOOST_CHECK_EXCEPTION(resampling.weights(0, 65, wide.view()), InternalError,
                          says("resamples 0 + 65 of 100"));
    BOOST_CHECK_EXCEPTION(resampling.weights(0, 63, block.view()), InternalError, says("5 x 64 for 5 x 63"));
    BOOST_CHECK_EXCEPTION(resampling.weights(0, 64, long_block.view()), InternalError,
                          says("6 x 64 for 5 x 64"));
    BOOST_CHECK_EXCEPTION(Resampling(1, "t", -1, 2), InternalError, says("-1 patients, 2 resamples"));
    BOOST_CHECK_EXCEPTION(Resampling(1, "t", std::int64_t{1} << 31, 2), InternalError,
                          says("2147483648 patients"));
}

BOOST_AUTO_TEST_SUITE_END()
