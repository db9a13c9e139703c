#include "candor/embed/resize.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace candor::embed;

namespace {

std::vector<float> ramp(std::int64_t height, std::int64_t width) {
    std::vector<float> plane;
    for (std::int64_t i = 0; i < height * width; ++i)
        plane.push_back(static_cast<float>(i % width + 10 * (i / width)));
    return plane;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(resize_picture)

BOOST_AUTO_TEST_CASE(the_same_size_is_the_same_picture) {
    const std::vector<float> plane = ramp(3, 5);
    for (const Interpolation how : {Interpolation::bilinear, Interpolation::bicubic}) {
        const std::vector<double> out = resize(plane, 3, 5, 3, 5, how);
        BOOST_TEST(std::vector<float>(out.begin(), out.end()) == plane, boost::test_tools::per_element());
    }
}

// Halved, a number's triangle reaches over two on either side: 3/4 3/4 1/4 of what lies there at the edge,
// 1/8 3/8 3/8 1/8 inside.
BOOST_AUTO_TEST_CASE(halves_by_hand) {
    const std::vector<float> row{1, 2, 4, 8, 16, 32};
    const std::vector<double> out = resize(row, 1, 6, 1, 3, Interpolation::bilinear);
    BOOST_TEST(out[0] == (0.75 * 1 + 0.75 * 2 + 0.25 * 4) / 1.75, boost::test_tools::tolerance(1e-15));
    BOOST_TEST(out[1] == (2 + 3 * 4 + 3 * 8 + 16) / 8.0, boost::test_tools::tolerance(1e-15));
    BOOST_TEST(out[2] == (0.25 * 8 + 0.75 * 16 + 0.75 * 32) / 1.75, boost::test_tools::tolerance(1e-15));
}

// Weights add up to 1, and both kernels reproduce a straight line away from the edges. Rounding: fewer than
// 30 products of numbers below 700, twice.
BOOST_AUTO_TEST_CASE(lines_stay_lines) {
    const std::vector<float> plane = ramp(60, 40);
    for (const Interpolation how : {Interpolation::bilinear, Interpolation::bicubic}) {
        for (const std::int64_t size : {20, 100}) {
            const std::vector<double> out = resize(plane, 60, 40, size, size, how);
            const double down = 60.0 / static_cast<double>(size), across = 40.0 / static_cast<double>(size);
            for (std::int64_t y = size / 4; y < size - size / 4; ++y) {
                for (std::int64_t x = size / 4; x < size - size / 4; ++x) {
                    const double expected = (static_cast<double>(x) + 0.5) * across - 0.5 +
                                            10 * ((static_cast<double>(y) + 0.5) * down - 0.5);
                    // Sampled, a kernel that is stretched by no whole number is not symmetric about its
                    // centre.
                    const bool whole = std::floor(down) == down || down < 1;
                    if (!whole || (std::floor(across) != across && across >= 1)) continue;
                    BOOST_TEST(std::abs(out[static_cast<std::size_t>(y * size + x)] - expected) < 1e-11);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(grey_stays_grey) {
    const std::vector<float> plane(7 * 11, 0.3F);
    for (const double value : resize(plane, 7, 11, 4, 9, Interpolation::bicubic))
        BOOST_TEST(std::abs(value - static_cast<double>(0.3F)) < 1e-15);
}

BOOST_AUTO_TEST_SUITE_END()
