#include "candor/stats/operating_point.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "candor/base/error.hpp"

namespace candor::stats {

std::optional<OperatingPoint> operating_point(std::span<const double> positive_score, double sensitivity) {
    CANDOR_REQUIRE(sensitivity > 0 && sensitivity <= 1, "sensitivity " + std::to_string(sensitivity));
    for (std::size_t i = 0; i < positive_score.size(); ++i)
        CANDOR_REQUIRE(!std::isnan(positive_score[i]), "positive " + std::to_string(i) + " has score NaN");
    if (positive_score.empty()) return std::nullopt;
    std::vector<double> score(positive_score.begin(), positive_score.end());
    std::ranges::sort(score, std::greater<>());
    const auto n = static_cast<double>(score.size());
    std::size_t found = 1;
    while (static_cast<double>(found) / n < sensitivity) ++found;
    const double threshold = score[found - 1];
    const auto achieved = std::ranges::count_if(score, [&](double s) { return s >= threshold; });
    return OperatingPoint{threshold, static_cast<double>(achieved) / n};
}

}  // namespace candor::stats
