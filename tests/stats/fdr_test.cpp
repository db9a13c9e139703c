#include "candor/stats/fdr.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "candor/stats/bootstrap_p.hpp"
#include "says.hpp"

using namespace candor;
using namespace candor::stats;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
// p times m/j: two roundings, so 2 eps of a q of at most 1.
constexpr double two_roundings = 2 * std::numeric_limits<double>::epsilon();

void check_q(const std::vector<double>& p, const std::vector<double>& expected) {
    const std::vector<double> q = benjamini_hochberg(p);
    BOOST_REQUIRE_EQUAL(q.size(), expected.size());
    for (std::size_t i = 0; i < q.size(); ++i) {
        if (std::isnan(expected[i]))
            BOOST_CHECK(std::isnan(q[i]));
        else
            BOOST_CHECK_SMALL(q[i] - expected[i], two_roundings);
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stats_fdr)

BOOST_AUTO_TEST_CASE(an_undefined_p_leaves_its_family) {
    check_q({0.01, not_a_number, 0.02, 0.03}, {0.03, not_a_number, 0.03, 0.03});  // m = 3
    check_q({not_a_number, not_a_number}, {not_a_number, not_a_number});
    check_q({}, {});
}

BOOST_AUTO_TEST_CASE(step_up_takes_the_running_minimum_from_above) {
    check_q({0.04, 0.001, 0.03}, {0.04, 0.003, 0.04});    // 0.03 x 3/2 = 0.045 is above 0.04
    check_q({0.5, 0.5, 0.5, 0.5}, {0.5, 0.5, 0.5, 0.5});  // ties share the largest rank
    check_q({0.6, 0.9}, {0.9, 0.9});
    check_q({0, 1}, {0, 1});
    check_q({0.7}, {0.7});
}

// Example of Benjamini and Hochberg (1995), section 3.3: four of fifteen are rejected at 0.05, where
// Bonferroni rejects three.
BOOST_AUTO_TEST_CASE(the_example_of_the_paper) {
    const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                   0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    const Family family = summarise_family(p, 0.05, 0);
    BOOST_CHECK_EQUAL(family.tests, 15);
    BOOST_CHECK_EQUAL(family.undefined, 0);
    BOOST_CHECK_EQUAL(family.rejected, 4);
    const std::vector<double> q = benjamini_hochberg(p);
    for (std::size_t i = 0; i < p.size(); ++i) BOOST_CHECK_EQUAL(q[i] <= 0.05, i < 4);
}

// 2 eps past alpha would be no rejection: the largest p of any family must be its own q to the bit.
BOOST_AUTO_TEST_CASE(a_family_of_equal_p_at_alpha_is_rejected_at_every_m) {
    for (std::int64_t m = 1; m <= 500; ++m)
        BOOST_CHECK_EQUAL(summarise_family(std::vector<double>(m, 0.05), 0.05, 0).rejected, m);
}

BOOST_AUTO_TEST_CASE(input_order_does_not_matter) {
    const std::vector<double> p = {0.2, 0.01, not_a_number, 0.01, 0.04, 0.9};
    std::vector<std::size_t> order = {0, 1, 2, 3, 4, 5};
    const std::vector<double> q = benjamini_hochberg(p);
    do {
        std::vector<double> shuffled(p.size());
        for (std::size_t i = 0; i < p.size(); ++i) shuffled[i] = p[order[i]];
        const std::vector<double> answer = benjamini_hochberg(shuffled);
        for (std::size_t i = 0; i < p.size(); ++i)
            BOOST_CHECK(answer[i] == q[order[i]] || std::isnan(p[order[i]]));
    } while (std::ranges::next_permutation(order).found);
}

BOOST_AUTO_TEST_CASE(what_is_no_probability_is_refused) {
    for (const double p : {-0.01, 1.01, std::numeric_limits<double>::infinity()}) {
        BOOST_CHECK_EXCEPTION(benjamini_hochberg(std::vector{0.5, not_a_number, p}), InternalError,
                              says("p of test 2 is "));
        BOOST_CHECK_EXCEPTION(summarise_family(std::vector{p}, 0.05, 0), InternalError,
                              says("p of test 0 is "));
    }
    BOOST_CHECK_EXCEPTION(benjamini_hochberg(std::vector{1.01}), InternalError, says("is 1.01"));
    const std::vector<double> fine = {0.5};
    BOOST_CHECK_EXCEPTION(summarise_family(fine, 5, 0), InternalError, says("alpha 5, smallest p 0"));
    BOOST_CHECK_EXCEPTION(summarise_family(fine, 0.05, not_a_number), InternalError, says("smallest p nan"));
}

// A bootstrap of 1,000 gives no less than 2/1001; among 132 tests 2/1001 x 132/j is at most 0.05 from j
// = 5.27 on.
BOOST_AUTO_TEST_CASE(the_floor_of_a_test_says_how_many_must_sit_there) {
    const double floor = smallest_bootstrap_p(1000);
    std::vector<double> p(132, 0.6);
    for (int at = 0; at < 10; ++at) {
        const Family family = summarise_family(p, 0.05, floor);
        BOOST_CHECK_EQUAL(family.smallest_p, floor);
        BOOST_CHECK_EQUAL(family.at_smallest, at);
        BOOST_REQUIRE(family.needed.has_value());
        BOOST_CHECK_EQUAL(*family.needed, 6);
        BOOST_CHECK_EQUAL(family.rejected, at >= *family.needed ? at : 0);
        p[at] = floor;
    }
}

BOOST_AUTO_TEST_CASE(families_that_cannot_reject_and_those_without_a_floor) {
    BOOST_CHECK(
        !summarise_family(std::vector<double>(3, 0.5), 0.05, smallest_bootstrap_p(10)).needed);  // 2/11
    BOOST_CHECK_EQUAL(*summarise_family(std::vector<double>(100, 0.5), 0.05, 0).needed, 1);
    const Family empty = summarise_family(std::vector{not_a_number, not_a_number, not_a_number}, 0.05, 0);
    BOOST_CHECK_EQUAL(empty.tests, 0);
    BOOST_CHECK_EQUAL(empty.undefined, 3);
    BOOST_CHECK_EQUAL(empty.rejected, 0);
    BOOST_CHECK(!empty.needed);
}

BOOST_AUTO_TEST_SUITE_END()
