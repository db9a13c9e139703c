#pragma once

/// A picture in memory.

#include <cstdint>
#include <span>
#include <vector>

namespace candor::embed {

/// `channels` planes (1: grey, 3: red, green, blue) of height x width numbers, row-major, 0 black and 1
/// white.
struct Image {
    std::int64_t height = 0, width = 0, channels = 0;
    std::vector<float> values;

    std::int64_t plane_size() const { return height * width; }
    std::span<float> plane(std::int64_t channel) {
        return std::span(values).subspan(static_cast<std::size_t>(channel * plane_size()),
                                         static_cast<std::size_t>(plane_size()));
    }
    std::span<const float> plane(std::int64_t channel) const {
        return std::span(values).subspan(static_cast<std::size_t>(channel * plane_size()),
                                         static_cast<std::size_t>(plane_size()));
    }
};

}  // namespace candor::embed
