#pragma once

/// An image without its evidence (METHODS 7, Eq. 4).

#include "candor/embed/image.hpp"
#include "candor/study/boxes.hpp"

namespace candor::embed {

/// `image` with every pixel that a rectangle of `region` touches set to the mean of the whole original image,
/// a channel at a time.
/// @throws DataError, without a place, where the image has another size than the boxes were drawn on.
Image erase(const Image& image, const study::Region& region);

}  // namespace candor::embed
