#include "candor/stats/student_t.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "says.hpp"

using namespace candor;
using namespace candor::stats;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

}  // namespace

BOOST_AUTO_TEST_SUITE(stats_student_t)

// 50-digit incomplete beta function. Boost's own error is some hundred eps; 1e-11 percent is 450.
BOOST_AUTO_TEST_CASE(p_is_that_of_the_incomplete_beta_function) {
    const struct {
        double t, degrees, p;
    } cases[] = {{2, 1, 0.295167235300866548351},          {1, 2, 0.422649730810374235491},
                 {2.5, 7, 0.0409922185857528968894},       {40, 30, 1.37260451944064027872e-27},
                 {1000, 100, 7.91961860794785190774e-202}, {1e-8, 5, 0.999999992407866203550},
                 {3, 0.5, 0.367308155985943448199},        {5, 199, 1.25473932525008816557e-6}};
    for (const auto& c : cases) {
        BOOST_CHECK_CLOSE(two_sided_t(c.t, c.degrees), c.p, 1e-11);
        BOOST_CHECK_EQUAL(two_sided_t(-c.t, c.degrees), two_sided_t(c.t, c.degrees));
    }
}

BOOST_AUTO_TEST_CASE(the_ends_are_exact) {
    BOOST_CHECK_EQUAL(two_sided_t(0, 9), 1);
    BOOST_CHECK_EQUAL(two_sided_t(infinite, 9), 0);
    BOOST_CHECK_EQUAL(two_sided_t(-infinite, 9), 0);
}

BOOST_AUTO_TEST_CASE(what_has_no_p_is_refused) {
    BOOST_CHECK_EXCEPTION(two_sided_t(std::nan(""), 9), InternalError, says("t nan with 9 degrees"));
    BOOST_CHECK_EXCEPTION(two_sided_t(1, 0), InternalError, says("t 1 with 0 degrees"));
    BOOST_CHECK_EXCEPTION(two_sided_t(1, infinite), InternalError, says("t 1 with inf degrees"));
    BOOST_CHECK_EXCEPTION(two_sided_t(1, std::nan("")), InternalError, says("t 1 with nan degrees"));
}

BOOST_AUTO_TEST_SUITE_END()
