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

Digest digest_file(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
    if (!file) throw MachineError(path, std::string("cannot be opened: ") + std::strerror(errno));
    const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                                &XXH3_freeState);
    XXH3_128bits_reset(state.get());
    std::vector<char> block(1 << 22);
    std::size_t got = 0;
    while ((got = std::fread(block.data(), 1, block.size(), file.get())) > 0) {
        XXH3_128bits_update(state.get(), block.data(), got);
    }
    if (std::ferror(file.get()))
        throw MachineError(path, std::string("cannot be read: ") + std::strerror(errno));
    const XXH128_hash_t h = XXH3_128bits_digest(state.get());
    return {h.high64, h.low64};
}

}  // namespace candor
