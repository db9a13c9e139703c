#include "candor/instruments/operating_point.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "candor/base/error.hpp"

namespace candor::instruments {

std::optional<OperatingPoint> operating_point(std::span<const double> positive_logits, double sensitivity) {
    CANDOR_REQUIRE(sensitivity > 0 && sensitivity <= 1, std::to_string(sensitivity));
    std::vector<double> z(positive_logits.begin(), positive_logits.end());
    for (const double value : z) CANDOR_REQUIRE(std::isfinite(value), std::to_string(value));
    if (z.empty()) return std::nullopt;
    std::ranges::sort(z, std::greater<>());
    // Candidates are the values of positives, and each is judged with all that tie with it. The share is
    // rounded as the number in the study file was, so that 4 of 5 are 0.8.
    OperatingPoint point;
    point.positives = std::ssize(z);
    do {
        point.threshold = z[static_cast<std::size_t>(point.found)];
        point.found = std::ranges::upper_bound(z, point.threshold, std::greater<>()) - z.begin();
    } while (point.sensitivity() < sensitivity);
    return point;
}

}  // namespace candor::instruments
