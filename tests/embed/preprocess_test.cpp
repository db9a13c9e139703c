#include "candor/embed/preprocess.hpp"

#include <boost/test/unit_test.hpp>

using namespace candor::embed;

namespace {

std::vector<float> prepared(const Image& image, const Preprocessing& how) {
    std::vector<float> out(static_cast<std::size_t>(how.channels() * how.height * how.width));
    preprocess(image, how, out);
    return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(preprocess_picture)

BOOST_AUTO_TEST_CASE(grey_becomes_three_channels_each_with_its_own_scale) {
    const Image image{1, 2, 1, {0.5F, 1.0F}};
    const Preprocessing how{Colour::rgb, 1, 2, 0, Interpolation::bilinear, {0, 0.5, 1}, {1, 0.5, 2}};
    BOOST_TEST(prepared(image, how) == std::vector<float>({0.5F, 1, 0, 1, -0.25F, 0}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(colours_become_grey) {
    const Image image{1, 1, 3, {1.0F, 0.5F, 0.25F}};
    const Preprocessing how{Colour::grey, 1, 1, 0, Interpolation::bilinear, {0}, {1}};
    BOOST_TEST(prepared(image, how)[0] == static_cast<float>(0.299 + 0.587 * 0.5 + 0.114 * 0.25));
}

// 2 x 5 with its shorter side left at 2: of the rest of 3 the half, 1.5, is rounded to the even 2.
BOOST_AUTO_TEST_CASE(the_middle_begins_where_python_has_it) {
    const Image image{2, 5, 1, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}};
    const Preprocessing how{Colour::grey, 2, 2, 2, Interpolation::bilinear, {0}, {1}};
    BOOST_TEST(prepared(image, how) == std::vector<float>({2, 3, 7, 8}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
