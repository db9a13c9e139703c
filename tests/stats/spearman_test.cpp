#include "candor/stats/spearman.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "says.hpp"

using namespace candor;
using namespace candor::stats;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

std::vector<double> one_to(std::size_t n) {
    std::vector<double> values(n);
    std::iota(values.begin(), values.end(), 1.0);
    return values;
}

void check_undefined(const std::vector<double>& x, const std::vector<double>& y, std::int64_t n,
                     std::string_view why) {
    const Spearman s = spearman(x, y);
    BOOST_CHECK_EQUAL(s.n, n);
    BOOST_CHECK(std::isnan(s.rho) && std::isnan(s.p) && std::isnan(s.exact_p));
    BOOST_CHECK_EQUAL(s.undefined, why);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stats_spearman)

// A public fault of other tools: the shortcut without ties gives 0.95 and worse. rho = 3 / sqrt(10); 4 of the
// 24 orders reach it, 3 (the tie exchanged and not) forwards and backwards.
BOOST_AUTO_TEST_CASE(ties_share_their_mean_rank) {
    const Spearman s = spearman(std::vector<double>{1, 2, 2, 4}, std::vector<double>{1, 2, 3, 4});
    BOOST_CHECK_EQUAL(s.n, 4);
    BOOST_CHECK_CLOSE(s.rho, 3 / std::sqrt(10.0), 1e-13);
    BOOST_CHECK_CLOSE(s.p, 0.0513167019494862004003, 1e-11);
    BOOST_CHECK_EQUAL(s.exact_p, 4.0 / 24);
    BOOST_CHECK_EQUAL(s.undefined, "");
}

BOOST_AUTO_TEST_CASE(a_perfect_correlation_is_exactly_1) {
    const Spearman tied = spearman(std::vector<double>{2, 1, 1, 1, 1}, std::vector<double>{1, 2, 2, 2, 2});
    BOOST_CHECK_EQUAL(tied.rho, -1);
    BOOST_CHECK_EQUAL(tied.p, 0);
    BOOST_CHECK_EQUAL(tied.exact_p, 24.0 / 120);  // wherever the odd one is, in 4! orders
    for (const std::size_t n : {3, 7, 10, 11, 1000, 100003}) {
        const std::vector<double> x = one_to(n);
        const std::vector<double> y(x.rbegin(), x.rend());
        BOOST_CHECK_EQUAL(spearman(x, x).rho, 1);
        BOOST_CHECK_EQUAL(spearman(x, x).p, 0);
        BOOST_CHECK_EQUAL(spearman(x, y).rho, -1);
        BOOST_CHECK_EQUAL(spearman(x, y).p, 0);
    }
    BOOST_CHECK_EQUAL(spearman(one_to(3), one_to(3)).exact_p, 2.0 / 6);
    BOOST_CHECK_EQUAL(spearman(one_to(10), one_to(10)).exact_p, 2.0 / 3628800);
    BOOST_CHECK(std::isnan(spearman(one_to(11), one_to(11)).exact_p));
}

// The paper's scale. Without ties rho = 1 - 6 sum d^2 / (n (n^2 - 1)): sums of 32, 392 and 78. p by 50-digit
// incomplete beta functions.
BOOST_AUTO_TEST_CASE(the_p_of_the_paper) {
    const Spearman with_rate = spearman(one_to(11), std::vector<double>{1, 2, 7, 4, 5, 6, 3, 8, 9, 10, 11});
    BOOST_CHECK_CLOSE(with_rate.rho, 1 - 6.0 * 32 / 1320, 1e-13);  // 0.8545
    BOOST_CHECK_CLOSE(with_rate.p, 0.000806674152164899524455, 1e-10);
    const Spearman with_auroc = spearman(one_to(11), std::vector<double>{11, 10, 7, 8, 5, 6, 2, 9, 4, 1, 3});
    BOOST_CHECK_CLOSE(with_auroc.rho, 1 - 6.0 * 392 / 1320, 1e-13);  // -0.7818
    BOOST_CHECK_CLOSE(with_auroc.p, 0.00447316225278304082838, 1e-10);
    const Spearman with_size = spearman(one_to(10), std::vector<double>{7, 2, 4, 1, 5, 8, 6, 3, 10, 9});
    BOOST_CHECK_CLOSE(with_size.rho, 1 - 6.0 * 78 / 990, 1e-13);  // 0.5273
    BOOST_CHECK_CLOSE(with_size.p, 0.117308065550202233049, 1e-10);
}

// One exchange in 100 ranks: rho = 1 - 12 / 999900, whose distance from 1 a double holds to 1e-11 only.
BOOST_AUTO_TEST_CASE(p_of_a_rho_close_to_1_keeps_its_digits) {
    std::vector<double> y = one_to(100);
    std::swap(y[41], y[42]);
    BOOST_CHECK_CLOSE(spearman(one_to(100), y).p, 3.44806587291915398620e-228, 1e-10);
}

// Counted by brute force elsewhere.
BOOST_AUTO_TEST_CASE(all_orders_are_counted) {
    const auto exact = [](std::vector<double> x, std::vector<double> y) { return spearman(x, y).exact_p; };
    BOOST_CHECK_EQUAL(exact({1, 2, 3}, {1, 3, 2}), 1);
    BOOST_CHECK_EQUAL(exact(one_to(7), {2, 1, 4, 3, 6, 5, 7}), 62.0 / 5040);
    BOOST_CHECK_EQUAL(exact({1, 1, 2, 2, 3, 3, 4}, {1, 2, 2, 3, 3, 4, 4}), 88.0 / 5040);
}

BOOST_AUTO_TEST_CASE(pairs_with_a_missing_half_are_dropped) {
    const Spearman s = spearman(std::vector<double>{1, not_a_number, 2, 2, 9, 4},
                                std::vector<double>{1, 7, 2, 3, not_a_number, 4});
    BOOST_CHECK_EQUAL(s.n, 4);
    BOOST_CHECK_CLOSE(s.rho, 3 / std::sqrt(10.0), 1e-13);
}

BOOST_AUTO_TEST_CASE(only_the_order_matters) {
    BOOST_CHECK_EQUAL(spearman(std::vector<double>{-infinite, 0, 1e-300, infinite}, one_to(4)).rho, 1);
    BOOST_CHECK_EQUAL(
        spearman(std::vector<double>{infinite, infinite, -0.0, 0.0}, std::vector<double>{2, 2, 1, 1}).rho, 1);
}

BOOST_AUTO_TEST_CASE(what_has_no_correlation_says_why) {
    check_undefined({}, {}, 0, "fewer than 3 pairs");
    check_undefined({1, 2}, {2, 3}, 2, "fewer than 3 pairs");
    check_undefined({1, 2, not_a_number}, {2, 3, 4}, 2, "fewer than 3 pairs");
    check_undefined({5, 5, 5}, {1, 2, 3}, 3, "the first values are all equal");
    check_undefined({1, 2, 3, 4}, {7, 7, 7, not_a_number}, 3, "the second values are all equal");
    BOOST_CHECK_EXCEPTION(spearman(one_to(3), one_to(4)), InternalError, says("3 values against 4"));
    BOOST_CHECK_EXCEPTION(spearman(one_to(2000001), one_to(2000001)), InternalError, says("2000001 pairs"));
}

BOOST_AUTO_TEST_SUITE_END()
