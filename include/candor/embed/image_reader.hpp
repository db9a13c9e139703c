#pragma once

/// Images by the names that a table gives them.

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "candor/embed/idx_file.hpp"
#include "candor/embed/image.hpp"

namespace candor::embed {

/// Keeps the IDX files that it has read. May be used by several threads.
class ImageReader {
  public:
    /// The image at `place`: the name of a file, or `FILE#N`, image N (from 0) of the IDX file FILE.
    /// @throws DataError, MachineError or UsageError as IdxFile and read_picture.
    Image read(const std::string& place);

  private:
    std::shared_ptr<const IdxFile> idx_file(const std::string& path);

    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<const IdxFile>> files_;
};

}  // namespace candor::embed
