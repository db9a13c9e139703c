#include "candor/stats/bootstrap_p.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "says.hpp"

using namespace candor;
using namespace candor::stats;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

std::vector<double> one_to(int n) {
    std::vector<double> values(n);
    for (int i = 0; i < n; ++i) values[i] = i + 1;
    return values;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stats_bootstrap_p)

// Replicates 1 .. 999, B' + 1 = 1000: p is 2 (1 + the smaller tail) / 1000, the value at the null in both
// tails.
BOOST_AUTO_TEST_CASE(p_counts_the_smaller_tail) {
    const std::vector<double> replicates = one_to(999);
    BOOST_CHECK_EQUAL(bootstrap_p(replicates, 0), 2.0 / 1000);
    BOOST_CHECK_EQUAL(bootstrap_p(replicates, 1), 4.0 / 1000);
    BOOST_CHECK_EQUAL(bootstrap_p(replicates, 24.5), 50.0 / 1000);
    BOOST_CHECK_EQUAL(bootstrap_p(replicates, 975.5), 50.0 / 1000);
    BOOST_CHECK_EQUAL(bootstrap_p(replicates, 1000), 2.0 / 1000);
    BOOST_CHECK_EQUAL(bootstrap_p(replicates, 500), 1.0);  // 1002 / 1000
}

BOOST_AUTO_TEST_CASE(replicates_all_at_the_null_say_nothing_against_it) {
    BOOST_CHECK_EQUAL(bootstrap_p(std::vector<double>(1000, 0.5), 0.5), 1.0);
}

BOOST_AUTO_TEST_CASE(undefined_replicates_do_not_count) {
    BOOST_CHECK_EQUAL(bootstrap_p(std::vector{not_a_number, 1.0, 2.0, not_a_number, 3.0}, 0), 2.0 / 4);
    BOOST_CHECK(std::isnan(bootstrap_p(std::vector{not_a_number, not_a_number}, 0)));
    BOOST_CHECK(std::isnan(bootstrap_p({}, 0)));
    BOOST_CHECK_EXCEPTION(bootstrap_p(std::vector{1.0}, not_a_number), InternalError,
                          says("the null value is NaN"));
}

BOOST_AUTO_TEST_CASE(the_floor_is_what_an_empty_tail_gives) {
    for (const int n : {1, 2, 9, 999, 1000})
        BOOST_CHECK_EQUAL(smallest_bootstrap_p(n), bootstrap_p(one_to(n), 0));
    BOOST_CHECK_EQUAL(smallest_bootstrap_p(1), 1.0);
    BOOST_CHECK_EQUAL(smallest_bootstrap_p(1000), 2.0 / 1001);
    BOOST_CHECK(std::isnan(smallest_bootstrap_p(0)));
    BOOST_CHECK_EXCEPTION(smallest_bootstrap_p(-1), InternalError, says("-1 replicates"));
}

BOOST_AUTO_TEST_SUITE_END()
