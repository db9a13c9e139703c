#pragma once

/// The three kinds of numbers a feature file may hold, and their exact conversion.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace candor::store {

enum class ElementType { float16, float32, float64 };

/// "float16", "float32" or "float64".
std::string_view name_of(ElementType type);
/// The type of that name, or nothing.
std::optional<ElementType> element_type_of(std::string_view name);
/// Bytes of one number.
std::int64_t size_of(ElementType type);

/// Exact value of an IEEE 754 half-precision number given by its bits.
float half_to_float(std::uint16_t bits);
/// Nearest half-precision number, ties to even; overflow gives infinity, NaN keeps its leading payload bits.
std::uint16_t float_to_half(double value);

/// Converts `out.size()` stored numbers in native byte order, exactly. @pre float is not asked of float64.
void decode(ElementType type, const std::byte* stored, std::span<float> out);
void decode(ElementType type, const std::byte* stored, std::span<double> out);

/// Rounds `values` to `type` (to nearest, ties to even) into `stored`. @returns the position of the first
/// finite value that overflows, or -1.
std::int64_t encode(ElementType type, std::span<const double> values, std::byte* stored);

/// Reverses the bytes of each of `bytes.size() / size_of(type)` numbers.
void swap_bytes(ElementType type, std::span<std::byte> bytes);

}  // namespace candor::store
