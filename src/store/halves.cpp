#include "candor/store/halves.hpp"

#include <cstdint>
#include <cstring>

#include "candor/store/element.hpp"

// The rest of this file is compiled once for each instruction set that Highway knows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "store/halves.cpp"
#include <hwy/foreach_target.h>
// In this order: Highway's own header needs the one above before it.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace candor::store::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The steps of half_to_float on a vector. Not the processor's own instruction: it makes signalling NaNs
/// quiet, and where vectors are widest it is no faster.
void convert(const std::byte* stored, float* out, std::size_t count) {
    const hn::ScalableTag<float> singles;
    const hn::RebindToUnsigned<decltype(singles)> words;
    const hn::RebindToSigned<decltype(singles)> integers;
    const hn::Rebind<std::uint16_t, decltype(singles)> halves;
    const std::size_t width = hn::Lanes(singles);
    const auto sign_bit = hn::Set(words, 0x8000u);
    const auto first_normal = hn::Set(words, 0x0400u);
    const auto first_special = hn::Set(words, 0x7c00u);
    const auto bias = hn::Set(words, std::uint32_t{127 - 15} << 23);
    const auto infinity = hn::Set(words, 0x7f800000u);
    const auto smallest = hn::Set(singles, 0x1p-24f);
    const auto half_at = [&](std::size_t at) {
        return reinterpret_cast<const std::uint16_t*>(stored + at * sizeof(std::uint16_t));
    };
    std::size_t i = 0;
    for (; i + width <= count; i += width) {
        const auto bits = hn::PromoteTo(words, hn::LoadU(halves, half_at(i)));
        const auto sign = hn::ShiftLeft<16>(hn::And(bits, sign_bit));
        const auto magnitude = hn::AndNot(sign_bit, bits);
        const auto shifted = hn::ShiftLeft<13>(magnitude);
        const auto small =
            hn::BitCast(words, hn::Mul(hn::ConvertTo(singles, hn::BitCast(integers, magnitude)), smallest));
        const auto finite = hn::IfThenElse(hn::Lt(magnitude, first_normal), small, hn::Add(shifted, bias));
        const auto value =
            hn::IfThenElse(hn::Lt(magnitude, first_special), finite, hn::Or(shifted, infinity));
        hn::StoreU(hn::BitCast(singles, hn::Or(value, sign)), singles, out + i);
    }
    for (; i < count; ++i) {
        std::uint16_t bits;
        std::memcpy(&bits, half_at(i), sizeof bits);
        out[i] = half_to_float(bits);
    }
}

}  // namespace candor::store::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace candor::store {

HWY_EXPORT(convert);

void halves_to_floats(const std::byte* stored, std::span<float> out) {
    HWY_DYNAMIC_DISPATCH(convert)(stored, out.data(), out.size());
}

}  // namespace candor::store
#endif
