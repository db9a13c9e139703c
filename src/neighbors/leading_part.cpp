#include "candor/neighbors/leading_part.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/sum.hpp"
#include "candor/linalg/gemm.hpp"

namespace candor::neighbors {

// Let U be the directions (r x d), |U U^T - I| <= delta, and P the projection on their span. In real numbers
// <a, b> = <Pa, Pb> + <a - Pa, b - Pb>, where <Pa, Pb> = (Ua)^T (U U^T)^-1 (Ub) is within 2 delta |a||b| of
// <Ua, Ub>, and the last term is at most the product of the rests. Single precision in any order makes p of
// Ua with |p - Ua| <= d 2^-24 |U|_F |a| =: e |a|, so <p_a, p_b> is within (2e + e^2)(1 + delta) |a||b| of
// <Ua, Ub>, and its own product within r 2^-24 of that. |Pa|^2 >= |Ua|^2 (1 - delta) bounds the rest.
LeadingPart::LeadingPart(linalg::Directions directions, std::int64_t dimension)
    : directions_(std::move(directions)) {
    const auto r = static_cast<double>(size()), d = static_cast<double>(dimension);
    const double delta = directions_.defect;
    off_ = d * 0x1p-24 * std::sqrt(r * (1 + delta));
    // d + 3 for the product that is spared, 8 for the sum of the two terms and its comparison.
    slack_ = 1.01 * (2 * off_ + off_ * off_ + 3 * delta + (r + d + 3 + 8) * 0x1p-24);
}

void LeadingPart::split(MatrixView<const float> centred, std::span<const double> radius,
                        MatrixView<float> leading, std::span<float> rest) const {
    linalg::product(centred, directions_.rows.view(), leading);
    for (std::int64_t i = 0; i < centred.rows; ++i) {
        const double whole = radius[static_cast<std::size_t>(i)];
        const std::span<const float> p = leading.row(i);
        const double part = std::max(0.0, norm(p) * (1 - 1e-12) - off_ * whole);
        const double square = whole * whole - part * part * (1 - directions_.defect);
        rest[static_cast<std::size_t>(i)] =
            static_cast<float>(std::sqrt(std::max(0.0, square)) * (1 + 0x1p-22) + 0x1p-126);
    }
}

}  // namespace candor::neighbors
