#include "candor/instruments/head_margin.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "candor/base/error.hpp"
#include "candor/instruments/discordance.hpp"

namespace candor::instruments {

double head_margin(const HeadCase& of, double threshold) {
    return std::min(of.z - threshold, threshold - of.z_negative);
}

HeadMargins head_margins(std::span<const HeadCase> cases, double threshold, double lipschitz) {
    CANDOR_REQUIRE(std::isfinite(threshold) && std::isfinite(lipschitz) && lipschitz >= 0,
                   "threshold " + std::to_string(threshold) + ", L " + std::to_string(lipschitz));
    HeadMargins out;
    std::vector<double> margins, caps, shares;
    for (const HeadCase& one : cases) {
        CANDOR_REQUIRE(std::isfinite(one.z) && std::isfinite(one.z_negative) && std::isfinite(one.s1),
                       std::to_string(one.z) + ", " + std::to_string(one.z_negative) + ", cosine " +
                           std::to_string(one.s1));
        ++out.cases;
        const double m = head_margin(one, threshold);
        if (m <= 0) continue;
        ++out.separated;
        const double cap = margin_cap(one.s1);
        // Multiplied out: a head without slope that separates is a violation, not a division by 0.
        if (m > lipschitz * (cap + cap_rounding)) ++out.violations;
        caps.push_back(cap);
        if (lipschitz == 0) continue;
        margins.push_back(m / lipschitz);
        if (cap > 0) shares.push_back(m / lipschitz / cap);
    }
    out.margin = stats::quartiles(margins);
    out.cap1 = stats::quartiles(caps);
    out.share = stats::quartiles(shares);
    return out;
}

}  // namespace candor::instruments
