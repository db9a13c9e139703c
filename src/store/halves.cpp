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

/// The steps of float_to_half on a vector of numbers that do not overflow.
void round_to_halves(const float* values, std::uint16_t* out, std::size_t count) {
    const hn::ScalableTag<float> singles;
    const hn::RebindToUnsigned<decltype(singles)> words;
    const hn::Rebind<std::uint16_t, decltype(singles)> halves;
    const std::size_t width = hn::Lanes(singles);
    const auto first_normal = hn::Set(words, 0x38800000u);  // 2^-14
    const auto one_half = hn::Set(singles, 0.5f);
    std::size_t i = 0;
    for (; i + width <= count; i += width) {
        const auto bits = hn::BitCast(words, hn::LoadU(singles, values + i));
        const auto magnitude = hn::And(bits, hn::Set(words, 0x7fffffffu));
        const auto sign = hn::ShiftRight<16>(hn::Xor(bits, magnitude));
        // To nearest, ties to even: half a step less one, and one more where the last bit that stays is set.
        const auto last = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(words, 1));
        const auto rounded = hn::Add(magnitude, hn::Add(hn::Set(words, 0x0fffu), last));
        const auto normal = hn::Sub(hn::ShiftRight<13>(rounded), hn::Set(words, (127u - 15u) << 10));
        // Below 2^-14 the step is 2^-24, the one of floats from 1/2 on: adding 1/2 rounds to it.
        const auto shifted = hn::BitCast(words, hn::Add(hn::BitCast(singles, magnitude), one_half));
        const auto small = hn::Sub(shifted, hn::BitCast(words, one_half));
        const auto half = hn::IfThenElse(hn::Lt(magnitude, first_normal), small, normal);
        hn::StoreU(hn::TruncateTo(halves, hn::Or(half, sign)), halves, out + i);
    }
    for (; i < count; ++i) out[i] = float_to_half(values[i]);
}

}  // namespace candor::store::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace candor::store {

HWY_EXPORT(convert);
HWY_EXPORT(round_to_halves);

void halves_to_floats(const std::byte* stored, std::span<float> out) {
    HWY_DYNAMIC_DISPATCH(convert)(stored, out.data(), out.size());
}

void floats_to_halves(std::span<const float> values, std::uint16_t* out) {
    HWY_DYNAMIC_DISPATCH(round_to_halves)(values.data(), out, values.size());
}

}  // namespace candor::store
#endif
