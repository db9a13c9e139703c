#include "candor/stats/interval.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "says.hpp"

using namespace candor;
using namespace candor::stats;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// P(X <= k) for X binomial (n, p), term by term.
double binomial_cdf(int k, int n, double p) {
    double sum = 0;
    for (int i = 0; i <= k; ++i)
        sum += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1)) * std::pow(p, i) *
               std::pow(1 - p, n - i);
    return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stats_interval)

BOOST_AUTO_TEST_CASE(quantile_interpolates_at_n_minus_1_times_q) {
    const std::vector<double> values = {1, 2, 4, 8, 16};  // quarters are positions: all exact
    BOOST_CHECK_EQUAL(quantile(values, 0), 1);
    BOOST_CHECK_EQUAL(quantile(values, 0.25), 2);
    BOOST_CHECK_EQUAL(quantile(values, 0.5), 4);
    BOOST_CHECK_EQUAL(quantile(values, 0.625), 6);
    BOOST_CHECK_EQUAL(quantile(values, 0.9375), 14);
    BOOST_CHECK_EQUAL(quantile(values, 1), 16);
    BOOST_CHECK_EQUAL(quantile(std::vector{3.5}, 0.7), 3.5);
    BOOST_CHECK(std::isnan(quantile({}, 0.5)));
}

BOOST_AUTO_TEST_CASE(quantile_refuses_what_it_cannot_answer) {
    const std::vector<double> values = {1, 2}, endless = {1, infinity}, undefined = {not_a_number, 1};
    BOOST_CHECK_EXCEPTION(quantile(values, 1.5), InternalError, says("q 1.5"));
    BOOST_CHECK_EXCEPTION(quantile(values, not_a_number), InternalError, says("q nan"));
    BOOST_CHECK_EXCEPTION(quantile(endless, 0.5), InternalError, says("values from 1 to inf"));
    BOOST_CHECK_EXCEPTION(quantile(undefined, 0.5), InternalError, says("values from nan to 1"));
}

// (1 - 0.95)/2 misses 0.025 by less than 2^-55 and 999 times it rounds once more: 999 x 2^-53 + ulp(974) <
// 4e-13.
BOOST_AUTO_TEST_CASE(percentile_interval_of_0_to_999_in_any_order) {
    std::vector<double> replicates(1000);
    for (const int step : {1, 7, 333, 999}) {
        for (int i = 0; i < 1000; ++i) replicates[i] = i * step % 1000;
        const Interval interval = percentile_interval(replicates, 0.95);
        BOOST_CHECK_SMALL(interval.low - 24.975, 4e-13);
        BOOST_CHECK_SMALL(interval.high - 974.025, 4e-13);
        BOOST_CHECK_EQUAL(interval.valid, 1000);
        BOOST_CHECK(!interval.all_equal);
    }
}

BOOST_AUTO_TEST_CASE(undefined_replicates_are_left_out_and_counted) {
    const std::vector<double> replicates = {not_a_number, 5, not_a_number, 1, 3, not_a_number};
    const Interval interval = percentile_interval(replicates, 0.5);
    BOOST_CHECK_EQUAL(interval.low, 2);
    BOOST_CHECK_EQUAL(interval.high, 4);
    BOOST_CHECK_EQUAL(interval.valid, 3);
    for (const std::vector<double>& none :
         {std::vector<double>{}, std::vector<double>{not_a_number, not_a_number}}) {
        const Interval empty = percentile_interval(none, 0.95);
        BOOST_CHECK(std::isnan(empty.low) && std::isnan(empty.high));
        BOOST_CHECK_EQUAL(empty.valid, 0);
        BOOST_CHECK(!empty.all_equal);
    }
}

BOOST_AUTO_TEST_CASE(equal_replicates_give_their_value_exactly) {
    for (const double value : {0.1, 1.0 / 3, 0.0, -0.7, 1.0}) {
        const Interval interval = percentile_interval(std::vector<double>(1000, value), 0.95);
        BOOST_CHECK_EQUAL(interval.low, value);
        BOOST_CHECK_EQUAL(interval.high, value);
        BOOST_CHECK(interval.all_equal);
    }
}

BOOST_AUTO_TEST_CASE(interval_refuses_bad_confidence_and_infinite_replicates) {
    const std::vector<double> fine = {1, 2}, endless = {1, -infinity};
    for (const double confidence : {0.0, 1.0, 95.0, not_a_number}) {
        BOOST_CHECK_EXCEPTION(percentile_interval(fine, confidence), InternalError, says("confidence "));
        BOOST_CHECK_EXCEPTION(clopper_pearson(1, 2, confidence), InternalError, says("confidence "));
    }
    BOOST_CHECK_EXCEPTION(percentile_interval(endless, 0.95), InternalError, says("values from -inf to 1"));
}

// The closed ends: (1 - p)^n = tail and p^n = tail, and the square roots of n = 2. Tail = (1 - confidence)/2
// carries one rounding; Boost's inverse and pow add some eps each: 1e-14 is 45 eps.
BOOST_AUTO_TEST_CASE(clopper_pearson_where_it_has_a_closed_form) {
    const double tail = (1 - 0.95) / 2;
    for (const int n : {1, 2, 10, 1000}) {
        const Bounds none = clopper_pearson(0, n, 0.95), all = clopper_pearson(n, n, 0.95);
        BOOST_CHECK_EQUAL(none.low, 0);
        BOOST_CHECK_EQUAL(all.high, 1);
        BOOST_CHECK_SMALL(none.high - (1 - std::pow(tail, 1.0 / n)), 1e-14);
        BOOST_CHECK_SMALL(all.low - std::pow(tail, 1.0 / n), 1e-14);
    }
    const Bounds half = clopper_pearson(1, 2, 0.95);
    BOOST_CHECK_SMALL(half.low - (1 - std::sqrt(1 - tail)), 1e-14);
    BOOST_CHECK_SMALL(half.high - std::sqrt(1 - tail), 1e-14);
}

// At the lower bound P(X >= k) is the tail, at the upper P(X <= k) is. The sum of at most 31 positive terms,
// each good to some 50 eps by lgamma and exp, is good to 1e-13.
BOOST_AUTO_TEST_CASE(clopper_pearson_bounds_have_the_tail_that_defines_them) {
    for (int k = 1; k < 30; ++k) {
        const Bounds bounds = clopper_pearson(k, 30, 0.9);
        BOOST_CHECK_SMALL(binomial_cdf(k, 30, bounds.high) - 0.05, 1e-13);
        BOOST_CHECK_SMALL(binomial_cdf(30 - k, 30, 1 - bounds.low) - 0.05, 1e-13);
    }
}

BOOST_AUTO_TEST_CASE(clopper_pearson_of_nothing_is_undefined_and_of_nonsense_refused) {
    const Bounds nothing = clopper_pearson(0, 0, 0.95);
    BOOST_CHECK(std::isnan(nothing.low) && std::isnan(nothing.high));
    BOOST_CHECK_EXCEPTION(clopper_pearson(3, 2, 0.95), InternalError, says("3 of 2"));
    BOOST_CHECK_EXCEPTION(clopper_pearson(-1, 2, 0.95), InternalError, says("-1 of 2"));
    BOOST_CHECK_EXCEPTION(clopper_pearson(0, -1, 0.95), InternalError, says("0 of -1"));
}

BOOST_AUTO_TEST_CASE(quartiles_in_any_order) {
    const Quartiles q = quartiles(std::vector<double>{16, 1, 8, 2, 4});
    BOOST_CHECK_EQUAL(q.lower, 2);
    BOOST_CHECK_EQUAL(q.median, 4);
    BOOST_CHECK_EQUAL(q.upper, 8);
    const Quartiles none = quartiles({});
    BOOST_CHECK(std::isnan(none.lower) && std::isnan(none.median) && std::isnan(none.upper));
    BOOST_CHECK_EXCEPTION(quartiles(std::vector{1.0, not_a_number, 2.0}), InternalError,
                          says("value 1 is nan"));
    BOOST_CHECK_EXCEPTION(quartiles(std::vector{-infinity, 2.0}), InternalError, says("value 0 is -inf"));
}

// Whatever the order, the quantiles are those of the sorted values, and an infinite one is found.
BOOST_AUTO_TEST_CASE(replicates_come_in_any_order) {
    for (const std::size_t n : {1, 2, 3, 39, 40, 41, 100, 1000}) {
        std::vector<double> values(n);
        for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<double>(i * 7919 % 1009 % 400);
        std::vector<double> sorted(values);
        std::ranges::sort(sorted);
        for (const double confidence : {0.5, 0.95, 0.999}) {
            const Interval interval = percentile_interval(values, confidence);
            const double tail = (1 - confidence) / 2;
            BOOST_CHECK_EQUAL(interval.low, quantile(sorted, tail));
            BOOST_CHECK_EQUAL(interval.high, quantile(sorted, 1 - tail));
            BOOST_CHECK_EQUAL(interval.all_equal, n == 1);
        }
        for (std::size_t i = 0; i < n; i += 1 + n / 50) {
            for (const double infinite : {-infinity, infinity}) {
                std::vector<double> one(values);
                one[i] = infinite;
                BOOST_CHECK_THROW(percentile_interval(one, 0.95), InternalError);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
