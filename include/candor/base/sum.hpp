#pragma once

/// Sums in double whose order is fixed, so that their bits do not depend on machine, compiler or vector
/// width: 16 lanes, multiply then add, lanes folded by halves. (The build forbids contraction into FMA.)

#include <cmath>
#include <cstddef>
#include <span>

namespace candor {

/// Inner product of two equally long rows of float or double.
template <class A, class B>
double dot(std::span<const A> a, std::span<const B> b) {
    constexpr std::size_t lanes = 16;
    double sums[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= a.size(); i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            sums[lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
        }
    }
    for (std::size_t lane = 0; i < a.size(); ++i, ++lane) {
        sums[lane] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    }
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    }
    return sums[0];
}

/// Euclidean norm, accumulated in double.
template <class A>
double norm(std::span<const A> a) {
    return std::sqrt(dot(a, a));
}

}  // namespace candor
