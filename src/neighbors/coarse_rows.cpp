#include "candor/neighbors/coarse_rows.hpp"

#include <algorithm>
#include <cmath>

namespace candor::neighbors {

CoarseRows::CoarseRows(MatrixView<const float> centred, std::span<const double> radius)
    : values(centred.rows, centred.cols) {
    const MatrixView<std::int8_t> out = values.view();
    for (std::int64_t i = 0; i < centred.rows; ++i) {
        const std::span<const float> row = centred.row(i);
        float largest = 0;
        for (const float v : row) largest = std::max(largest, std::abs(v));
        const float one = largest > 0 ? largest / 127 : 1;
        const float scale = 1 / one;
        std::int8_t* const q = out.data + i * out.stride;
        double square = 0;
        // Adding and taking away 1.5 x 2^23 rounds to the nearest integer, without a call a number.
        constexpr float integers = 0x1.8p23F;
        for (std::size_t j = 0; j < row.size(); ++j) {
            const float near = (row[j] * scale + integers) - integers;
            const double off =
                static_cast<double>(row[j]) - static_cast<double>(one) * static_cast<double>(near);
            square += off * off;
            q[j] = static_cast<std::int8_t>(near);
        }
        std::fill(q + row.size(), q + out.stride, std::int8_t{0});
        const double off = std::sqrt(square) * (1 + 1e-6) + 0x1p-126;
        step.push_back(one);
        error.push_back(static_cast<float>(off * (1 + 0x1p-22)));
        length.push_back(static_cast<float>((radius[static_cast<std::size_t>(i)] + off) * (1 + 0x1p-22)));
    }
}

}  // namespace candor::neighbors
