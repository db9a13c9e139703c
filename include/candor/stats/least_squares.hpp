#pragma once

/// The least-squares line through points in the plane (METHODS 11).

#include <cstdint>
#include <span>
#include <string_view>

namespace candor::stats {

/// y = intercept + slope x. NaN where undefined; the slope and the intercept may be defined where the test is
/// not.
struct LeastSquares {
    std::int64_t n;  ///< points without a NaN; the others are dropped
    double slope, intercept;
    double standard_error;       ///< of the slope, from the residuals with n - 2 degrees of freedom
    double p;                    ///< two-sided t-test of slope 0; 0 for a line without residuals
    std::string_view undefined;  ///< why there is no line, or no test; empty where there are both
};

/// Regression of y on x. There is no line with fewer than 2 points or with all x equal, no standard error
/// and no test with 2 points, and no test with all y equal (the slope and its error are then both 0).
/// @throws InternalError where the sizes differ, or a value is infinite.
LeastSquares least_squares(std::span<const double> x, std::span<const double> y);

}  // namespace candor::stats
