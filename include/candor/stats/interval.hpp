#pragma once

/// Quantiles, and the intervals made of them or of counts (METHODS 4).

#include <cstdint>
#include <span>

namespace candor::stats {

/// Quantile of ascending finite values by linear interpolation at (n - 1) q; NaN for none.
/// @throws InternalError where q is outside [0, 1] or an end of `sorted` is not finite.
double quantile(std::span<const double> sorted, double q);

/// A percentile interval and what it rests on.
struct Interval {
    double low, high;    ///< NaN where no replicate is valid
    std::int64_t valid;  ///< replicates that are not NaN (n_boot_valid)
    bool all_equal;      ///< all valid ones have one value, which is then both ends
};

/// Percentile interval of bootstrap replicates in any order: the quantiles at (1 - confidence)/2 and
/// 1 - (1 - confidence)/2. NaN replicates are the resamples where the statistic is undefined: left out.
/// @throws InternalError where confidence is outside (0, 1) or a replicate is infinite.
Interval percentile_interval(std::span<const double> replicates, double confidence);

/// The two ends of an interval.
struct Bounds {
    double low, high;
};

/// Clopper-Pearson interval of a proportion, k of n; NaN for n = 0.
/// @throws InternalError where not 0 <= k <= n or confidence is outside (0, 1).
Bounds clopper_pearson(std::int64_t k, std::int64_t n, double confidence);

/// Quartiles by `quantile`; NaN for no values.
struct Quartiles {
    double lower, median, upper;
};

/// Quartiles of values in any order. @throws InternalError where one is not finite.
Quartiles quartiles(std::span<const double> values);

}  // namespace candor::stats
