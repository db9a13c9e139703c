#include "candor/base/hash.hpp"

#include <xxhash.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "candor/base/error.hpp"

namespace candor {

std::uint64_t image_key(std::string_view image_id, std::uint64_t seed) {
    return XXH64(image_id.data(), image_id.size(), seed);
}

std::string Digest::hex() const {
    char text[33];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(high),
                  static_cast<unsigned long long>(low));
    return text;
}

Digest digest(std::span<const std::byte> bytes) {
    const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
    return {h.high64, h.low64};
}

struct FileDigest::State {
    std::string path;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{nullptr, &std::fclose};
    std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> hash{XXH3_createState(), &XXH3_freeState};
    std::vector<char> block = std::vector<char>(std::size_t{1} << 20);
    std::int64_t taken = 0;

    /// False where the file has ended.
    bool take() {
        const std::size_t got = std::fread(block.data(), 1, block.size(), file.get());
        if (std::ferror(file.get()))
            throw MachineError(path, std::string("cannot be read: ") + std::strerror(errno));
        XXH3_128bits_update(hash.get(), block.data(), got);
        taken += static_cast<std::int64_t>(got);
        return got > 0;
    }
};

FileDigest::FileDigest(const std::string& path) : state_(std::make_unique<State>()) {
    state_->path = path;
    state_->file.reset(std::fopen(path.c_str(), "rb"));
    if (!state_->file) throw MachineError(path, std::string("cannot be opened: ") + std::strerror(errno));
    XXH3_128bits_reset(state_->hash.get());
}

FileDigest::~FileDigest() = default;

void FileDigest::advance_to(std::int64_t offset) {
    const auto block = std::ssize(state_->block);
    while (state_->taken + block <= offset && state_->take()) {
    }
}

Digest FileDigest::finish() {
    while (state_->take()) {
    }
    const XXH128_hash_t h = XXH3_128bits_digest(state_->hash.get());
    return {h.high64, h.low64};
}

Digest digest_file(const std::string& path) {
    return FileDigest(path).finish();
}

}  // namespace candor
