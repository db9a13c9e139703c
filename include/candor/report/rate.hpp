#pragma once

/// A discordance rate as it is shown everywhere: in the overview, the exhibits and the figures.

#include <cmath>
#include <cstddef>

#include "candor/store/table.hpp"

namespace candor::report {

/// Share of ties from which on a rate is shown with ties counted half (METHODS 3: a warning above 1 %).
inline constexpr double notable_ties = 0.01;

/// A rate as it is shown. Where ties are many, D would make an encoder that tells nothing apart look best:
/// the rate with ties counted half stands in its place, without D's interval.
struct Rate {
    double shown = NAN, low = NAN, high = NAN;  ///< fractions; NaN: undefined, no interval
    bool excludes_half = false;                 ///< the interval lies on one side of 1/2
    bool tied = false;                          ///< `shown` counts ties half
};

/// Row `row` of a table with the columns `d`, `d_low`, `d_high`, `bound_low`, `bound_high`, `rate_mid` and
/// `excludes_half`. The interval of a rate of 0 or 1 that no resample moves is its bound.
/// @throws DataError where one is missing.
Rate rate_of(const store::ResultTable& table, std::size_t row);

}  // namespace candor::report
