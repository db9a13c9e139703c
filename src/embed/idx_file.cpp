#include "candor/embed/idx_file.hpp"

#include <zlib.h>

#include <array>
#include <memory>

#include "candor/base/error.hpp"
#include "candor/store/input_file.hpp"

namespace candor::embed {

namespace {

constexpr std::size_t header_bytes = 16;
constexpr std::uint32_t magic = 0x00000803;  // unsigned bytes in three dimensions

struct CloseGzip {
    void operator()(gzFile file) const { gzclose(file); }
};
using Gzip = std::unique_ptr<gzFile_s, CloseGzip>;

/// Fills `out`; fewer bytes only where the file ends.
std::size_t read_gzip(gzFile file, const std::string& path, unsigned char* out, std::size_t bytes) {
    std::size_t got = 0;
    while (got < bytes) {
        const auto most = static_cast<unsigned>(std::min<std::size_t>(bytes - got, 1U << 30));
        const int count = gzread(file, out + got, most);
        int code = Z_OK;
        const char* const what = gzerror(file, &code);
        if (count < 0 || (count == 0 && code != Z_OK && code != Z_STREAM_END))
            throw DataError({path}, std::string("is damaged: ") + what);
        if (count == 0) break;
        got += static_cast<std::size_t>(count);
    }
    return got;
}

std::uint32_t big_endian(const unsigned char* bytes) {
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
           bytes[3];
}

}  // namespace

IdxFile::IdxFile(const std::string& path) : path_(path) {
    { const store::InputFile probe(path); }  // tells a missing file apart from a damaged one
    const Gzip file(gzopen(path.c_str(), "rb"));
    if (!file) throw MachineError(path, "cannot be opened");
    gzbuffer(file.get(), 1U << 18);
    std::array<unsigned char, header_bytes> header;
    if (read_gzip(file.get(), path, header.data(), header.size()) < header.size())
        throw DataError({path}, "is too short for an IDX file of images");
    if (big_endian(header.data()) != magic)
        throw DataError({path}, "is no IDX file of images (bytes in three dimensions)");
    images_ = big_endian(&header[4]);
    height_ = big_endian(&header[8]);
    width_ = big_endian(&header[12]);
    constexpr std::int64_t most = std::int64_t{1} << 36;
    if (images_ == 0 || height_ == 0 || width_ == 0 || height_ > most / width_ ||
        images_ > most / (height_ * width_))
        throw DataError({path}, "claims " + std::to_string(images_) + " images of " +
                                    std::to_string(height_) + " x " + std::to_string(width_) + " pixels");
    // In steps, so that a header that lies about a short file does not take memory that nothing fills.
    const auto expected = static_cast<std::size_t>(images_ * height_ * width_);
    constexpr std::size_t step = std::size_t{64} << 20;
    for (std::size_t at = 0; at < expected; at = bytes_.size()) {
        bytes_.resize(std::min(expected, at + step));
        if (read_gzip(file.get(), path, bytes_.data() + at, bytes_.size() - at) < bytes_.size() - at)
            throw DataError({path}, "ends before the last of its " + std::to_string(images_) + " images");
    }
    unsigned char more = 0;
    if (read_gzip(file.get(), path, &more, 1) > 0)
        throw DataError({path}, "goes on behind the last of its " + std::to_string(images_) + " images");
}

Image IdxFile::image(std::int64_t index) const {
    if (index < 0 || index >= images_)
        throw DataError({path_},
                        "has no image " + std::to_string(index) + ", it holds " + std::to_string(images_),
                        "they are counted from 0");
    Image image{height_, width_, 1, {}};
    image.values.reserve(static_cast<std::size_t>(height_ * width_));
    const unsigned char* const first = bytes_.data() + index * height_ * width_;
    for (std::int64_t i = 0; i < height_ * width_; ++i)
        image.values.push_back(static_cast<float>(first[i]) / 255.0F);
    return image;
}

bool IdxFile::is_one(const std::string& path) {
    std::array<std::byte, 4> head{};
    const std::int64_t got = store::InputFile(path).read(0, head);
    const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(head[i]); };
    if (got >= 2 && byte(0) == 0x1f && byte(1) == 0x8b) return true;
    return got == 4 && byte(0) == 0 && byte(1) == 0 && byte(2) == 8 && byte(3) == 3;
}

}  // namespace candor::embed
