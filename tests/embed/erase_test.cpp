#include "candor/embed/erase.hpp"

#include <boost/test/unit_test.hpp>

#include "candor/base/error.hpp"

using namespace candor;
using namespace candor::embed;

BOOST_AUTO_TEST_SUITE(erase_boxes)

// Two overlapping boxes are one region; the mean is that of the whole original, not of what the first box
// left; each channel has its own. A box that reaches into a pixel takes it all.
BOOST_AUTO_TEST_CASE(a_region_gets_the_mean_of_the_original) {
    Image image{3, 4, 3, {}};
    for (int i = 0; i < 36; ++i) image.values.push_back(static_cast<float>(i % 12 + 100 * (i / 12)));
    const study::Region region{{{0, 0, 2, 2}, {1, 1, 2.25, 2}}, 4, 3};
    const Image erased = erase(image, region);
    for (std::int64_t c = 0; c < 3; ++c) {
        for (std::int64_t y = 0; y < 3; ++y) {
            for (std::int64_t x = 0; x < 4; ++x) {
                const bool inside = y < 2 && (x < 2 || (x == 2 && y == 1));
                const auto at = static_cast<std::size_t>(4 * y + x);
                BOOST_TEST(erased.plane(c)[at] ==
                           (inside ? 5.5F + static_cast<float>(100 * c) : image.plane(c)[at]));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(boxes_of_another_size_are_refused) {
    const Image image{2, 2, 1, {0, 1, 2, 3}};
    BOOST_CHECK_EXCEPTION(erase(image, {{{0, 0, 1, 1}}, 4, 2}), DataError, [](const DataError& error) {
        return error.fault() == "is 2 x 2 pixels, and its boxes are for 4 x 2";
    });
}

BOOST_AUTO_TEST_SUITE_END()
