#pragma once

/// Resizing with antialiasing, the same for every encoder.

#include <cstdint>
#include <span>
#include <vector>

#include "candor/embed/recipe.hpp"

namespace candor::embed {

/// A plane of in_height x in_width numbers, row-major, resized to height x width in double precision. Number
/// i of an output axis is the mean of the input numbers j within `support` of its centre c = (i + 1/2) s, s =
/// in / out, weighted by f((j + 1/2 - c) / max(s, 1)), f the triangle (support 1) or Keys' cubic with a =
/// -1/2 (support 2), and support widened by max(s, 1): the filters of Pillow and of PyTorch's antialiased
/// interpolation, without their rounding to 8 bits or to single precision. Source: R. Keys, Cubic convolution
/// interpolation for digital image processing, IEEE TASSP 29 (1981).
std::vector<double> resize(std::span<const float> plane, std::int64_t in_height, std::int64_t in_width,
                           std::int64_t height, std::int64_t width, Interpolation interpolation);

}  // namespace candor::embed
