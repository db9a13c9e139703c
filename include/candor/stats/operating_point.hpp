#pragma once

/// Where a score is cut to reach a wanted sensitivity (METHODS 8).

#include <optional>
#include <span>

namespace candor::stats {

struct OperatingPoint {
    double threshold;    ///< rows with score >= threshold are called positive
    double sensitivity;  ///< achieved; above the wanted one where scores are tied
};

/// The largest threshold t such that at least `sensitivity` of the positives have a score >= t; none where
/// there are no positives. The shares are compared as doubles: 4 of 5 reach 0.8.
/// @throws InternalError where a score is NaN or not 0 < sensitivity <= 1.
std::optional<OperatingPoint> operating_point(std::span<const double> positive_score, double sensitivity);

}  // namespace candor::stats
