#pragma once

/// The one way from a picture to what an encoder sees.

#include <span>

#include "candor/embed/image.hpp"
#include "candor/embed/recipe.hpp"

namespace candor::embed {

/// Colour to grey as 0.299 red + 0.587 green + 0.114 blue, or grey to three equal channels; resize; the
/// middle (of an odd rest the half is rounded to even, as Python does); (value - mean) / std a channel.
/// `out`: channels x height x width planes.
void preprocess(const Image& image, const Preprocessing& how, std::span<float> out);

}  // namespace candor::embed
