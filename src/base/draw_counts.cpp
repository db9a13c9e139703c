#include "base/draw_counts.hpp"

// Vectors whose size only the machine knows cannot be members: where there are such, the fixed ones serve.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
// The rest of this file is compiled once for each instruction set that Highway knows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/draw_counts.cpp"
#include <hwy/foreach_target.h>
// In this order: Highway's own header needs the one above before it.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace candor::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

bool count(const std::uint32_t*, std::uint64_t, std::uint64_t, std::uint64_t, std::uint8_t*) {
    return false;
}

std::uint64_t sum(const std::uint8_t* counts, std::size_t n) {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < n; ++i) all += counts[i];
    return all;
}

#else

constexpr hn::ScalableTag<std::uint64_t> d64;
constexpr hn::Repartition<std::uint32_t, decltype(d64)> d32;
constexpr std::size_t lanes = hn::MaxLanes(d64);
using Vec = hn::Vec<decltype(d64)>;

/// Vectors that are drawn side by side, so that none waits for its own last product: as many as the registers
/// hold.
constexpr std::size_t chains = HWY_MAX_BYTES == 64 ? 4 : 2;

/// a x b of the low halves of each lane; what the high halves hold does not matter.
Vec product(Vec a, Vec b) {
    return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b));
}

/// Philox 4x32-10: a block a lane, each word in the low half of its own vector. The high halves are left
/// what they happen to be, which spares their clearing.
struct Philox {
    HWY_ALIGN std::uint64_t round_key[10][2][lanes];  // one a lane, to be loaded where it is needed
    Vec iota, item_low, item_high, bound;

    Philox(const std::uint32_t* key, std::uint64_t item, std::uint64_t below)
        : iota(hn::Iota(d64, 0)),
          item_low(hn::Set(d64, item & 0xffffffff)),
          item_high(hn::Set(d64, item >> 32)),
          bound(hn::Set(d64, below)) {
        std::uint32_t k0 = key[0], k1 = key[1];
        for (auto& keys : round_key) {
            hn::Store(hn::Set(d64, k0), d64, keys[0]);
            hn::Store(hn::Set(d64, k1), d64, keys[1]);
            k0 += 0x9E3779B9;
            k1 += 0xBB67AE85;
        }
    }

    /// The high word of (high, low) x bound in the low half of each lane.
    Vec below(Vec high, Vec low) const {
        return hn::Add(product(high, bound), hn::ShiftRight<32>(product(low, bound)));
    }

    /// The draws of the blocks from `first` on, two a block, in order.
    HWY_INLINE void draw(std::uint64_t first, std::uint32_t* out) const {
        const Vec m0 = hn::Set(d64, 0xD2511F53), m1 = hn::Set(d64, 0xCD9E8D57);
        Vec c0[chains], c1[chains], c2[chains], c3[chains];
        HWY_UNROLL(4)
        for (std::size_t i = 0; i < chains; ++i) {
            c0[i] = hn::Add(iota, hn::Set(d64, first + i * lanes));
            c1[i] = hn::ShiftRight<32>(c0[i]);
            c2[i] = item_low;
            c3[i] = item_high;
        }
        HWY_UNROLL(10)
        for (const auto& keys : round_key) {
            const Vec k0 = hn::Load(d64, keys[0]), k1 = hn::Load(d64, keys[1]);
            HWY_UNROLL(4)
            for (std::size_t i = 0; i < chains; ++i) {
                const Vec a = product(c0[i], m0), b = product(c2[i], m1);
                c0[i] = hn::Xor(hn::Xor(hn::ShiftRight<32>(b), c1[i]), k0);
                c2[i] = hn::Xor(hn::Xor(hn::ShiftRight<32>(a), c3[i]), k1);
                c1[i] = b;
                c3[i] = a;
            }
        }
        HWY_UNROLL(4)
        for (std::size_t i = 0; i < chains; ++i) {
            const auto even = hn::BitCast(d32, hn::ShiftRight<32>(below(c1[i], c0[i])));
            const auto odd = hn::BitCast(d32, below(c3[i], c2[i]));
            hn::Store(hn::OddEven(odd, even), d32, out + i * 2 * lanes);
        }
    }
};

bool count(const std::uint32_t* key, std::uint64_t item, std::uint64_t draws, std::uint64_t bound,
           std::uint8_t* counts) {
    constexpr std::uint64_t width = 2 * lanes * chains;
    const Philox philox(key, item, bound);
    // Some are counted while the next are drawn: the two keep different parts of a core busy.
    HWY_ALIGN std::uint32_t drawn[2][width];
    philox.draw(0, drawn[0]);
    std::uint64_t done = 0;
    for (; done + width <= draws; done += width) {
        const std::uint64_t turn = done / width % 2;
        philox.draw((done + width) / 2, drawn[1 - turn]);
        const std::uint32_t* const now = drawn[turn];
        HWY_UNROLL(16)
        for (std::uint64_t i = 0; i < width; ++i) ++counts[now[i]];
    }
    const std::uint32_t* const rest = drawn[done / width % 2];
    for (std::uint64_t i = 0; i < draws - done; ++i) ++counts[rest[i]];
    return true;
}

std::uint64_t sum(const std::uint8_t* counts, std::size_t n) {
    constexpr hn::Repartition<std::uint8_t, decltype(d64)> d8;
    Vec sums = hn::Zero(d64);
    std::size_t i = 0;
    for (; i + hn::Lanes(d8) <= n; i += hn::Lanes(d8))
        sums = hn::Add(sums, hn::SumsOf8(hn::LoadU(d8, counts + i)));
    std::uint64_t all = hn::GetLane(hn::SumOfLanes(d64, sums));
    for (; i < n; ++i) all += counts[i];
    return all;
}

#endif

}  // namespace candor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace candor {

HWY_EXPORT(count);
HWY_EXPORT(sum);

bool count_by_vectors(std::array<std::uint32_t, 2> key, std::uint64_t item, std::uint64_t draws,
                      std::span<std::uint8_t> counts) {
    return HWY_DYNAMIC_DISPATCH(count)(key.data(), item, draws, counts.size(), counts.data());
}

std::uint64_t sum_of_counts(std::span<const std::uint8_t> counts) {
    return HWY_DYNAMIC_DISPATCH(sum)(counts.data(), counts.size());
}

}  // namespace candor
#endif
