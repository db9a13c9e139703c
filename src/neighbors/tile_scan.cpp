#include "candor/neighbors/tile_scan.hpp"

#include <algorithm>

// The rest of this file is compiled once for each instruction set that Highway knows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neighbors/tile_scan.cpp"
#include <hwy/foreach_target.h>
// In this order: Highway's own header needs the one above before it.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace candor::neighbors::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// A mask as bits, lane 0 lowest.
template <class Mask>
std::uint64_t bits_of(Mask mask) {
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(hn::ScalableTag<float>(), mask, bytes);
    std::uint64_t bits = 0;
    for (int b = 7; b >= 0; --b) bits = bits << 8 | bytes[b];
    return bits;
}

/// Hits of a row among `count` <= 64 columns from `first` on.
template <bool bounds>
std::uint64_t hits_of(const Tile& tile, std::int64_t row, std::int64_t first, std::int64_t count) {
    const hn::ScalableTag<float> lanes;
    const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
    const float* products = tile.products + row * tile.stride + first;
    const float* col_offset = tile.col_offset + first;
    const float* col_cut = tile.col_cut + first;
    const float* col_rest = bounds ? tile.col_rest + first : nullptr;
    const auto row_offset = hn::Set(lanes, tile.row_offset[row]);
    const auto row_cut = hn::Set(lanes, tile.row_cut[row]);
    const auto row_rest = hn::Set(lanes, bounds ? tile.row_rest[row] : 0.0F);
    std::uint64_t hits = 0;
    std::int64_t j = 0;
    for (; j + width <= count; j += width) {
        auto product = hn::LoadU(lanes, products + j);
        if constexpr (bounds) product = hn::MulAdd(row_rest, hn::LoadU(lanes, col_rest + j), product);
        const auto for_row = hn::Ge(hn::Add(product, hn::LoadU(lanes, col_offset + j)), row_cut);
        const auto for_col = hn::Ge(hn::Add(product, row_offset), hn::LoadU(lanes, col_cut + j));
        const auto either = hn::Or(for_row, for_col);
        if (HWY_LIKELY(hn::AllFalse(lanes, either))) continue;
        hits |= bits_of(either) << j;
    }
    for (; j < count; ++j) {
        const float product = bounds ? products[j] + tile.row_rest[row] * col_rest[j] : products[j];
        const bool for_row = product + col_offset[j] >= tile.row_cut[row];
        const bool for_col = product + tile.row_offset[row] >= col_cut[j];
        hits |= static_cast<std::uint64_t>(for_row || for_col) << j;
    }
    return hits;
}

template <bool bounds>
void scan_all(const Tile& tile, HitHandler handler, void* context) {
    for (std::int64_t i = 0; i < tile.rows; ++i) {
        for (std::int64_t first = 0; first < tile.cols; first += 64) {
            const std::int64_t count = tile.cols - first < 64 ? tile.cols - first : 64;
            if (const std::uint64_t hits = hits_of<bounds>(tile, i, first, count); HWY_UNLIKELY(hits != 0))
                handler(context, i, first, hits);
        }
    }
}

void scan(const Tile& tile, HitHandler handler, void* context) {
    scan_all<false>(tile, handler, context);
}

void scan_with_bounds(const Tile& tile, HitHandler handler, void* context) {
    scan_all<true>(tile, handler, context);
}

std::uint64_t reached(const float* cuts, float score) {
    const hn::ScalableTag<float> lanes;
    const auto all = hn::Set(lanes, score);
    std::uint64_t bits = 0;
    for (std::size_t b = 0; b < 64; b += hn::Lanes(lanes))
        bits |= bits_of(hn::Le(hn::LoadU(lanes, cuts + b), all)) << b;
    return bits;
}

void dots(const float* row, const float* others, std::int64_t stride, std::int64_t length, std::uint64_t hits,
          float* out) {
    const hn::CappedTag<float, 16> lanes;
    const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
    const auto next = [&] {
        const float* other = others + hwy::Num0BitsBelowLS1Bit_Nonzero64(hits) * stride;
        hits &= hits - 1;
        return other;
    };
    // Four at a time: each number of the row is loaded once for all of them.
    while (hits != 0) {
        const int count = std::min(4, static_cast<int>(hwy::PopCount(hits)));
        const float* const a = next();
        const float* const b = count > 1 ? next() : a;
        const float* const c = count > 2 ? next() : a;
        const float* const d = count > 3 ? next() : a;
        auto sum_a = hn::Zero(lanes), sum_b = sum_a, sum_c = sum_a, sum_d = sum_a;
        for (std::int64_t j = 0; j < length; j += width) {
            const auto x = hn::LoadU(lanes, row + j);
            sum_a = hn::MulAdd(x, hn::LoadU(lanes, a + j), sum_a);
            sum_b = hn::MulAdd(x, hn::LoadU(lanes, b + j), sum_b);
            sum_c = hn::MulAdd(x, hn::LoadU(lanes, c + j), sum_c);
            sum_d = hn::MulAdd(x, hn::LoadU(lanes, d + j), sum_d);
        }
        const float sums[4] = {
            hn::GetLane(hn::SumOfLanes(lanes, sum_a)), hn::GetLane(hn::SumOfLanes(lanes, sum_b)),
            hn::GetLane(hn::SumOfLanes(lanes, sum_c)), hn::GetLane(hn::SumOfLanes(lanes, sum_d))};
        for (int i = 0; i < count; ++i) *out++ = sums[i];
    }
}

void dots_of_bytes(const std::int8_t* row, const std::int8_t* others, std::int64_t stride,
                   std::int64_t length, std::uint64_t hits, std::int32_t* out) {
    const hn::CappedTag<std::int16_t, 32> wide;
    const hn::Rebind<std::int8_t, decltype(wide)> bytes;
    const hn::RepartitionToWide<decltype(wide)> sums;
    const auto width = static_cast<std::int64_t>(hn::Lanes(wide));
    const auto next = [&] {
        const std::int8_t* other = others + hwy::Num0BitsBelowLS1Bit_Nonzero64(hits) * stride;
        hits &= hits - 1;
        return other;
    };
    while (hits != 0) {
        const int count = std::min(4, static_cast<int>(hwy::PopCount(hits)));
        const std::int8_t* const a = next();
        const std::int8_t* const b = count > 1 ? next() : a;
        const std::int8_t* const c = count > 2 ? next() : a;
        const std::int8_t* const d = count > 3 ? next() : a;
        // Each product of pairs is split over two sums, of which some processors use one alone.
        auto low_a = hn::Zero(sums), low_b = low_a, low_c = low_a, low_d = low_a;
        auto high_a = low_a, high_b = low_a, high_c = low_a, high_d = low_a;
        for (std::int64_t j = 0; j < length; j += width) {
            const auto x = hn::PromoteTo(wide, hn::LoadU(bytes, row + j));
            low_a = hn::ReorderWidenMulAccumulate(sums, x, hn::PromoteTo(wide, hn::LoadU(bytes, a + j)),
                                                  low_a, high_a);
            low_b = hn::ReorderWidenMulAccumulate(sums, x, hn::PromoteTo(wide, hn::LoadU(bytes, b + j)),
                                                  low_b, high_b);
            low_c = hn::ReorderWidenMulAccumulate(sums, x, hn::PromoteTo(wide, hn::LoadU(bytes, c + j)),
                                                  low_c, high_c);
            low_d = hn::ReorderWidenMulAccumulate(sums, x, hn::PromoteTo(wide, hn::LoadU(bytes, d + j)),
                                                  low_d, high_d);
        }
        const std::int32_t found[4] = {hn::GetLane(hn::SumOfLanes(sums, hn::Add(low_a, high_a))),
                                       hn::GetLane(hn::SumOfLanes(sums, hn::Add(low_b, high_b))),
                                       hn::GetLane(hn::SumOfLanes(sums, hn::Add(low_c, high_c))),
                                       hn::GetLane(hn::SumOfLanes(sums, hn::Add(low_d, high_d)))};
        for (int i = 0; i < count; ++i) *out++ = found[i];
    }
}

const char* target() {
    return hwy::TargetName(HWY_TARGET);
}

}  // namespace candor::neighbors::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace candor::neighbors {

HWY_EXPORT(scan);
HWY_EXPORT(scan_with_bounds);
HWY_EXPORT(reached);
HWY_EXPORT(dots);
HWY_EXPORT(dots_of_bytes);
HWY_EXPORT(target);

void scan_tile(const Tile& tile, HitHandler handler, void* context) {
    HWY_DYNAMIC_DISPATCH(scan)(tile, handler, context);
}

void scan_bounds(const Tile& tile, HitHandler handler, void* context) {
    HWY_DYNAMIC_DISPATCH(scan_with_bounds)(tile, handler, context);
}

std::uint64_t cuts_reached(const float* cuts, float score) {
    return HWY_DYNAMIC_DISPATCH(reached)(cuts, score);
}

void dot_products(const float* row, const float* others, std::int64_t stride, std::int64_t length,
                  std::uint64_t hits, float* out) {
    HWY_DYNAMIC_DISPATCH(dots)(row, others, stride, length, hits, out);
}

void dot_products(const std::int8_t* row, const std::int8_t* others, std::int64_t stride, std::int64_t length,
                  std::uint64_t hits, std::int32_t* out) {
    HWY_DYNAMIC_DISPATCH(dots_of_bytes)(row, others, stride, length, hits, out);
}

const char* vector_target() {
    return HWY_DYNAMIC_DISPATCH(target)();
}

}  // namespace candor::neighbors
#endif
