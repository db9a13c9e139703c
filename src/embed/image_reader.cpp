#include "candor/embed/image_reader.hpp"

#include <filesystem>
#include <optional>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/embed/picture_file.hpp"

namespace candor::embed {

std::shared_ptr<const IdxFile> ImageReader::idx_file(const std::string& path) {
    const std::lock_guard lock(mutex_);
    auto& file = files_[path];
    if (!file) file = std::make_shared<const IdxFile>(path);
    return file;
}

Image ImageReader::read(const std::string& place) {
    const std::size_t hash = place.rfind('#');
    if (hash != std::string::npos) {
        const auto number = parse_integer(std::string_view(place).substr(hash + 1));
        std::error_code ignored;
        // A file may be called so.
        if (number && !std::filesystem::exists(place, ignored))
            return idx_file(place.substr(0, hash))->image(*number);
    }
    if (IdxFile::is_one(place))
        throw DataError({place}, "holds many images", "say which: " + place + "#0 is the first");
    return read_picture(place);
}

}  // namespace candor::embed
