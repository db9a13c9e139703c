#pragma once

/// Half-precision numbers converted by whole vectors.

#include <cstddef>
#include <span>

namespace candor::store {

/// half_to_float of `out.size()` numbers stored in native byte order, to the bit, by the widest vectors of
/// this processor. `stored` needs no alignment.
void halves_to_floats(const std::byte* stored, std::span<float> out);

}  // namespace candor::store
