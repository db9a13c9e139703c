#include "candor/neighbors/tile_scan.hpp"

// The rest of this file is compiled once for each instruction set that Highway knows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neighbors/tile_scan.cpp"
#include <hwy/foreach_target.h>
// In this order: Highway's own header needs the one above before it.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace candor::neighbors::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Hits of a row among `count` <= 64 columns from `first` on.
std::uint64_t hits_of(const Tile& tile, std::int64_t row, std::int64_t first, std::int64_t count) {
    const hn::ScalableTag<float> lanes;
    const auto width = static_cast<std::int64_t>(hn::Lanes(lanes));
    const float* products = tile.products + row * tile.stride + first;
    const float* col_offset = tile.col_offset + first;
    const float* col_cut = tile.col_cut + first;
    const auto row_offset = hn::Set(lanes, tile.row_offset[row]);
    const auto row_cut = hn::Set(lanes, tile.row_cut[row]);
    std::uint64_t hits = 0;
    std::int64_t j = 0;
    for (; j + width <= count; j += width) {
        const auto product = hn::LoadU(lanes, products + j);
        const auto for_row = hn::Ge(hn::Add(product, hn::LoadU(lanes, col_offset + j)), row_cut);
        const auto for_col = hn::Ge(hn::Add(product, row_offset), hn::LoadU(lanes, col_cut + j));
        const auto either = hn::Or(for_row, for_col);
        if (HWY_LIKELY(hn::AllFalse(lanes, either))) continue;
        std::uint8_t bits[8] = {};
        hn::StoreMaskBits(lanes, either, bits);
        std::uint64_t here = 0;
        for (int b = 7; b >= 0; --b) here = here << 8 | bits[b];
        hits |= here << j;
    }
    for (; j < count; ++j) {
        const bool for_row = products[j] + col_offset[j] >= tile.row_cut[row];
        const bool for_col = products[j] + tile.row_offset[row] >= col_cut[j];
        hits |= static_cast<std::uint64_t>(for_row || for_col) << j;
    }
    return hits;
}

void scan(const Tile& tile, HitHandler handler, void* context) {
    for (std::int64_t i = 0; i < tile.rows; ++i) {
        for (std::int64_t first = 0; first < tile.cols; first += 64) {
            const std::int64_t count = tile.cols - first < 64 ? tile.cols - first : 64;
            if (const std::uint64_t hits = hits_of(tile, i, first, count); HWY_UNLIKELY(hits != 0))
                handler(context, i, first, hits);
        }
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
HWY_EXPORT(target);

void scan_tile(const Tile& tile, HitHandler handler, void* context) {
    HWY_DYNAMIC_DISPATCH(scan)(tile, handler, context);
}

const char* vector_target() {
    return HWY_DYNAMIC_DISPATCH(target)();
}

}  // namespace candor::neighbors
#endif
