#include "candor/embed/erase.hpp"

#include <algorithm>
#include <cmath>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"

namespace candor::embed {

Image erase(const Image& image, const study::Region& region) {
    if (region.image_width != static_cast<double>(image.width) ||
        region.image_height != static_cast<double>(image.height)) {
        throw DataError({},
                        "is " + std::to_string(image.width) + " x " + std::to_string(image.height) +
                            " pixels, and its boxes are for " + format_real(region.image_width) + " x " +
                            format_real(region.image_height),
                        "draw the boxes on the images that are embedded");
    }
    Image erased = image;
    for (std::int64_t channel = 0; channel < image.channels; ++channel) {
        double sum = 0;
        for (const float value : image.plane(channel)) sum += static_cast<double>(value);
        const auto mean = static_cast<float>(sum / static_cast<double>(image.plane_size()));
        const auto plane = erased.plane(channel);
        for (const study::Rectangle& box : region.rectangles) {
            const auto left = static_cast<std::int64_t>(std::floor(box.left));
            const auto right = static_cast<std::int64_t>(std::ceil(box.right));
            const auto bottom = static_cast<std::int64_t>(std::ceil(box.bottom));
            for (auto y = static_cast<std::int64_t>(std::floor(box.top)); y < bottom; ++y) {
                const auto row = plane.subspan(static_cast<std::size_t>(y * image.width),
                                               static_cast<std::size_t>(image.width));
                std::fill(row.begin() + left, row.begin() + right, mean);
            }
        }
    }
    return erased;
}

}  // namespace candor::embed
