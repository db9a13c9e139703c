#pragma once

/// IDX files of images, plain or gzipped (the format of MNIST and its kin): big-endian magic 0x00000803,
/// number, height and width, then a byte a pixel. Source: Y. LeCun, C. Cortes, C. J. C. Burges, The MNIST
/// database, "File formats".

#include <cstdint>
#include <string>
#include <vector>

#include "candor/embed/image.hpp"

namespace candor::embed {

class IdxFile {
  public:
    /// Reads all of it. @throws DataError where it is missing, damaged, cut short, longer than it says, or
    /// holds anything but images of bytes; MachineError where it cannot be opened.
    explicit IdxFile(const std::string& path);

    std::int64_t images() const { return images_; }
    /// Image `index` as grey, byte / 255. @throws DataError where there is none.
    Image image(std::int64_t index) const;

    /// Whether `path` begins as such a file, or as anything gzipped.
    static bool is_one(const std::string& path);

  private:
    std::string path_;
    std::int64_t images_ = 0, height_ = 0, width_ = 0;
    std::vector<unsigned char> bytes_;
};

}  // namespace candor::embed
