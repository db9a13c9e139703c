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

std::uint64_t Stream::bits(std::uint64_t i) const {
    using Philox = r123::Philox4x32;
    // Two 64-bit numbers a block: the low bit of i chooses the half.
    const std::uint64_t block = i >> 1;
    const Philox::ctr_type counter = {
        {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
         static_cast<std::uint32_t>(item_), static_cast<std::uint32_t>(item_ >> 32)}};
    const Philox::ctr_type out = Philox{}(counter, Philox::key_type{{key_[0], key_[1]}});
    const int half = static_cast<int>(i & 1) * 2;
    return static_cast<std::uint64_t>(out[half]) | static_cast<std::uint64_t>(out[half + 1]) << 32;
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
    // 52 bits, so that the half is exact: with 53 the largest number would round to 1.
    return (static_cast<double>(bits(i) >> 12) + 0.5) * 0x1p-52;
}

}  // namespace candor
