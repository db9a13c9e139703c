#include "candor/store/element.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "candor/base/error.hpp"
#include "candor/store/halves.hpp"

namespace candor::store {

static_assert(std::endian::native == std::endian::little, "feature files are read as little-endian numbers");
static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

namespace {

template <class Stored, class T>
void copy_values(const std::byte* stored, std::span<T> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        Stored value;
        std::memcpy(&value, stored + i * sizeof value, sizeof value);
        out[i] = static_cast<T>(value);
    }
}

void copy_halves(const std::byte* stored, std::span<double> out) {
    float singles[256];
    while (!out.empty()) {
        const std::span<float> part(singles, std::min(out.size(), std::size(singles)));
        halves_to_floats(stored, part);
        std::copy(part.begin(), part.end(), out.begin());
        stored += part.size() * sizeof(std::uint16_t);
        out = out.subspan(part.size());
    }
}

}  // namespace

std::string_view name_of(ElementType type) {
    switch (type) {
        case ElementType::float16:
            return "float16";
        case ElementType::float32:
            return "float32";
        case ElementType::float64:
            return "float64";
    }
    return {};
}

std::optional<ElementType> element_type_of(std::string_view name) {
    for (const ElementType type : {ElementType::float16, ElementType::float32, ElementType::float64}) {
        if (name == name_of(type)) return type;
    }
    return std::nullopt;
}

std::int64_t size_of(ElementType type) {
    switch (type) {
        case ElementType::float16:
            return 2;
        case ElementType::float32:
            return 4;
        case ElementType::float64:
            return 8;
    }
    return 0;
}

float half_to_float(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t magnitude = bits & 0x7fffu;
    // Subnormals by integer arithmetic, so that a thread that flushes subnormal floats to zero changes
    // nothing.
    const std::uint32_t small = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
    const std::uint32_t normal = (magnitude << 13) + (std::uint32_t{127 - 15} << 23);
    const std::uint32_t special = (magnitude << 13) | 0x7f800000u;
    const std::uint32_t value = magnitude < 0x0400u ? small : magnitude < 0x7c00u ? normal : special;
    return std::bit_cast<float>(sign | value);
}

std::uint16_t float_to_half(double value) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 48 & 0x8000u);
    if (std::isnan(value)) {
        const auto payload = static_cast<std::uint16_t>(bits >> 42 & 0x03ffu);
        return static_cast<std::uint16_t>(sign | 0x7c00u | (payload ? payload : 0x0200u));
    }
    const double magnitude = std::fabs(value);
    if (magnitude >= 65520.0)
        return static_cast<std::uint16_t>(sign | 0x7c00u);  // half of the last gap beyond 65504
    // Below 2^-14 the gap is 2^-24 throughout; above, 2^(e - 10). A round up into the next binade carries
    // into the exponent by itself.
    const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
    const double steps = std::nearbyint(std::ldexp(magnitude, 10 - exponent));
    const int offset = magnitude < 0x1p-14 ? 0 : (exponent + 15) * 1024 - 1024;
    return static_cast<std::uint16_t>(sign | static_cast<unsigned>(offset + static_cast<int>(steps)));
}

void decode(ElementType type, const std::byte* stored, std::span<float> out) {
    CANDOR_REQUIRE(type != ElementType::float64, "float64 does not fit a float");
    if (type == ElementType::float16) return halves_to_floats(stored, out);
    copy_values<float>(stored, out);
}

void decode(ElementType type, const std::byte* stored, std::span<double> out) {
    switch (type) {
        case ElementType::float16:
            return copy_halves(stored, out);
        case ElementType::float32:
            return copy_values<float>(stored, out);
        case ElementType::float64:
            return copy_values<double>(stored, out);
    }
}

std::int64_t encode(ElementType type, std::span<const double> values, std::byte* stored) {
    std::int64_t overflow = -1;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = values[i];
        bool infinite = false;
        if (type == ElementType::float16) {
            const std::uint16_t half = float_to_half(value);
            infinite = (half & 0x7fffu) == 0x7c00u;
            std::memcpy(stored + i * sizeof half, &half, sizeof half);
        } else if (type == ElementType::float32) {
            const float single = static_cast<float>(value);
            infinite = std::isinf(single);
            std::memcpy(stored + i * sizeof single, &single, sizeof single);
        } else {
            std::memcpy(stored + i * sizeof value, &value, sizeof value);
        }
        if (infinite && std::isfinite(value) && overflow < 0) overflow = static_cast<std::int64_t>(i);
    }
    return overflow;
}

void swap_bytes(ElementType type, std::span<std::byte> bytes) {
    const auto size = static_cast<std::size_t>(size_of(type));
    for (std::size_t i = 0; i + size <= bytes.size(); i += size) {
        std::reverse(bytes.data() + i, bytes.data() + i + size);
    }
}

}  // namespace candor::store
