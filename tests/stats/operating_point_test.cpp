#include "candor/stats/operating_point.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "says.hpp"

using namespace candor;
using namespace candor::stats;

namespace {

void check(const std::vector<double>& positives, double wanted, double threshold, double achieved) {
    const auto point = operating_point(positives, wanted);
    BOOST_REQUIRE(point.has_value());
    BOOST_CHECK_EQUAL(point->threshold, threshold);
    BOOST_CHECK_EQUAL(point->sensitivity, achieved);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stats_operating_point)

BOOST_AUTO_TEST_CASE(ties_are_taken_whole) {
    check({.9, .8, .7, .7, .1}, 0.8, .7, 0.8);
    check({.7, .1, .9, .7, .8}, 0.8, .7, 0.8);
    check({.9, .7, .7, .7, .7}, 0.8, .7, 1.0);
    check({3}, 0.8, 3, 1);
    check({2, 1}, 0.5, 2, 0.5);
    check({2, 1}, 1, 1, 1);
}

// The largest threshold: with the next larger score fewer than wanted are found, at every n and share of
// hundredths, those that doubles cannot hold among them.
BOOST_AUTO_TEST_CASE(the_threshold_is_the_largest_that_reaches) {
    for (int n = 1; n <= 60; ++n) {
        std::vector<double> score;
        for (int i = 0; i < n; ++i) score.push_back(i);
        for (int percent = 1; percent <= 100; ++percent) {
            const auto point = operating_point(score, percent / 100.0);
            const int found = n - static_cast<int>(point->threshold);
            BOOST_REQUIRE(found * 100 >= percent * n);
            BOOST_REQUIRE((found - 1) * 100 < percent * n);
            BOOST_REQUIRE_EQUAL(point->sensitivity, static_cast<double>(found) / n);
        }
    }
}

BOOST_AUTO_TEST_CASE(without_positives_there_is_none_and_nan_is_refused) {
    BOOST_CHECK(!operating_point({}, 0.8).has_value());
    const std::vector<double> nan{1, std::nan("")}, one{1};
    BOOST_CHECK_EXCEPTION(operating_point(nan, 0.8), InternalError, says("positive 1 has score NaN"));
    for (const double wanted : {0.0, -0.1, 1.1, std::nan("")})
        BOOST_CHECK_EXCEPTION(operating_point(one, wanted), InternalError, says("sensitivity"));
}

BOOST_AUTO_TEST_SUITE_END()
