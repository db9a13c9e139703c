#pragma once

/// Where a head decides (METHODS 8).

#include <cstdint>
#include <optional>
#include <span>

namespace candor::instruments {

/// A row is called positive where z >= threshold.
struct OperatingPoint {
    double threshold = 0;
    std::int64_t found = 0;      ///< positives with z >= threshold
    std::int64_t positives = 0;  ///< of the validation rows

    /// Achieved, at least what was asked for: more where positives tie at the threshold.
    double sensitivity() const { return static_cast<double>(found) / static_cast<double>(positives); }
};

/// The largest threshold t at which found/positives >= sensitivity: the value of the ceil(sensitivity x
/// positives)-th largest positive, ties counted in. Undefined (empty) without positives.
/// @param positive_logits  z of the positives of validation, in any order
/// @param sensitivity      in (0, 1]
/// @throws InternalError where a logit is not finite or the sensitivity is outside its range.
std::optional<OperatingPoint> operating_point(std::span<const double> positive_logits, double sensitivity);

}  // namespace candor::instruments
