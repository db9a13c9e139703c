/// PNG, JPEG and TIFF by OpenCV. DICOM by GDCM itself, which OpenCV reads it with too, but without windows
/// and without MONOCHROME1.

#include "candor/embed/picture_file.hpp"

#include <gdcmAttribute.h>
#include <gdcmImageReader.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>
#include <optional>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/store/input_file.hpp"

namespace candor::embed {

namespace {

bool is_dicom(const std::string& bytes) {
    return bytes.size() > 132 && bytes.compare(128, 4, "DICM") == 0;
}

// ---- what OpenCV does not tell ----

/// A JPEG that was cut short is filled up with grey. In the data of a picture no FF stands before D9 (end) or
/// DA (start of a scan), so the last end comes after the last start, whatever previews come before. Source:
/// ITU-T T.81, B.1.1.
bool is_cut_jpeg(const std::string& bytes) {
    if (!bytes.starts_with("\xff\xd8\xff")) return false;
    const std::size_t end = bytes.rfind("\xff\xd9"), start = bytes.rfind("\xff\xda");
    return end == std::string::npos || (start != std::string::npos && end < start);
}

/// What the first directory of a TIFF file says. Source: TIFF 6.0, sections 2 and 3.
struct TiffHead {
    bool white_is_zero = false;  ///< PhotometricInterpretation 0
    bool one_page = true;
};

/// Nothing where `bytes` is no plain TIFF (but BigTIFF, or something else).
std::optional<TiffHead> tiff_head(const std::string& bytes) {
    const bool little = bytes.starts_with(std::string("II*\0", 4));
    if (!little && !bytes.starts_with(std::string("MM\0*", 4))) return std::nullopt;
    const auto number = [&](std::size_t at, std::size_t size) {
        std::size_t value = 0;
        for (std::size_t i = 0; i < size; ++i)
            value = value << 8 | static_cast<unsigned char>(bytes[little ? at + size - 1 - i : at + i]);
        return value;
    };
    const auto holds = [&](std::size_t end) { return end <= bytes.size(); };
    TiffHead head;
    if (!holds(8)) return head;
    const std::size_t directory = number(4, 4);
    if (!holds(directory + 2)) return head;
    const std::size_t entries = number(directory, 2), next = directory + 2 + 12 * entries;
    constexpr std::size_t photometric = 262;
    for (std::size_t at = directory + 2; at < next && holds(at + 12); at += 12) {
        if (number(at, 2) == photometric) head.white_is_zero = number(at + 8, 2) == 0;
    }
    head.one_page = !holds(next + 4) || number(next, 4) == 0;
    return head;
}

// ---- OpenCV ----

template <class T>
void take_planes(const cv::Mat& matrix, Image& image) {
    constexpr auto largest = static_cast<float>(std::numeric_limits<T>::max());
    const int stored = matrix.channels();
    for (std::int64_t c = 0; c < image.channels; ++c) {
        // OpenCV keeps blue, green, red.
        const std::int64_t from = image.channels == 3 ? 2 - c : 0;
        auto to = image.plane(c).begin();
        for (int y = 0; y < matrix.rows; ++y) {
            const T* const row = matrix.ptr<T>(y);
            for (int x = 0; x < matrix.cols; ++x)
                *to++ = static_cast<float>(row[x * stored + from]) / largest;
        }
    }
}

Image read_common(const std::string& path, const std::string& bytes) {
    static const bool quiet = [] {
        cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
        cv::setNumThreads(0);
        return true;
    }();
    static_cast<void>(quiet);
    if (is_cut_jpeg(bytes)) throw DataError({path}, "is cut short");
    const std::optional<TiffHead> tiff = tiff_head(bytes);
    if (tiff && !tiff->one_page) throw DataError({path}, "holds several pages", "write one image a file");
    cv::Mat matrix;
    try {
        const cv::Mat input(1, static_cast<int>(bytes.size()), CV_8U, const_cast<char*>(bytes.data()));
        matrix = cv::imdecode(input, cv::IMREAD_UNCHANGED);
    } catch (const cv::Exception& error) {
        throw DataError({path}, "cannot be decoded: " + error.err);
    }
    if (matrix.empty()) throw DataError({path}, "is damaged, or none of PNG, JPEG, TIFF, DICOM and IDX");
    if (matrix.depth() != CV_8U && matrix.depth() != CV_16U)
        throw DataError({path}, "holds numbers that are neither 8 nor 16 bits",
                        "convert it to PNG or TIFF of 16 bits");
    Image image{matrix.rows, matrix.cols, matrix.channels() >= 3 ? 3 : 1, {}};
    image.values.resize(static_cast<std::size_t>(image.plane_size() * image.channels));
    matrix.depth() == CV_8U ? take_planes<std::uint8_t>(matrix, image)
                            : take_planes<std::uint16_t>(matrix, image);
    // OpenCV inverts such images of 8 bits, and leaves those of 16 as they are.
    if (tiff && tiff->white_is_zero && matrix.depth() == CV_16U) {
        for (float& value : image.values) value = 1 - value;
    }
    return image;
}

// ---- DICOM ----

struct Window {
    double centre, width;
    std::string function;
};

/// Attribute (0028, Element) of a data set; copies of it would share its memory.
template <std::uint16_t Element>
bool find_attribute(const gdcm::DataSet& data, gdcm::Attribute<0x0028, Element>& value) {
    const gdcm::Tag tag(0x0028, Element);
    if (!data.FindDataElement(tag) || data.GetDataElement(tag).IsEmpty()) return false;
    value.SetFromDataElement(data.GetDataElement(tag));
    return value.GetNumberOfValues() > 0;
}

std::optional<Window> first_window(const std::string& path, const gdcm::DataSet& data) {
    gdcm::Attribute<0x0028, 0x1050> centre;
    gdcm::Attribute<0x0028, 0x1051> width;
    gdcm::Attribute<0x0028, 0x1056> function;
    if (!find_attribute(data, centre) || !find_attribute(data, width)) {
        if (data.FindDataElement(gdcm::Tag(0x0028, 0x3010)))
            throw DataError({path}, "has a VOI LUT sequence and no window, which is not supported",
                            "convert it to PNG of 16 bits");
        return std::nullopt;
    }
    Window window{centre.GetValue(0), width.GetValue(0), "LINEAR"};
    if (find_attribute(data, function)) window.function = trim(std::string(function.GetValue()));
    if (window.function != "LINEAR" && window.function != "LINEAR_EXACT" && window.function != "SIGMOID")
        throw DataError({path}, "has a window of the unknown function \"" + window.function + "\"");
    if (!(window.width > 0) || (window.function == "LINEAR" && window.width < 1))
        throw DataError({path}, "has a window of width " + format_real(window.width));
    return window;
}

/// PS3.3 C.11.2.1.2.1 and C.11.2.1.3, to 0..1.
double through(const Window& window, double x) {
    if (window.function == "SIGMOID") return 1 / (1 + std::exp(-4 * (x - window.centre) / window.width));
    const bool exact = window.function == "LINEAR_EXACT";
    const double centre = exact ? window.centre : window.centre - 0.5,
                 width = exact ? window.width : window.width - 1;
    if (x <= centre - width / 2) return 0;
    if (x > centre + width / 2) return 1;
    return (x - centre) / width + 0.5;
}

template <class T>
void take_stored(const std::vector<char>& buffer, std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        T value;
        std::memcpy(&value, buffer.data() + i * sizeof(T), sizeof(T));
        values[i] = static_cast<double>(value);
    }
}

Image read_dicom(const std::string& path) {
    gdcm::ImageReader reader;
    reader.SetFileName(path.c_str());
    if (!reader.Read()) throw DataError({path}, "is DICOM without an image that can be decoded");
    const gdcm::Image& stored = reader.GetImage();
    const gdcm::DataSet& data = reader.GetFile().GetDataSet();
    if (stored.GetNumberOfDimensions() > 2 && stored.GetDimension(2) > 1)
        throw DataError({path}, "holds " + std::to_string(stored.GetDimension(2)) + " frames",
                        "write one image a file");
    const gdcm::PhotometricInterpretation meaning = stored.GetPhotometricInterpretation();
    const gdcm::PixelFormat format = stored.GetPixelFormat();
    const bool colour = meaning == gdcm::PhotometricInterpretation::RGB;
    const bool inverted = meaning == gdcm::PhotometricInterpretation::MONOCHROME1;
    if (!colour && !inverted && meaning != gdcm::PhotometricInterpretation::MONOCHROME2)
        throw DataError({path},
                        std::string("has the photometric interpretation ") + meaning.GetString() +
                            "; MONOCHROME1, MONOCHROME2 and RGB are read",
                        "convert it to PNG");
    Image image{stored.GetDimension(1), stored.GetDimension(0), colour ? 3 : 1, {}};
    std::vector<char> buffer(stored.GetBufferLength());
    if (!stored.GetBuffer(buffer.data())) throw DataError({path}, "is DICOM whose pixels cannot be decoded");
    std::vector<double> values(static_cast<std::size_t>(image.plane_size() * image.channels));
    if (buffer.size() != values.size() * (format.GetBitsAllocated() / 8U))
        throw DataError({path}, "has pixels of " + std::to_string(format.GetBitsAllocated()) +
                                    " bits that do not fill "
                                    "its " +
                                    std::to_string(image.height) + " x " + std::to_string(image.width));
    switch (format.GetScalarType()) {
        case gdcm::PixelFormat::UINT8:
            take_stored<std::uint8_t>(buffer, values);
            break;
        case gdcm::PixelFormat::INT8:
            take_stored<std::int8_t>(buffer, values);
            break;
        case gdcm::PixelFormat::UINT12:
        case gdcm::PixelFormat::UINT16:
            take_stored<std::uint16_t>(buffer, values);
            break;
        case gdcm::PixelFormat::INT12:
        case gdcm::PixelFormat::INT16:
            take_stored<std::int16_t>(buffer, values);
            break;
        default:
            throw DataError({path}, std::string("has pixels of type ") + format.GetScalarTypeAsString());
    }
    image.values.resize(values.size());
    if (colour) {
        const bool planes = stored.GetPlanarConfiguration() == 1;
        const auto largest = static_cast<double>(format.GetMax());
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::size_t to = planes ? i : i % 3 * (values.size() / 3) + i / 3;
            image.values[to] = static_cast<float>(values[i] / largest);
        }
        return image;
    }
    const double slope = stored.GetSlope(), intercept = stored.GetIntercept();
    const std::optional<Window> window = first_window(path, data);
    const auto low = static_cast<double>(format.GetMin()), high = static_cast<double>(format.GetMax());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = window ? through(*window, values[i] * slope + intercept)
                                    : std::clamp((values[i] - low) / (high - low), 0.0, 1.0);
        image.values[i] = static_cast<float>(inverted ? 1 - value : value);
    }
    return image;
}

}  // namespace

Image read_picture(const std::string& path) {
    const std::string bytes = store::read_whole_file(path);
    return is_dicom(bytes) ? read_dicom(path) : read_common(path, bytes);
}

}  // namespace candor::embed
