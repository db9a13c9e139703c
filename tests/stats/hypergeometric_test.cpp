#include "candor/stats/hypergeometric.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "says.hpp"

using namespace candor;
using namespace candor::stats;

namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

/// Relative: the promise of the header, and 1e-15 for the last digit of an expected value.
constexpr double one_set = 1e-13, summed = 1e-11;

void check_relative(double value, double expected, double tolerance) {
    BOOST_TEST_CONTEXT(value << " for " << expected)
    BOOST_CHECK_LE(std::abs(value - expected), tolerance * std::abs(expected));
}

/// The tail of one hypergeometric, and of the sum that has it alone.
void check_tail(const Hypergeometric& null, std::int64_t overlap, double expected) {
    check_relative(log10_upper_tail(null, overlap), expected, one_set);
    check_relative(log10_upper_tail(std::span(&null, 1), overlap), expected, summed);
}

/// Six contexts of unequal size: 705 and 495 members of 2355, 148.15 expected in both.
std::vector<Hypergeometric> six_contexts() {
    std::vector<Hypergeometric> contexts;
    for (std::int64_t s = 0; s < 6; ++s) contexts.push_back({300 + 37 * s, 90 + 11 * s, 40 + 17 * s});
    return contexts;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stats_hypergeometric)

// Public faults of other tools: P(X > o) taken for P(X >= o) makes the first of these 0 and the second 1/42.
BOOST_AUTO_TEST_CASE(the_tail_includes_the_overlap_itself) {
    BOOST_CHECK_CLOSE(std::pow(10, log10_upper_tail({19275, 4, 2880}, 4)), 4.9753364e-04, 1e-5);
    check_tail({10, 4, 5}, 3, std::log10(11.0 / 42));
    check_tail({10, 4, 5}, 4, std::log10(1.0 / 42));
}

BOOST_AUTO_TEST_CASE(what_must_be_is_certain_and_what_cannot_be_is_impossible) {
    for (const Hypergeometric& null :
         {Hypergeometric{0, 0, 0}, {10, 0, 0}, {10, 0, 5}, {10, 4, 5}, {10, 10, 10}, {3000000000, 7, 9}}) {
        for (const double log_p : {log10_upper_tail(null, 0), log10_upper_tail(std::span(&null, 1), 0)}) {
            BOOST_CHECK_EQUAL(log_p, 0);
            BOOST_CHECK(!std::signbit(log_p));
        }
        const std::int64_t smaller = std::min(null.first, null.second);
        BOOST_CHECK_EQUAL(log10_upper_tail(null, smaller + 1), impossible);
        BOOST_CHECK_EQUAL(log10_upper_tail(std::span(&null, 1), smaller + 1), impossible);
    }
    // Sets of 8 and 7 among 10 share 5 at least.
    const Hypergeometric crowded{10, 8, 7};
    BOOST_CHECK_EQUAL(log10_upper_tail(crowded, 5), 0);
    BOOST_CHECK_EQUAL(log10_upper_tail(std::span(&crowded, 1), 5), 0);
    check_tail(crowded, 6, std::log10(1 - 56.0 / 120));  // 5: C(8,5) C(2,2) of C(10,7)
    check_tail(crowded, 7, std::log10(8.0 / 120));
    BOOST_CHECK_EQUAL(log10_upper_tail(std::span<const Hypergeometric>{}, 0), 0);
    BOOST_CHECK_EQUAL(log10_upper_tail(std::span<const Hypergeometric>{}, 1), impossible);
}

// 60-digit arithmetic: ratios of terms summed until 1e-45, the first term by log-gamma.
BOOST_AUTO_TEST_CASE(far_tails_keep_their_digits) {
    check_tail({22142, 9000, 9000}, 7000, -1993.32111011169279439);
    check_tail({200000, 40000, 40000}, 20000, -5244.73120827249551478);
    check_tail({1000, 10, 10}, 1, -1.01758606748700664591);
    check_tail({3000000000, 3, 5}, 1, -8.30102999624304050480);
    check_tail({3000000000, 3, 5}, 3, -26.6532125133410491974);
    check_tail({3000000000, 2999999997, 2999999998}, 2999999996, -8.69897000448078363215);
    check_tail({3000000000, 2999999997, 2999999998}, 2999999997, -18.1760912589109164148);
}

BOOST_AUTO_TEST_CASE(a_thousand_million_members_keep_their_digits) {
    const Hypergeometric half{1000000000, 500000000, 500000000};
    check_relative(log10_upper_tail(half, 250000000), -0.301008080566311457853, one_set);
    check_relative(log10_upper_tail(half, 250000001), -0.301051911867572749163, one_set);
    check_relative(log10_upper_tail(half, 250008000), -0.807429318268752612365, one_set);
    check_relative(log10_upper_tail(half, 250100000), -36.2470330055855403853, one_set);
    check_relative(log10_upper_tail(half, 400000000), -83707988.4655134968487, one_set);
    check_relative(log10_upper_tail({1000000000, 100000000, 100000000}, 100000000), -141181737.128396423604,
                   one_set);
    check_relative(log10_upper_tail({1000000000, 300000000, 1000000}, 297500), -1.01387094879022512279e-8,
                   one_set);
}

BOOST_AUTO_TEST_CASE(a_p_near_1_keeps_the_digits_of_its_complement) {
    check_tail({50000, 5000, 5000}, 300, -6.05555985812001368149e-27);
    check_tail({50000, 5000, 5000}, 200, -1.41630224621537554466e-62);
    check_tail({50000, 5000, 5000}, 1, -7.35955692139520783860e-243);
    // Above the mean all the same: one draw from all but one.
    check_tail({1000000000, 999999999, 1}, 1, -4.34294482120399068748e-10);
}

BOOST_AUTO_TEST_CASE(the_mean_jaccard_of_chance_is_exact) {
    BOOST_CHECK_CLOSE(mean_jaccard({10, 4, 5}), 1787.0 / 5880, 1e-12);
    BOOST_CHECK_EQUAL(mean_jaccard({10, 10, 10}), 1);
    BOOST_CHECK_EQUAL(mean_jaccard({10, 0, 5}), 0);
    BOOST_CHECK(std::isnan(mean_jaccard({10, 0, 0})));
    BOOST_CHECK(std::isnan(mean_jaccard({0, 0, 0})));
    BOOST_CHECK(std::isnan(mean_jaccard(std::span<const Hypergeometric>{})));
    check_relative(mean_jaccard({27000, 9000, 12000}), 0.235300450398877746929, 1e-12);
    check_relative(mean_jaccard({27000, 3, 26999}), 0.000111111110806268240083, 1e-12);
    check_relative(mean_jaccard({22142, 9000, 9000}), 0.255080985048512123579, 1e-12);
}

// Integers convolved without rounding.
BOOST_AUTO_TEST_CASE(the_sum_over_contexts_is_their_convolution) {
    const std::vector<Hypergeometric> contexts = six_contexts();
    const struct {
        std::int64_t overlap;
        double log10_p;
    } cases[] = {{40, -2.00501389062713574652e-40}, {100, -6.32903153354879091524e-9},
                 {140, -0.0802771970165919054390},  {166, -1.55502198443176914933},
                 {167, -1.66625870846377423504},    {168, -1.78200569935781639223},
                 {200, -7.94232069180023876188},    {300, -58.6323648534961754747},
                 {400, -162.019503530731254975},    {494, -342.921437164763020132},
                 {495, -346.623502081893524239}};
    for (const auto& c : cases) check_relative(log10_upper_tail(contexts, c.overlap), c.log10_p, summed);
    BOOST_CHECK_EQUAL(log10_upper_tail(contexts, 496), impossible);
    check_relative(mean_jaccard(contexts), 0.140932960013214731248, 1e-12);
}

// Two contexts of one draw each are two coins: 1/4, 1/2, 1/4.
BOOST_AUTO_TEST_CASE(contexts_add_up_by_hand) {
    const std::vector<Hypergeometric> coins(2, {2, 1, 1});
    check_relative(log10_upper_tail(coins, 1), std::log10(0.75), summed);
    check_relative(log10_upper_tail(coins, 2), std::log10(0.25), summed);
    check_relative(mean_jaccard(coins), 0.5 / 3 + 0.25, 1e-12);  // J is 0, 1/3, 1
    // A context where nobody is blind, or everybody, adds nothing but its certain overlap.
    const std::vector<Hypergeometric> more = {{2, 1, 1}, {500, 0, 7}, {2, 1, 1}, {3, 3, 3}, {0, 0, 0}};
    check_relative(log10_upper_tail(more, 4), std::log10(0.75), summed);
    BOOST_CHECK_EQUAL(log10_upper_tail(more, 3), 0);
}

// A thousand coins of three thousand million sides, which takes tilts near the bound: their tail is that of
// a binomial, m ln(1e9/3) + ln C(1000, m) and less than m/1e6 beside it; exactly C(1000, 999) p^999 for all
// but one.
BOOST_AUTO_TEST_CASE(steep_tilts_are_found) {
    const std::vector<Hypergeometric> rare(1000, {3000000000, 1, 1});
    const double log_p = -std::log10(3e9);
    check_relative(log10_upper_tail(rare, 999), 3 + 999 * log_p, summed);
    check_relative(log10_upper_tail(rare, 1000), 1000 * log_p, summed);
    check_relative(log10_upper_tail(rare, 2), std::log10(999 * 500) + 2 * log_p, 1e-6);
}

BOOST_AUTO_TEST_CASE(sets_larger_than_their_population_are_refused) {
    BOOST_CHECK_EXCEPTION(log10_upper_tail({10, 11, 5}, 3), InternalError, says("sets of 11 and 5 among 10"));
    BOOST_CHECK_EXCEPTION(log10_upper_tail({10, 4, -1}, 0), InternalError, says("sets of 4 and -1 among 10"));
    BOOST_CHECK_EXCEPTION(log10_upper_tail({3000000001, 4, 5}, 0), InternalError,
                          says("sets of 4 and 5 among 3000000001"));
    BOOST_CHECK_EXCEPTION(log10_upper_tail({10, 4, 5}, -1), InternalError, says("overlap -1"));
    BOOST_CHECK_EXCEPTION(mean_jaccard({10, 4, 12}), InternalError, says("sets of 4 and 12 among 10"));
    const std::vector<Hypergeometric> second_wrong = {{10, 4, 5}, {2, 3, 1}};
    BOOST_CHECK_EXCEPTION(log10_upper_tail(second_wrong, 2), InternalError, says("sets of 3 and 1 among 2"));
    BOOST_CHECK_EXCEPTION(log10_upper_tail(second_wrong, -2), InternalError, says("overlap -2"));
    BOOST_CHECK_EXCEPTION(mean_jaccard(second_wrong), InternalError, says("sets of 3 and 1 among 2"));
}

BOOST_AUTO_TEST_SUITE_END()
