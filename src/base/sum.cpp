#include "candor/base/sum.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "candor/base/by_processor.hpp"

namespace candor {

namespace {

constexpr std::size_t lanes = 16;

template <class T>
[[gnu::always_inline]] inline double dot_in_lanes(const T* a, const T* b, std::size_t count) {
    double sums[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane)
            sums[lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
    }
    for (std::size_t lane = 0; i < count; ++i, ++lane)
        sums[lane] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    }
    return sums[0];
}

CANDOR_BY_PROCESSOR double dot_of(const float* a, const float* b, std::size_t count) {
    return dot_in_lanes(a, b, count);
}
CANDOR_BY_PROCESSOR double dot_of(const double* a, const double* b, std::size_t count) {
    return dot_in_lanes(a, b, count);
}

}  // namespace

double dot(std::span<const float> a, std::span<const float> b) {
    return dot_of(a.data(), b.data(), a.size());
}
double dot(std::span<const double> a, std::span<const double> b) {
    return dot_of(a.data(), b.data(), a.size());
}

double norm(std::span<const float> a) {
    return std::sqrt(dot(a, a));
}

double norm(std::span<const double> a) {
    // Squares that are lost to underflow beside a sum as large as this are far below its last bit.
    constexpr double least = 0x1p-900;
    const double square = dot(a, a);
    if (std::isfinite(square) && square >= least) return std::sqrt(square);
    double largest = 0;
    for (const double value : a) largest = std::max(largest, std::abs(value));
    if (!(largest > 0) || !std::isfinite(largest)) return std::sqrt(square);
    const int exponent = std::ilogb(largest);
    std::vector<double> scaled(a.begin(), a.end());
    for (double& value : scaled) value = std::scalbn(value, -exponent);
    const std::span<const double> unit(scaled);
    return std::scalbn(std::sqrt(dot(unit, unit)), exponent);
}

}  // namespace candor
