#include "candor/study/boxes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/study/csv.hpp"

namespace candor::study {

namespace {

constexpr std::size_t headers_in_a_message = 20;
/// So that no product of two sizes, nor their sum over boxes, overflows or vanishes.
constexpr double smallest_size = 1, largest_size = 1e9;

enum Number { x, y, width, height, image_width, image_height };
const std::array<std::string, 6> number_names{"x", "y", "width", "height", "image_width", "image_height"};

/// Area of the union: between two neighbouring edges every rectangle is there or not, and what is there is
/// a union of intervals.
double area_of_union(const std::vector<Rectangle>& rectangles) {
    std::vector<double> edges;
    for (const Rectangle& r : rectangles) {
        edges.push_back(r.left);
        edges.push_back(r.right);
    }
    std::ranges::sort(edges);
    edges.erase(std::ranges::unique(edges).begin(), edges.end());

    double area = 0;
    for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
        std::vector<std::pair<double, double>> spans;
        for (const Rectangle& r : rectangles) {
            if (r.left <= edges[i] && edges[i] < r.right) spans.emplace_back(r.top, r.bottom);
        }
        std::ranges::sort(spans);
        double length = 0, reached = 0;
        for (const auto& [top, bottom] : spans) {
            if (bottom > reached) length += bottom - std::max(top, reached);
            reached = std::max(reached, bottom);
        }
        area += length * (edges[i + 1] - edges[i]);
    }
    return area;
}

/// The file with its columns found.
class Reader {
  public:
    Reader(const std::string& file, std::string_view bytes) : file_(file), csv_(parse_csv(file, bytes)) {
        image_ = column("image_id");
        finding_ = column("finding");
        for (std::size_t n = 0; n < number_names.size(); ++n) numbers_[n] = column(number_names[n]);
    }

    std::size_t rows() const { return csv_.records.size(); }
    std::int64_t line(std::size_t row) const { return csv_.line[row]; }
    const std::string& image(std::size_t row) const { return named(row, image_, "the image id"); }
    const std::string& finding(std::size_t row) const { return named(row, finding_, "the finding"); }
    bool blank(std::size_t row, Number which) const { return text(row, which).empty(); }

    double number(std::size_t row, Number which) const {
        if (blank(row, which)) {
            throw fault(row, which, "the number is blank",
                        "fill it in, or leave x, y, width and height all blank where there is no box");
        }
        const auto value = parse_real(text(row, which));
        if (!value) {
            throw fault(row, which, '"' + text(row, which) + "\" is no number",
                        "write pixels with a decimal point");
        }
        if (!std::isfinite(*value)) {
            throw fault(row, which, "the number is not finite", "write pixels, or leave the box out");
        }
        return *value;
    }

    DataError fault(std::size_t row, Number which, const std::string& what, const std::string& remedy) const {
        return {{file_, csv_.line[row], number_names[which], csv_.records[row][image_]}, what, remedy};
    }

  private:
    const std::string& text(std::size_t row, Number which) const {
        return csv_.records[row][numbers_[which]];
    }

    const std::string& named(std::size_t row, std::size_t column, const std::string& what) const {
        const std::string& name = csv_.records[row][column];
        if (!name.empty()) return name;
        throw DataError({file_, csv_.line[row], csv_.header[column], csv_.records[row][image_]},
                        what + " is blank", "name the image and the finding of every box");
    }

    std::size_t column(const std::string& name) const {
        const auto at = std::ranges::find(csv_.header, name);
        if (at != csv_.header.end()) return static_cast<std::size_t>(at - csv_.header.begin());
        const std::string near = nearest_name(name, csv_.header);
        throw DataError(
            {file_, 1, name},
            "there is no such column; the header names " + first_names(csv_.header, headers_in_a_message),
            near.empty() ? "" : "did you mean \"" + near + "\"?");
    }

    std::string file_;
    Csv csv_;
    std::size_t image_ = 0, finding_ = 0;
    std::array<std::size_t, number_names.size()> numbers_{};
};

/// Width and height of one image and the line that stated them first.
struct Size {
    double width = 0, height = 0;
    std::int64_t line = 0;
};

double size_of(const Reader& reader, std::size_t row, Number which) {
    const double size = reader.number(row, which);
    if (size >= smallest_size && size <= largest_size) return size;
    throw reader.fault(row, which, "an image of " + format_real(size) + " pixels",
                       "write the size of the whole image, from 1 to 1e9 pixels");
}

/// The image's size by this row. @throws DataError where an earlier row of the image says otherwise.
Size image_size(const Reader& reader, std::size_t row, std::map<std::string, Size>& sizes) {
    const Size here{size_of(reader, row, image_width), size_of(reader, row, image_height), reader.line(row)};
    const Size& first = sizes.try_emplace(reader.image(row), here).first->second;
    for (const auto& [which, size, stated] : {std::tuple(image_width, here.width, first.width),
                                              std::tuple(image_height, here.height, first.height)}) {
        if (size == stated) continue;
        throw reader.fault(row, which,
                           format_real(size) + " pixels where row " + std::to_string(first.line) + " has " +
                               format_real(stated) + " for the same image",
                           "an image has one size");
    }
    return here;
}

/// The row's rectangle, clipped to the image.
Rectangle rectangle_of(const Reader& reader, std::size_t row, const Size& image) {
    double number[4];
    for (const Number n : {x, y, width, height}) number[n] = reader.number(row, n);
    for (const Number n : {width, height}) {
        if (number[n] > 0) continue;
        throw reader.fault(row, n, "the box's " + number_names[n] + " is " + format_real(number[n]),
                           "x and y are the upper left corner, width and height are above 0");
    }
    const Rectangle clipped{std::max(number[x], 0.0), std::max(number[y], 0.0),
                            std::min(number[x] + number[width], image.width),
                            std::min(number[y] + number[height], image.height)};
    for (const auto& [which, from, to] :
         {std::tuple(x, clipped.left, clipped.right), std::tuple(y, clipped.top, clipped.bottom)}) {
        if (from < to) continue;
        throw reader.fault(row, which, "the box covers nothing of the image",
                           "boxes are in pixels from the upper left corner of the image whose size stands "
                           "beside them");
    }
    return clipped;
}

}  // namespace

Boxes parse_boxes(const std::string& file, std::string_view bytes) {
    const Reader reader(file, bytes);
    if (reader.rows() == 0) throw DataError({file}, "holds a header and no rows", "give it one row a box");

    Boxes boxes;
    boxes.file = file;
    std::map<std::string, Size> sizes;
    std::map<std::pair<std::string, std::string>, std::size_t> said_without;  // by which row
    for (std::size_t row = 0; row < reader.rows(); ++row) {
        const std::pair region(reader.image(row), reader.finding(row));
        const bool without = reader.blank(row, x) && reader.blank(row, y) && reader.blank(row, width) &&
                             reader.blank(row, height);
        if (without) said_without.emplace(region, row);
        if (without && reader.blank(row, image_width) && reader.blank(row, image_height)) {
            ++boxes.without;
            continue;
        }
        const Size size = image_size(reader, row, sizes);
        if (without) {
            ++boxes.without;
        } else {
            Region& boxed = boxes.regions[region];
            boxed.image_width = size.width;
            boxed.image_height = size.height;
            boxed.rectangles.push_back(rectangle_of(reader, row, size));
        }
    }
    for (const auto& [region, boxed] : boxes.regions) {
        if (const auto at = said_without.find(region); at != said_without.end()) {
            throw reader.fault(at->second, x, "no box, where another row of the image and finding has one",
                               "leave one of the two out");
        }
        const double whole = boxed.image_width * boxed.image_height;
        boxes.area.emplace(region, std::min(1.0, area_of_union(boxed.rectangles) / whole));
    }
    return boxes;
}

}  // namespace candor::study
