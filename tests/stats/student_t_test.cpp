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

// 40-digit roots of the incomplete beta function (scipy's stdtrit is off by 1e-12), and closed forms:
// tan(pi confidence / 2) with 1 degree, confidence sqrt(2 / (1 - confidence^2)) with 2.
BOOST_AUTO_TEST_CASE(quantiles_turn_p_around) {
    const struct {
        double confidence, degrees, t;
    } cases[] = {{0.95, 1, 12.706204736174693314},   {0.95, 5, 2.5705818356363147828},
                 {0.95, 131, 1.9782385392303797612}, {0.99, 11, 3.1058065155392805093},
                 {0.5, 3, 0.76489232840434528066},   {0.9, 2.5, 2.5582186141359369146}};
    for (const auto& c : cases) {
        BOOST_CHECK_CLOSE(t_quantile(c.confidence, c.degrees), c.t, 1e-11);
        BOOST_CHECK_CLOSE(two_sided_t(c.t, c.degrees), 1 - c.confidence, 1e-11);
    }
    BOOST_CHECK_CLOSE(t_quantile(0.5, 1), 1, 1e-11);
    BOOST_CHECK_CLOSE(t_quantile(0.95, 2), 0.95 * std::sqrt(2 / (1 - 0.95 * 0.95)), 1e-11);
}

BOOST_AUTO_TEST_CASE(what_has_no_quantile_is_refused) {
    BOOST_CHECK_EXCEPTION(t_quantile(0, 9), InternalError, says("confidence 0 with 9 degrees"));
    BOOST_CHECK_EXCEPTION(t_quantile(1, 9), InternalError, says("confidence 1 with 9 degrees"));
    BOOST_CHECK_EXCEPTION(t_quantile(std::nan(""), 9), InternalError, says("confidence nan"));
    BOOST_CHECK_EXCEPTION(t_quantile(0.5, 0), InternalError, says("confidence 0.5 with 0 degrees"));
}

BOOST_AUTO_TEST_CASE(what_has_no_p_is_refused) {
    BOOST_CHECK_EXCEPTION(two_sided_t(std::nan(""), 9), InternalError, says("t nan with 9 degrees"));
    BOOST_CHECK_EXCEPTION(two_sided_t(1, 0), InternalError, says("t 1 with 0 degrees"));
    BOOST_CHECK_EXCEPTION(two_sided_t(1, infinite), InternalError, says("t 1 with inf degrees"));
    BOOST_CHECK_EXCEPTION(two_sided_t(1, std::nan("")), InternalError, says("t 1 with nan degrees"));
}

BOOST_AUTO_TEST_SUITE_END()
