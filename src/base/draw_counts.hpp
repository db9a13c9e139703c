#pragma once

/// The numbers of a stream counted by whole vectors: the inside of Stream::count_below.

#include <array>
#include <cstdint>
#include <span>

namespace candor {

/// ++counts[below(i, counts.size())], modulo 256, for i = 0 .. draws-1 of the stream of `key` and `item`.
/// False, and nothing done, where this processor has no vectors.
/// @pre counts.size() < 2^32
bool count_by_vectors(std::array<std::uint32_t, 2> key, std::uint64_t item, std::uint64_t draws,
                      std::span<std::uint8_t> counts);

/// The sum of all counts.
std::uint64_t sum_of_counts(std::span<const std::uint8_t> counts);

}  // namespace candor
