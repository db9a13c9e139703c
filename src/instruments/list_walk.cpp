#include "candor/instruments/list_walk.hpp"

#include <bit>
#include <string>

#include "candor/base/error.hpp"

// The rest of this file is compiled once for each instruction set that Highway knows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "instruments/list_walk.cpp"
#include <hwy/foreach_target.h>
// In this order: Highway's own header needs the one above before it.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace candor::instruments::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Adds `value` to the sums of some worlds. To the others nothing is added, which is exact.
HWY_INLINE void add_where(Worlds worlds, double value, double* sums) {
    constexpr int few = 6;
    if (hwy::PopCount(worlds) <= few) {
        for (; worlds != 0; worlds &= worlds - 1) sums[hwy::Num0BitsBelowLS1Bit_Nonzero64(worlds)] += value;
        return;
    }
    const hn::CappedTag<double, 8> lanes;
    const auto term = hn::Set(lanes, value);
    for (std::size_t w = 0; w < 64; w += hn::Lanes(lanes), worlds >>= hn::Lanes(lanes) % 64) {
        const auto bits = static_cast<std::uint8_t>(worlds);
        const auto sum = hn::LoadU(lanes, sums + w);
        const auto added = hn::Add(sum, hn::IfThenElseZero(hn::LoadMaskBits(lanes, &bits), term));
        hn::StoreU(added, lanes, sums + w);
    }
}

/// How many a side has found in each world, a bit of the number a word.
struct Tallies {
    static constexpr int bits = 31;  // of any k

    /// Counts one more in `worlds`. @returns those that have k now.
    HWY_INLINE Worlds count(Worlds worlds, int k, int width) {
        Worlds carry = worlds, has_k = worlds;
        for (int b = 0; b < width; ++b) {
            const Worlds before = plane[b];
            plane[b] = before ^ carry;
            carry &= before;
            has_k &= (k >> b & 1) != 0 ? plane[b] : ~plane[b];
        }
        return has_k;
    }
    Worlds plane[bits] = {};
};

Worlds walk(const std::int32_t* row, const double* cosine, std::int64_t length, std::int64_t query,
            const RowWorlds* rows, const std::int32_t* unit, int k, int width, Worlds asked, WalkSums& sums) {
    const RowWorlds& mine = rows[query];
    Worlds open[2] = {asked, asked};
    Tallies tallies[2];
    for (std::int64_t i = 0; i < length && (open[0] | open[1]) != 0; ++i) {
        const std::int32_t other = row[i];
        if (unit[other] == unit[query]) continue;
        const RowWorlds& theirs = rows[other];
        for (std::size_t side = 0; side < 2; ++side) {
            const Worlds hits = open[side] & (theirs.near[side] | (theirs.last[side] & mine.own[side]));
            if (hits == 0) continue;
            add_where(hits, cosine[i], sums.of[side].data());
            open[side] &= ~tallies[side].count(hits, k, width);
        }
    }
    return open[0] | open[1];
}

}  // namespace candor::instruments::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace candor::instruments {

HWY_EXPORT(walk);

Worlds walk_list(std::span<const std::int32_t> row, std::span<const double> cosine, std::int64_t query,
                 std::span<const RowWorlds> rows, std::span<const std::int32_t> unit, int k, Worlds asked,
                 WalkSums& sums) {
    CANDOR_REQUIRE(row.size() == cosine.size() && k > 0, std::to_string(k));
    const int width = std::bit_width(static_cast<unsigned>(k));
    return HWY_DYNAMIC_DISPATCH(walk)(row.data(), cosine.data(), std::ssize(row), query, rows.data(),
                                      unit.data(), k, width, asked, sums);
}

}  // namespace candor::instruments
#endif
