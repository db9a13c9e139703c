#pragma once

/// Rows in bytes: a' = step q + e with q of integers in [-127, 127] and |e| known. They take a quarter of the
/// memory traffic, and what they tell of a product is mostly enough to rule it out.

#include <cstdint>
#include <span>
#include <vector>

#include "candor/base/matrix.hpp"

namespace candor::neighbors {

struct CoarseRows {
    Matrix<std::int8_t> values;  ///< q; padding is zero
    std::vector<float> step;
    std::vector<float> error;   ///< |e|, rounded up
    std::vector<float> length;  ///< |a'| + |e|, rounded up

    CoarseRows() = default;
    /// @param radius |a'| of each row, rounded up.
    CoarseRows(MatrixView<const float> centred, std::span<const double> radius);

    /// A bound on <a', b'> in real numbers from `product`, that of the q, but for 2^-20 |a'||b'|: with
    /// a' = a^ + e_a and b' alike, <a', b'> = <a^, b^> + <e_a, b^> + <a', e_b>.
    static float bound(const CoarseRows& a, std::int64_t i, const CoarseRows& b, std::int64_t j,
                       std::int32_t product) {
        const auto m = static_cast<std::size_t>(i), n = static_cast<std::size_t>(j);
        return a.step[m] * b.step[n] * static_cast<float>(product) + a.error[m] * b.length[n] +
               a.length[m] * b.error[n];
    }
};

}  // namespace candor::neighbors
