#pragma once

/// The p-value that bootstrap replicates give (METHODS 4, last item).

#include <cstdint>
#include <span>

namespace candor::stats {

/// Two-sided p of the statistic against `null`, from its bootstrap replicates v*:
///
///     p = min(1, 2 min(1 + #{v* <= null}, 1 + #{v* >= null}) / (B' + 1))
///
/// with B' the replicates that are not NaN; NaN where there is none.
/// @throws InternalError where `null` is NaN.
double bootstrap_p(std::span<const double> replicates, double null);

/// The smallest p that `valid` = B' replicates can give: min(1, 2 / (B' + 1)); NaN for none.
double smallest_bootstrap_p(std::int64_t valid);

}  // namespace candor::stats
