#include "candor/instruments/operating_point.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"

using namespace candor;
using namespace candor::instruments;

namespace {

OperatingPoint of(const std::vector<double>& z, double sensitivity = 0.8) {
    return operating_point(z, sensitivity).value();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_operating_point)

BOOST_AUTO_TEST_CASE(the_largest_threshold_that_finds_enough) {
    const OperatingPoint point = of({3, -1, 5, 2, 4});
    BOOST_TEST(point.threshold == 2);  // 4 of 5 are 0.8, not less
    BOOST_TEST(point.found == 4);
    BOOST_TEST(point.positives == 5);
    BOOST_TEST(point.sensitivity() == 0.8);
    BOOST_TEST(of({1, 2, 3}).threshold == 1);  // 2 of 3 are too few
    BOOST_TEST(of({7}).threshold == 7);
    BOOST_TEST(of({3, 1, 2}, 1).threshold == 1);
    BOOST_TEST(of({3, 1, 2}, 1e-9).threshold == 3);
}

BOOST_AUTO_TEST_CASE(positives_that_tie_are_found_together) {
    const OperatingPoint point = of({5, 1, 1, 1, 1, 1, 1, 0, 0, 0}, 0.2);
    BOOST_TEST(point.threshold == 1);
    BOOST_TEST(point.found == 7);
    BOOST_TEST(point.sensitivity() == 0.7);
    BOOST_TEST(of({2, 2, 2}).found == 3);
    BOOST_TEST(of({0.0, -0.0, -1}, 0.5).found == 2);  // both zeros are one value
}

// Faults 19: with ties a sensitivity of 0.8 may be out of reach; the one that is reached is told.
BOOST_AUTO_TEST_CASE(no_point_is_told_that_no_threshold_reaches) {
    const OperatingPoint reached = of({0.9, 0.8, 0.7, 0.7, 0.1});
    BOOST_TEST(reached.threshold == 0.7);
    BOOST_TEST(reached.sensitivity() == 0.8);
    const OperatingPoint beyond = of({0.9, 0.7, 0.7, 0.7, 0.7});
    BOOST_TEST(beyond.threshold == 0.7);
    BOOST_TEST(beyond.sensitivity() == 1);
}

// The definition itself, over every value that could be the threshold.
BOOST_AUTO_TEST_CASE(agrees_with_trying_every_threshold) {
    const Stream stream(5, "operating point", 0);
    std::uint64_t next = 0;
    for (int trial = 0; trial < 500; ++trial) {
        std::vector<double> z(1 + stream.below(next++, 40));
        for (double& value : z) value = static_cast<double>(stream.below(next++, 12));
        const double sensitivity = static_cast<double>(1 + stream.below(next++, 20)) / 20;
        double best = -1;
        for (double t = 0; t < 12; ++t) {
            const auto found = std::ranges::count_if(z, [&](double value) { return value >= t; });
            const bool attained = std::ranges::find(z, t) != z.end();
            if (attained && static_cast<double>(found) / static_cast<double>(z.size()) >= sensitivity)
                best = t;
        }
        const OperatingPoint point = of(z, sensitivity);
        BOOST_TEST(point.threshold == best);
        BOOST_TEST(point.found == std::ranges::count_if(z, [&](double value) { return value >= best; }));
    }
}

BOOST_AUTO_TEST_CASE(undefined_without_positives_and_refused_where_not_finite) {
    BOOST_TEST(!operating_point({}, 0.8).has_value());
    for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL})
        BOOST_CHECK_THROW(of({1, bad, 2}), InternalError);
    for (const double bad : {0.0, -0.1, 1.1, std::nan("")}) BOOST_CHECK_THROW(of({1, 2}, bad), InternalError);
}

BOOST_AUTO_TEST_SUITE_END()
