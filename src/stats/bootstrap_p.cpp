#include "candor/stats/bootstrap_p.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "candor/base/error.hpp"

namespace candor::stats {

namespace {

/// 2 (1 + tail) / (B' + 1), at most 1. One expression for the p and for its floor, so that they compare
/// equal.
double two_sided(std::int64_t tail, std::int64_t valid) {
    if (valid == 0) return std::numeric_limits<double>::quiet_NaN();
    return std::min(1.0, static_cast<double>(2 * (1 + tail)) / static_cast<double>(valid + 1));
}

}  // namespace

double bootstrap_p(std::span<const double> replicates, double null) {
    CANDOR_REQUIRE(!std::isnan(null), "the null value is NaN");
    std::int64_t valid = 0, below = 0, above = 0;
    for (const double v : replicates) {
        valid += !std::isnan(v);
        below += v <= null;
        above += v >= null;
    }
    return two_sided(std::min(below, above), valid);
}

double smallest_bootstrap_p(std::int64_t valid) {
    CANDOR_REQUIRE(valid >= 0, std::to_string(valid) + " replicates");
    return two_sided(0, valid);
}

}  // namespace candor::stats
