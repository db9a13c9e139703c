#include "candor/base/random.hpp"

#include <Random123/philox.h>

#include <algorithm>

#include "base/draw_counts.hpp"
#include "candor/base/hash.hpp"

namespace candor {

Stream::Stream(std::uint64_t seed, std::string_view purpose, std::uint64_t item) : item_(item) {
    const std::uint64_t key = image_key(purpose, seed);
    key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

std::array<std::uint64_t, 2> Stream::two_bits(std::uint64_t i) const {
    using Philox = r123::Philox4x32;
    const Philox::ctr_type counter = {{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32),
                                       static_cast<std::uint32_t>(item_),
                                       static_cast<std::uint32_t>(item_ >> 32)}};
    const Philox::ctr_type out = Philox{}(counter, Philox::key_type{{key_[0], key_[1]}});
    return {static_cast<std::uint64_t>(out[0]) | static_cast<std::uint64_t>(out[1]) << 32,
            static_cast<std::uint64_t>(out[2]) | static_cast<std::uint64_t>(out[3]) << 32};
}

std::uint64_t Stream::bits(std::uint64_t i) const {
    // Two 64-bit numbers a block of the generator: the low bit of i chooses one.
    return two_bits(i >> 1)[i & 1];
}

namespace {
__extension__ using Product = unsigned __int128;
}  // namespace

std::uint64_t Stream::below(std::uint64_t i, std::uint64_t bound) const {
    return static_cast<std::uint64_t>((static_cast<Product>(bits(i)) * bound) >> 64);
}

bool Stream::count_below(std::uint64_t draws, std::span<std::uint8_t> counts) const {
    std::ranges::fill(counts, std::uint8_t{0});
    if (!count_by_vectors(key_, item_, draws, counts)) {
        for (std::uint64_t i = 0; i < draws; ++i) ++counts[below(i, counts.size())];
    }
    return sum_of_counts(counts) == draws;  // a count that starts again at 0 is 256 too small
}

double Stream::uniform(std::uint64_t i) const {
    return uniform_of(bits(i));
}

}  // namespace candor
