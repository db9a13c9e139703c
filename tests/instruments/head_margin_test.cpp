#include "candor/instruments/head_margin.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/base/sum.hpp"

using namespace candor;
using namespace candor::instruments;

BOOST_AUTO_TEST_SUITE(instruments_head_margin)

BOOST_AUTO_TEST_CASE(the_margin_is_the_smaller_side_and_only_where_both_are_right) {
    BOOST_TEST(head_margin({3, -1, 0}, 1) == 2);
    BOOST_TEST(head_margin({3, -1, 0}, 2) == 1);
    BOOST_TEST(head_margin({3, -1, 0}, 4) == -1);  // x is missed
    BOOST_TEST(head_margin({3, 2, 0}, 1) == -1);   // x- is called positive
    BOOST_TEST(head_margin({1, 1, 1}, 1) == 0);    // equal rows have no margin at any threshold
    const std::vector<HeadCase> cases = {{3, -1, -1}, {0.5, -1, -1}, {3, 2, -1}};
    const HeadMargins margins = head_margins(cases, 1, 4);
    BOOST_TEST(margins.cases == 3);
    BOOST_TEST(margins.separated == 1);
    BOOST_TEST(margins.violations == 0);
    BOOST_TEST(margins.margin.median == 0.5);  // m = 2, L = 4
    BOOST_TEST(margins.cap1.median == 1);      // opposite rows
    BOOST_TEST(margins.share.median == 0.5);
}

// Rows (+-cos a, sin a) under w = (L, 0), t = 0: their difference lies along w, so that the head attains the
// cap.
BOOST_AUTO_TEST_CASE(a_head_may_attain_the_cap_and_a_halved_L_shows_violations) {
    std::vector<HeadCase> cases;
    constexpr double L = 7;
    for (int i = 1; i < 100; ++i) {
        const double c = std::cos(i * 0.0155), s = std::sin(i * 0.0155);
        cases.push_back({L * c, -L * c, s * s - c * c});
    }
    const HeadMargins right = head_margins(cases, 0, L);
    BOOST_TEST(right.separated == 99);
    BOOST_TEST(right.violations == 0);
    BOOST_CHECK_CLOSE(right.share.lower, 1, 1e-6);
    BOOST_CHECK_CLOSE(right.share.upper, 1, 1e-6);
    BOOST_TEST(head_margins(cases, 0, L / 2).violations == 99);
}

BOOST_AUTO_TEST_CASE(what_rounding_does_to_equal_rows_is_no_violation) {
    const double apart = 0x1p-24;  // of two roundings of one row, along w of length 1
    const std::vector<HeadCase> equal = {{apart / 2, -apart / 2, 1}, {apart / 2, -apart / 2, 1 + 1e-16}};
    const HeadMargins margins = head_margins(equal, 0, 1);
    BOOST_TEST(margins.separated == 2);
    BOOST_TEST(margins.violations == 0);
    BOOST_TEST(std::isnan(margins.share.median));
    const std::vector<HeadCase> far = {{1e-6, -1e-6, 1}};
    BOOST_TEST(head_margins(far, 0, 1).violations == 1);
}

BOOST_AUTO_TEST_CASE(no_case_no_slope_and_what_is_not_finite) {
    const HeadMargins none = head_margins({}, 0, 1);
    BOOST_TEST(none.cases == 0);
    BOOST_TEST(std::isnan(none.margin.median));
    const std::vector<HeadCase> fine = {{1, -1, 0}};
    const HeadMargins flat = head_margins(fine, 0, 0);  // impossible, so it shows
    BOOST_TEST(flat.violations == 1);
    BOOST_TEST(std::isnan(flat.margin.median));
    const double nan_value = std::nan("");
    BOOST_CHECK_THROW(head_margins(fine, nan_value, 1), InternalError);
    BOOST_CHECK_THROW(head_margins(fine, 0, nan_value), InternalError);
    BOOST_CHECK_THROW(head_margins(fine, 0, -1), InternalError);
    for (const HeadCase& bad :
         {HeadCase{nan_value, -1, 0}, HeadCase{1, nan_value, 0}, HeadCase{1, -1, nan_value}})
        BOOST_CHECK_THROW(head_margins(std::vector{bad}, 0, 1), InternalError);
}

BOOST_AUTO_TEST_SUITE_END()
