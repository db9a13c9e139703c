#pragma once

/// Pictures out of files of one picture each. In a build with -DCANDOR_WITH_EMBED=ON by OpenCV and GDCM; in
/// any other a function that says so.

#include <string>

#include "candor/embed/image.hpp"

namespace candor::embed {

/// Reads a PNG, JPEG or TIFF of 8 or 16 bits a channel, as it is stored (no orientation tag is followed), or
/// a DICOM file; what it is, is told by its first bytes. Grey stays grey, palettes become colours, alpha is
/// dropped. A value is its share of the largest that its type holds: 255 or 65,535.
///
/// DICOM: one frame, MONOCHROME1, MONOCHROME2 or RGB. Values are rescaled and put through the first window by
/// its function (PS3.3 C.11.2.1.2 and .3: LINEAR, LINEAR_EXACT, SIGMOID); without a window the range is that
/// of the stored bits. MONOCHROME1 is then inverted.
/// @throws DataError naming `path` where it is missing, damaged, empty, or none of these; UsageError where
/// this build cannot read it.
Image read_picture(const std::string& path);

}  // namespace candor::embed
