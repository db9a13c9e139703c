#include "candor/stats/least_squares.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "says.hpp"

using namespace candor;
using namespace candor::stats;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

LeastSquares fit(std::vector<double> x, std::vector<double> y) {
    return least_squares(x, y);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stats_least_squares)

// By hand: Sxx = 10, Sxy = 12, residuals 34/5, so the variance of the slope is 34/5 / 3 / 10 = 17/75; p by a
// 50-digit incomplete beta function. Tolerances in percent: a few roundings, and Boost's some hundred eps.
BOOST_AUTO_TEST_CASE(a_line_by_hand) {
    const LeastSquares line = fit({1, 2, 3, 4, 5}, {2, 1, 4, 3, 7});
    BOOST_CHECK_EQUAL(line.n, 5);
    BOOST_CHECK_CLOSE(line.slope, 1.2, 1e-13);
    BOOST_CHECK_CLOSE(line.intercept, -0.2, 1e-12);
    BOOST_CHECK_CLOSE(line.standard_error, std::sqrt(17.0 / 75), 1e-13);
    BOOST_CHECK_CLOSE(line.p, 0.0861386313139594471399, 1e-11);
    BOOST_CHECK_EQUAL(line.undefined, "");
}

// The same points a million away, where sums of squares would lose 12 digits. The values are integers, so
// that the offset itself costs nothing.
BOOST_AUTO_TEST_CASE(an_offset_costs_no_digits) {
    const double far = 1e6;
    const LeastSquares line =
        fit({far + 1, far + 2, far + 3, far + 4, far + 5}, {far + 2, far + 1, far + 4, far + 3, far + 7});
    BOOST_CHECK_CLOSE(line.slope, 1.2, 1e-12);
    BOOST_CHECK_CLOSE(line.intercept, -200000.2, 1e-12);
    BOOST_CHECK_CLOSE(line.standard_error, std::sqrt(17.0 / 75), 1e-12);
    BOOST_CHECK_CLOSE(line.p, 0.0861386313139594471399, 1e-11);
}

BOOST_AUTO_TEST_CASE(points_on_a_line_leave_no_doubt) {
    const LeastSquares line = fit({0, 1, 2, 3, 4}, {7, 5, 3, 1, -1});
    BOOST_CHECK_EQUAL(line.slope, -2);
    BOOST_CHECK_EQUAL(line.intercept, 7);
    BOOST_CHECK_EQUAL(line.standard_error, 0);
    BOOST_CHECK_EQUAL(line.p, 0);
}

BOOST_AUTO_TEST_CASE(no_slope_at_all_is_no_evidence) {
    const LeastSquares line = fit({1, 2, 3}, {1, 4, 1});
    BOOST_CHECK_EQUAL(line.slope, 0);
    BOOST_CHECK_EQUAL(line.intercept, 2);
    BOOST_CHECK_CLOSE(line.standard_error, std::sqrt(3.0), 1e-13);  // residuals 6, 1 degree, Sxx = 2
    BOOST_CHECK_EQUAL(line.p, 1);
}

BOOST_AUTO_TEST_CASE(points_with_a_missing_half_are_dropped) {
    const LeastSquares line = fit({1, 2, not_a_number, 3, 4, 100, 5}, {2, 1, 50, 4, 3, not_a_number, 7});
    BOOST_CHECK_EQUAL(line.n, 5);
    BOOST_CHECK_CLOSE(line.slope, 1.2, 1e-13);
}

BOOST_AUTO_TEST_CASE(what_is_undefined_says_why) {
    for (const LeastSquares& line : {fit({}, {}), fit({1}, {2}), fit({1, 2}, {3, not_a_number})}) {
        BOOST_CHECK(std::isnan(line.slope) && std::isnan(line.intercept));
        BOOST_CHECK(std::isnan(line.standard_error) && std::isnan(line.p));
        BOOST_CHECK_EQUAL(line.undefined, "fewer than 2 points");
    }
    const LeastSquares upright = fit({3, 3, 3}, {1, 2, 3});
    BOOST_CHECK(std::isnan(upright.slope) && std::isnan(upright.intercept));
    BOOST_CHECK(std::isnan(upright.standard_error) && std::isnan(upright.p));
    BOOST_CHECK_EQUAL(upright.undefined, "the x are all equal");
    const LeastSquares two = fit({1, 3}, {2, 6});
    BOOST_CHECK_EQUAL(two.slope, 2);
    BOOST_CHECK_EQUAL(two.intercept, 0);
    BOOST_CHECK(std::isnan(two.standard_error) && std::isnan(two.p));
    BOOST_CHECK_EQUAL(two.undefined, "no test with 2 points");
    const LeastSquares level = fit({1, 2, 4}, {0.1, 0.1, 0.1});
    BOOST_CHECK_EQUAL(level.slope, 0);
    BOOST_CHECK_EQUAL(level.intercept, 0.1);
    BOOST_CHECK_EQUAL(level.standard_error, 0);
    BOOST_CHECK(std::isnan(level.p));
    BOOST_CHECK_EQUAL(level.undefined, "no test with all y equal");
}

BOOST_AUTO_TEST_CASE(what_is_no_point_is_refused) {
    BOOST_CHECK_EXCEPTION(fit({1, 2}, {1, 2, 3}), InternalError, says("2 values against 3"));
    BOOST_CHECK_EXCEPTION(fit({1, 2}, {1, infinite}), InternalError, says("point 1 is (2, inf)"));
    BOOST_CHECK_EXCEPTION(fit({-infinite, 2}, {1, 3}), InternalError, says("point 0 is (-inf, 1)"));
}

BOOST_AUTO_TEST_SUITE_END()
