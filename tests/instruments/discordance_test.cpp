#include "candor/instruments/discordance.hpp"

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "candor/base/random.hpp"

using namespace candor;
using instruments::Discordance;
using instruments::discordance;
using instruments::margin_cap;
using neighbors::Neighbor;

namespace {

std::vector<Neighbor> cosines(std::vector<double> values) {
    std::vector<Neighbor> out;
    for (std::size_t i = 0; i < values.size(); ++i) out.push_back({values[i], static_cast<std::int64_t>(i)});
    return out;
}

using Vector = std::vector<double>;

double inner(const Vector& a, const Vector& b) {
    double sum = 0;
    for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
    return sum;
}

Vector unit_vector(const Stream& stream, std::uint64_t& next, std::size_t dimension) {
    Vector v(dimension);
    for (double& x : v) {
        x = -6;
        for (int i = 0; i < 12; ++i) x += stream.uniform(next++);
    }
    const double length = std::sqrt(inner(v, v));
    for (double& x : v) x /= length;
    return v;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_discordance)

BOOST_AUTO_TEST_CASE(the_margin_is_the_difference_of_the_mean_cosines) {
    // Halves and quarters: exact.
    const Discordance d = discordance(cosines({0.75, 0.5, 0.25, 0.0}), cosines({1, 0.5, 0.25, 0.25}));
    BOOST_TEST(d.c_pos == 0.375);
    BOOST_TEST(d.c_neg == 0.5);
    BOOST_TEST(d.s1 == 1);
    BOOST_TEST(d.margin() == 0.125);
    BOOST_TEST(discordance(cosines({-0.5}), cosines({-0.75})).margin() == -0.25);
}

BOOST_AUTO_TEST_CASE(equal_neighbours_tie_exactly) {
    const Discordance d = discordance(cosines({0.3, 0.1, 0.1}), cosines({0.3, 0.1, 0.1}));
    BOOST_TEST(d.margin() == 0);
}

BOOST_AUTO_TEST_CASE(sums_run_from_the_largest_cosine_on) {
    // In this order 1 + 2^-53 + 2^-53 rounds to 1 twice; the other way it would not.
    const double tiny = 0x1p-53;
    const Discordance d = discordance(cosines({1, tiny, tiny}), cosines({1, tiny, tiny}));
    BOOST_TEST(std::bit_cast<std::uint64_t>(d.c_pos) == std::bit_cast<std::uint64_t>(1.0 / 3));
    BOOST_TEST((tiny + tiny + 1.0) / 3 != 1.0 / 3);
}

BOOST_AUTO_TEST_CASE(the_cap_is_half_the_distance_of_unit_vectors) {
    BOOST_TEST(margin_cap(1) == 0);
    BOOST_TEST(margin_cap(0.5) == 0.5);
    BOOST_TEST(margin_cap(-1) == 1);
    BOOST_TEST(margin_cap(0) == std::sqrt(0.5), boost::test_tools::tolerance(1e-15));
    BOOST_TEST(margin_cap(1 + 1e-15) == 0);  // a cosine that rounding took past 1 gives no NaN
}

// Corollary 1 on linear heads: for z(y) = <w, y> and any threshold, min(z(x) - t, t - z(x-)) <= |w| cap1 <=
// |w| cap.
BOOST_AUTO_TEST_CASE(no_linear_head_passes_the_cap_and_one_that_is_as_good_as_can_be_reaches_it) {
    const Stream stream(11, "cap", 0);
    std::uint64_t next = 0;
    int beyond_half = 0, tries = 0;
    for (int round = 0; round < 300; ++round) {
        const Vector x = unit_vector(stream, next, 5);
        std::vector<Vector> negatives;
        std::vector<double> c;
        for (int i = 0; i < 3; ++i) negatives.push_back(unit_vector(stream, next, 5));
        for (const Vector& y : negatives) c.push_back(inner(x, y));
        const auto nearest = static_cast<std::size_t>(std::ranges::max_element(c) - c.begin());
        std::vector<double> falling = c;
        std::ranges::sort(falling, std::greater<>());
        const Discordance d = discordance(cosines({-1, -1, -1}), cosines(falling));
        const double cap1 = margin_cap(d.s1), cap = margin_cap(d.c_neg);
        BOOST_TEST(cap1 <= cap);

        Vector apart(5);
        for (std::size_t j = 0; j < 5; ++j) apart[j] = x[j] - negatives[nearest][j];
        for (const bool best : {false, true}) {
            const Vector w = best ? apart : unit_vector(stream, next, 5);
            const double zx = inner(w, x), zy = inner(w, negatives[nearest]), length = std::sqrt(inner(w, w));
            const double t = best ? (zx + zy) / 2 : stream.uniform(next++) * 2 - 1;
            const double reached = std::min(zx - t, t - zy) / length;
            BOOST_TEST(reached <= cap1 + 1e-14);
            if (best) BOOST_TEST(std::abs(reached - cap1) < 1e-12);
            ++tries;
            beyond_half +=
                reached > cap1 / 2;  // what a Lipschitz constant twice too small would call a violation
        }
    }
    BOOST_TEST(beyond_half > tries / 4);
}

BOOST_AUTO_TEST_SUITE_END()
