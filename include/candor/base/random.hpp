#pragma once

/// Counter-based random streams (Philox 4x32-10 of Random123): a number is a function of what is drawn and of
/// nothing else, so it is the same on every rank, thread and machine.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace candor {

/// Uniform on (0, 1) from 64 bits: an odd multiple of 2^-53.
inline double uniform_of(std::uint64_t bits) {
    // 52 bits, so that the half is exact: with 53 the largest number would round to 1.
    return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
}

/// A stream of its own for each (seed, purpose, item): e.g. (study seed, "bootstrap/chest", resample).
class Stream {
  public:
    Stream(std::uint64_t seed, std::string_view purpose, std::uint64_t item);

    /// The i-th 64-bit number of the stream; any order, any number of times.
    std::uint64_t bits(std::uint64_t i) const;
    /// bits(2 i) and bits(2 i + 1), for the cost of one of them.
    std::array<std::uint64_t, 2> two_bits(std::uint64_t i) const;
    /// The i-th number, uniform on 0 .. bound-1 (multiply-shift; the bias is below bound / 2^64).
    std::uint64_t below(std::uint64_t i, std::uint64_t bound) const;
    /// How often each number below counts.size() comes among below(i, counts.size()), i = 0 .. draws-1, many
    /// of them at a time. Returns whether every count is below 256; what `counts` holds is of no use
    /// otherwise.
    /// @pre counts.size() < 2^32, and at least 1 unless draws is 0
    [[nodiscard]] bool count_below(std::uint64_t draws, std::span<std::uint8_t> counts) const;
    /// The i-th number, uniform on (0, 1): uniform_of(bits(i)).
    double uniform(std::uint64_t i) const;

  private:
    std::array<std::uint32_t, 2> key_;
    std::uint64_t item_;
};

}  // namespace candor
