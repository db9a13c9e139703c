#include "candor/instruments/retention.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/stats/resampling.hpp"

using namespace candor;
using namespace candor::instruments;

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

double rho(const std::vector<double>& original, const std::vector<double>& erased) {
    return retention(original, erased);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_retention)

BOOST_AUTO_TEST_CASE(rho_is_the_cosine) {
    BOOST_CHECK_EQUAL(rho({3, 4}, {6, 8}), 1);
    BOOST_CHECK_EQUAL(rho({3, 4}, {-3, -4}), -1);
    BOOST_CHECK_EQUAL(rho({3, 4}, {-4, 3}), 0);
    BOOST_CHECK_CLOSE(rho({3, 4}, {5, 12}), 63.0 / 65, 1e-13);
    BOOST_CHECK_EQUAL(rho({3, 4}, {5, 12}), rho({5, 12}, {3, 4}));
}

// What rounding leaves above 1 is cut off, and powers of two change no bit however large they are.
BOOST_AUTO_TEST_CASE(rho_stays_within_its_range_at_any_scale) {
    const Stream stream(3, "retention", 0);
    for (std::uint64_t i = 0; i < 300; ++i) {
        std::vector<double> row, other, large, small;
        for (std::uint64_t j = 0; j < 37; ++j) {
            row.push_back(2 * stream.uniform(100 * i + j) - 1);
            other.push_back(2 * stream.uniform(100 * i + 40 + j) - 1);
            large.push_back(std::scalbn(row.back(), 1020));
            small.push_back(std::scalbn(row.back(), -960));
        }
        BOOST_REQUIRE_LE(rho(row, row), 1);
        BOOST_REQUIRE_GE(rho(row, row), 1 - 4 * eps);  // three roundings after sums that are equal
        BOOST_REQUIRE_EQUAL(rho(large, other), rho(row, other));
        BOOST_REQUIRE_EQUAL(rho(small, other), rho(row, other));
    }
}

BOOST_AUTO_TEST_CASE(a_row_without_direction_is_refused) {
    BOOST_CHECK_THROW(rho({0, 0}, {1, 0}), InternalError);
    BOOST_CHECK_THROW(rho({1, 0}, {0, std::nan("")}), InternalError);
    BOOST_CHECK_THROW(rho({1, HUGE_VAL}, {0, 1}), InternalError);
    BOOST_CHECK_THROW(rho({1, 0}, {1, 0, 0}), InternalError);
}

// Eighths: all sums are exact, and the mean of the drawn rows is one division.
BOOST_AUTO_TEST_CASE(resampled_means_are_those_of_the_drawn_rows) {
    const std::vector<double> values{0.125, 0.5, 0.75, -0.25, 1, 0.875};
    const std::vector<std::int32_t> patient{4, 0, 4, 2, 0, 4};
    const RetentionCounter counter(values, patient);
    BOOST_CHECK_EQUAL(counter.observed().sum, 3);
    BOOST_CHECK_EQUAL(counter.observed().rows, 6);

    const stats::Resampling resampling(7, "t", 6, 64);
    Matrix<stats::Weight> weights(6, 64);
    resampling.weights(0, 64, weights.view());
    RetentionTally tally = counter.observed();
    tally.resampled_sum.assign(64, 99);
    tally.resampled_rows.assign(64, 99);
    counter.count(weights.view(), tally.resampled_sum, tally.resampled_rows);
    const Replicates mean = mean_retention(tally);
    BOOST_CHECK_EQUAL(mean.observed, 0.5);
    std::size_t empty = 0;
    for (std::size_t b = 0; b < 64; ++b) {
        double sum = 0, rows = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const stats::Weight w = weights.row(patient[i])[b];
            sum += w * values[i];
            rows += w;
        }
        if (rows == 0) {
            BOOST_CHECK(std::isnan(mean.resampled[b]));
            ++empty;
        } else {
            BOOST_CHECK_EQUAL(mean.resampled[b], sum / rows);
        }
    }
    BOOST_CHECK_GE(empty, 1);  // none of the three patients: 1 resample in 64 in the mean
}

BOOST_AUTO_TEST_CASE(tallies_add_over_regions) {
    RetentionTally all;
    all += {1.5, 2, {0.5, 0}, {1, 0}};
    all += {0.25, 1, {1, 0}, {3, 0}};
    const Replicates mean = mean_retention(all);
    BOOST_CHECK_EQUAL(mean.observed, 1.75 / 3);
    BOOST_CHECK_EQUAL(mean.resampled[0], 1.5 / 4);
    BOOST_CHECK(std::isnan(mean.resampled[1]));
    BOOST_CHECK(std::isnan(mean_retention({}).observed));
    BOOST_CHECK_THROW((all += {1, 1, {1}, {1}}), InternalError);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
    const std::vector<double> values{1, 1};
    const std::vector<std::int32_t> patient{0, 3}, negative{0, -1}, one{0};
    BOOST_CHECK_THROW(RetentionCounter(values, one), InternalError);
    BOOST_CHECK_THROW(RetentionCounter(values, negative), InternalError);
    Matrix<stats::Weight> weights(3, 2);
    std::vector<double> sum(2);
    std::vector<std::int64_t> rows(2), few(1);
    BOOST_CHECK_THROW(RetentionCounter(values, patient).count(weights.view(), sum, rows), InternalError);
    Matrix<stats::Weight> enough(4, 2);
    BOOST_CHECK_THROW(RetentionCounter(values, patient).count(enough.view(), sum, few), InternalError);
}

BOOST_AUTO_TEST_SUITE_END()
