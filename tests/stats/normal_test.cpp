#include "candor/stats/normal.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace candor;

BOOST_AUTO_TEST_SUITE(stats_normal)

BOOST_AUTO_TEST_CASE(scores_are_those_of_scipy) {
    const auto near = boost::test_tools::tolerance(1e-12);
    // scipy.stats.norm.isf(p)
    BOOST_TEST(stats::normal_score(std::log10(0.025)) == 1.9599639845400545, near);
    BOOST_TEST(stats::normal_score(std::log10(0.9)) == -1.2815515655446004, near);
    BOOST_TEST(stats::normal_score(-100) == 21.273453560965322, near);
    // Where doubles end both ways agree.
    BOOST_TEST(stats::normal_score(-300.0001) == stats::normal_score(-299.9999),
               boost::test_tools::tolerance(1e-4));
    BOOST_TEST(stats::normal_score(-2000) > stats::normal_score(-1999));
}

BOOST_AUTO_TEST_SUITE_END()
