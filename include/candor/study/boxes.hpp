#pragma once

/// Evidence boxes (DESIGN 4): how much of an image each annotated region covers (METHODS 7, 11).

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace candor::study {

/// A box in pixels from the left and upper edge, clipped to its image.
struct Rectangle {
    double left, top, right, bottom;
};

/// The rectangles of an image and region, and the size that the file states for the image.
struct Region {
    std::vector<Rectangle> rectangles;
    double image_width = 0, image_height = 0;
};

/// What a boxes file states.
struct Boxes {
    std::string file;
    /// By image id and region.
    std::map<std::pair<std::string, std::string>, Region> regions;
    /// By image id and region: the area of the union of its rectangles, clipped to the image, as a share of
    /// the image's area; above 0, at most 1.
    std::map<std::pair<std::string, std::string>, double> area;
    std::int64_t without = 0;  ///< rows whose x, y, width and height are all blank: no box, not one at 0
};

/// Reads the columns image_id, finding, x, y, width, height, image_width and image_height, in pixels from the
/// left and upper edge, of the bytes of `file`; real numbers with a decimal point. Other columns are ignored.
/// Several rows of an image and finding are one region. A box that is partly outside is clipped.
/// @throws DataError as parse_csv, and naming file, line, column and image id: a missing column; a blank
///         image id or finding; a number that is blank, not finite or no number; a width or height that is
///         not above 0; an image size outside 1 to 10^9; a size that differs from an earlier row of the same
///         image; a box that covers nothing of the image; a region that one row
///         says is without a box and another gives one; a file that holds no row.
Boxes parse_boxes(const std::string& file, std::string_view bytes);

}  // namespace candor::study
