#include <boost/test/unit_test.hpp>
#include <cmath>

#include "candor/base/random.hpp"
#include "candor/embed/encoder.hpp"
#include "candor/linalg/gemm.hpp"

using namespace candor;
using namespace candor::embed;

namespace {

EncoderRecipe recipe(Kind kind, std::int64_t grid) {
    EncoderRecipe one;
    one.kind = kind;
    one.grid = grid;
    one.preprocessing.colour = Colour::grey;
    return one;
}

Batch batch(std::int64_t images, std::int64_t channels, std::int64_t height, std::int64_t width) {
    Batch made{images, channels, height, width, {}};
    const Stream stream(7, "test/embed", 0);
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(images * made.image_size()); ++i)
        made.values.push_back(static_cast<float>(stream.uniform(i)) - 0.3F);
    return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(built_in_encoders)

BOOST_AUTO_TEST_CASE(pixels_are_the_image) {
    const Batch images = batch(2, 3, 4, 5);
    const Matrix<float> rows = built_in_encoder(recipe(Kind::pixels, 1))->encode(images);
    BOOST_REQUIRE(rows.cols() == 60);
    for (std::int64_t i = 0; i < 2; ++i) BOOST_TEST(std::ranges::equal(rows.row(i), images.image(i)));
}

// 5 columns in two cells: columns 0 to 2, and 3 and 4.
BOOST_AUTO_TEST_CASE(patch_means_by_hand) {
    Batch image{1, 1, 2, 5, {1, 2, 3, 4, 6, 7, 8, 9, 10, 12}};
    const Matrix<float> rows = built_in_encoder(recipe(Kind::patch_means, 2))->encode(image);
    BOOST_TEST(std::ranges::equal(rows.row(0), std::vector<float>{2, 5, 8, 11}));
}

// A slope of 2 to the right and none down lies wholly in the first direction; one of 3 down in the middle
// one; a slope halfway between two directions is shared by them.
BOOST_AUTO_TEST_CASE(gradients_of_slopes) {
    const auto encode = [](double down, double right) {
        Batch image{1, 1, 6, 6, {}};
        for (int i = 0; i < 36; ++i)
            image.values.push_back(static_cast<float>(down * (i / 6) + right * (i % 6)));
        EncoderRecipe how = recipe(Kind::gradients, 1);
        how.bins = 4;
        const Matrix<float> rows = built_in_encoder(how)->encode(image);
        return std::vector<float>(rows.row(0).begin(), rows.row(0).end());
    };
    BOOST_TEST(encode(0, 2) == std::vector<float>({2, 0, 0, 0}), boost::test_tools::per_element());
    BOOST_TEST(encode(0, -2) == std::vector<float>({2, 0, 0, 0}), boost::test_tools::per_element());
    BOOST_TEST(encode(3, 0) == std::vector<float>({0, 0, 3, 0}), boost::test_tools::per_element());
    const std::vector<float> between = encode(std::tan(std::acos(-1.0) / 8), 1);  // 22.5 degrees of 45
    BOOST_TEST(std::abs(between[0] - between[1]) < 1e-5F);
    BOOST_TEST(between[2] + between[3] == 0);
}

// Against plain loops in double. Three layers of 9 x 64 products of numbers of order 1 in single precision:
// each has an error of at most (576 + 3) 2^-24 of the sum of magnitudes, about 4e-5 of them a layer, and
// means only gain.
BOOST_AUTO_TEST_CASE(random_convolution_against_loops) {
    linalg::open_blas();
    EncoderRecipe how = recipe(Kind::random_convolution, 2);
    how.channels = 8;
    how.layers = 2;
    how.seed = 3;
    how.preprocessing.colour = Colour::rgb;
    const Batch images = batch(2, 3, 7, 9);
    const Matrix<float> rows = built_in_encoder(how)->encode(images);
    BOOST_REQUIRE(rows.cols() == 32);
    for (std::int64_t n = 0; n < 2; ++n) {
        std::int64_t height = 7, width = 9, channels = 3;
        std::vector<double> map(images.image(n).begin(), images.image(n).end());
        for (std::uint64_t layer = 0; layer < 2; ++layer) {
            const Stream stream(3, "embed/random-convolution", layer);
            const std::int64_t to_height = (height + 1) / 2, to_width = (width + 1) / 2;
            const double bound = std::sqrt(6.0 / static_cast<double>(9 * channels));
            std::vector<double> next(static_cast<std::size_t>(8 * to_height * to_width));
            for (std::int64_t o = 0; o < 8; ++o) {
                for (std::int64_t y = 0; y < to_height; ++y) {
                    for (std::int64_t x = 0; x < to_width; ++x) {
                        double sum = 0;
                        for (std::int64_t k = 0; k < 9; ++k) {
                            const std::int64_t r = 2 * y + k / 3 - 1, c = 2 * x + k % 3 - 1;
                            if (r < 0 || r >= height || c < 0 || c >= width) continue;
                            for (std::int64_t i = 0; i < channels; ++i) {
                                const auto weight =
                                    static_cast<std::uint64_t>(o * 9 * channels + k * channels + i);
                                sum += bound * (2 * stream.uniform(weight) - 1) *
                                       map[static_cast<std::size_t>((i * height + r) * width + c)];
                            }
                        }
                        next[static_cast<std::size_t>((o * to_height + y) * to_width + x)] =
                            std::max(sum, 0.0);
                    }
                }
            }
            map = next;
            height = to_height;
            width = to_width;
            channels = 8;
        }
        BOOST_REQUIRE(height == 2);
        BOOST_REQUIRE(width == 3);
        for (std::int64_t o = 0; o < 8; ++o) {
            for (std::int64_t y = 0; y < 2; ++y) {
                const double* const row = map.data() + (o * 2 + y) * 3;
                BOOST_TEST(std::abs(rows.row(n)[static_cast<std::size_t>(16 * y + o)] -
                                    (row[0] + row[1]) / 2) < 1e-5);
                BOOST_TEST(std::abs(rows.row(n)[static_cast<std::size_t>(16 * y + 8 + o)] - row[2]) < 1e-5);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
