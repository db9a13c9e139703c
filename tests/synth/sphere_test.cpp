#include "candor/synth/sphere.hpp"

#include <boost/math/special_functions/beta.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace candor;
using namespace candor::synth;

BOOST_AUTO_TEST_SUITE(synth_sphere)

BOOST_AUTO_TEST_CASE(in_three_dimensions_a_coordinate_is_uniform) {  // Archimedes
    const SphereCoordinate coordinate(3);
    for (const double tail : {1e-9, 1e-4, 0.01, 0.3, 0.5, 0.7, 0.999}) {
        BOOST_TEST(std::abs(coordinate.exceeded_with(tail) - (1 - 2 * tail)) < 1e-5, tail);
    }
}

BOOST_AUTO_TEST_CASE(quantiles_are_those_of_the_distribution) {
    for (const std::int64_t m : {10, 107}) {
        const SphereCoordinate coordinate(m);
        const double half = static_cast<double>(m - 1) / 2;
        for (const double tail : {1e-11, 3e-6, 2e-4, 0.013, 0.21, 0.49, 0.6, 0.95}) {
            // Exceeded by t: the regularised incomplete beta function, at a density of at most sqrt(m).
            const double t = coordinate.exceeded_with(tail);
            BOOST_TEST(boost::math::ibetac(half, half, (1 + t) / 2) == tail,
                       boost::test_tools::tolerance(1e-3));
        }
    }
}

BOOST_AUTO_TEST_CASE(the_largest_come_first_and_are_as_large_as_those_of_n_draws) {
    const SphereCoordinate coordinate(3);
    constexpr int n = 20, repeats = 20'000;
    double sum[n] = {};
    for (int r = 0; r < repeats; ++r) {
        Draws draws(Stream(7, "largest", static_cast<std::uint64_t>(r)));
        LargestFirst largest(coordinate, n);
        double before = 1;
        for (int i = 0; i < n; ++i) {
            const double t = largest.next(draws);
            BOOST_REQUIRE(t <= before);
            before = t;
            sum[i] += t;
        }
        BOOST_REQUIRE(largest.empty());
    }
    for (int i = 0; i < n; ++i) {
        // The i-th largest of n uniform numbers on (-1, 1) has the mean 1 - 2 i / (n + 1), i from 1; its
        // standard deviation is below 1/4, so the mean of 20,000 is within 5 standard errors of 0.0018.
        BOOST_TEST(std::abs(sum[i] / repeats - (1 - 2.0 * (i + 1) / (n + 1))) < 0.009, i);
    }
}

BOOST_AUTO_TEST_CASE(numbers_come_in_the_stream_s_order) {
    const Stream stream(1, "order", 5);
    Draws draws(stream);
    for (std::uint64_t i = 0; i < 7; ++i) BOOST_TEST(draws.uniform() == stream.uniform(i));
}

BOOST_AUTO_TEST_SUITE_END()
