#include "candor/store/npz.hpp"

#include <zip.h>

#include <algorithm>
#include <cstddef>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/store/input_file.hpp"

namespace candor::store {

struct Npz::Archive {
    zip_t* handle = nullptr;
    ~Archive() { zip_discard(handle); }
};

Npz::Npz(const std::string& path) : path_(path), archive_(std::make_unique<Archive>()) {
    const InputFile probe(path);  // tells a missing or unreadable file apart from a damaged one
    int code = 0;
    archive_->handle = zip_open(path.c_str(), ZIP_RDONLY, &code);
    if (!archive_->handle) {
        zip_error_t error;
        zip_error_init_with_code(&error, code);
        const std::string reason = zip_error_strerror(&error);
        zip_error_fini(&error);
        throw DataError({path}, "is cut short or is no zip archive: " + reason);
    }
    const zip_int64_t entries = zip_get_num_entries(archive_->handle, 0);
    for (zip_int64_t i = 0; i < entries; ++i) {
        const char* entry = zip_get_name(archive_->handle, static_cast<zip_uint64_t>(i), 0);
        std::string name = entry ? entry : "";
        if (name.ends_with(".npy")) names_.push_back(name.substr(0, name.size() - 4));
    }
    if (names_.empty()) throw DataError({path}, "is a zip archive without .npy arrays, not an .npz file");
}

Npz::~Npz() = default;

bool Npz::has(const std::string& name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
}

NpyBytes Npz::member(const std::string& name) const {
    if (!has(name)) {
        throw DataError({path_}, "has no array \"" + name + "\"; it holds " + first_names(names_, 10));
    }
    const std::string label = path_ + "[" + name + "]";
    const std::string entry = name + ".npy";
    const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
        zip_fopen(archive_->handle, entry.c_str(), 0), zip_fclose);
    if (!file) throw DataError({label}, std::string("cannot be unpacked: ") + zip_strerror(archive_->handle));
    // Grown as bytes arrive: the size that a damaged archive claims is not to be trusted with memory. The
    // last read, of nothing, is where libzip compares the checksum.
    std::vector<std::byte> bytes;
    constexpr std::size_t step = std::size_t{16} << 20;
    for (zip_int64_t got = 1; got > 0;) {
        const std::size_t size = bytes.size();
        bytes.resize(size + step);
        got = zip_fread(file.get(), bytes.data() + size, step);
        if (got < 0)
            throw DataError({label}, std::string("cannot be unpacked: ") + zip_file_strerror(file.get()));
        bytes.resize(size + static_cast<std::size_t>(got));
    }
    return {label, std::move(bytes)};
}

}  // namespace candor::store
