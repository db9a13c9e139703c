#pragma once

/// Half-precision numbers converted by whole vectors.

#include <cstddef>
#include <cstdint>
#include <span>

namespace candor::store {

/// half_to_float of `out.size()` numbers stored in native byte order, to the bit, by the widest vectors of
/// this processor. `stored` needs no alignment.
void halves_to_floats(const std::byte* stored, std::span<float> out);

/// The nearest half of each number, ties to even, as float_to_half; `out` in native byte order.
/// @pre every magnitude is below 65520, and `out` is as long as `values`
void floats_to_halves(std::span<const float> values, std::uint16_t* out);

}  // namespace candor::store
