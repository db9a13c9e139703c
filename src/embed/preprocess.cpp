#include "candor/embed/preprocess.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/embed/resize.hpp"

namespace candor::embed {

namespace {

std::vector<float> grey_of(const Image& image) {
    std::vector<float> grey(static_cast<std::size_t>(image.plane_size()));
    const auto red = image.plane(0), green = image.plane(1), blue = image.plane(2);
    for (std::size_t i = 0; i < grey.size(); ++i) {
        grey[i] =
            static_cast<float>(0.299 * static_cast<double>(red[i]) + 0.587 * static_cast<double>(green[i]) +
                               0.114 * static_cast<double>(blue[i]));
    }
    return grey;
}

/// Where the middle begins.
std::int64_t start_of_middle(std::int64_t whole, std::int64_t part) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(whole - part) / 2));
}

/// The other side when the shorter one becomes `to`.
std::int64_t longer_side(std::int64_t to, std::int64_t longer, std::int64_t shorter) {
    return static_cast<std::int64_t>(static_cast<double>(to * longer) / static_cast<double>(shorter));
}

}  // namespace

void preprocess(const Image& image, const Preprocessing& how, std::span<float> out) {
    CANDOR_REQUIRE(std::ssize(out) == how.channels() * how.height * how.width, std::to_string(out.size()));
    std::int64_t height = how.height, width = how.width;
    if (how.shorter_side > 0) {
        const bool upright = image.width <= image.height;
        width = upright ? how.shorter_side : longer_side(how.shorter_side, image.width, image.height);
        height = upright ? longer_side(how.shorter_side, image.height, image.width) : how.shorter_side;
    }
    const std::int64_t top = start_of_middle(height, how.height), left = start_of_middle(width, how.width);
    const bool mix = image.channels == 3 && how.colour == Colour::grey;
    const std::vector<float> grey = mix ? grey_of(image) : std::vector<float>();
    const std::int64_t planes = mix ? 1 : image.channels;
    for (std::int64_t plane = 0; plane < planes; ++plane) {
        const std::vector<double> resized = resize(mix ? std::span(grey) : image.plane(plane), image.height,
                                                   image.width, height, width, how.interpolation);
        // A grey picture is all three channels, each with a mean and deviation of its own.
        const std::int64_t first = plane, last = planes == 1 ? how.channels() - 1 : plane;
        for (std::int64_t channel = first; channel <= last; ++channel) {
            const auto mean = static_cast<float>(how.mean[static_cast<std::size_t>(channel)]);
            const auto deviation = static_cast<float>(how.deviation[static_cast<std::size_t>(channel)]);
            float* to = out.data() + channel * how.height * how.width;
            for (std::int64_t y = 0; y < how.height; ++y) {
                const double* from = resized.data() + (top + y) * width + left;
                for (std::int64_t x = 0; x < how.width; ++x)
                    *to++ = (static_cast<float>(from[x]) - mean) / deviation;
            }
        }
    }
}

}  // namespace candor::embed
