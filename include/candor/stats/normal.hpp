#pragma once

/// The standard normal distribution.

namespace candor::stats {

/// z with P(Z >= z) = 10^log10_p, to some 1e-3 where that is below 1e-300. @pre log10_p < 0
double normal_score(double log10_p);

}  // namespace candor::stats
