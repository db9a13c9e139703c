#pragma once

/// Spearman's rank correlation (METHODS 7).

#include <cstdint>
#include <span>
#include <string_view>

namespace candor::stats {

/// Pairs up to which the permutations are enumerated.
inline constexpr std::int64_t most_permuted = 10;

struct Spearman {
    std::int64_t n;  ///< pairs without a NaN; the others are dropped
    double rho;      ///< Pearson correlation of the mid-ranks; NaN where undefined
    double p;        ///< two-sided, Student's t with n - 2 degrees of freedom; 0 for rho = 1 or -1
    double
        exact_p;  ///< share of the n! orders whose |rho| is at least the observed; NaN for n > most_permuted
    std::string_view undefined;  ///< why rho is NaN; empty where it is not
};

/// Spearman's correlation of x with y. Infinite values are ranked like any other.
/// @throws InternalError where the sizes differ or there are more than 2,000,000 pairs (the sums of products
/// of ranks are exact in 64 bits up to there).
Spearman spearman(std::span<const double> x, std::span<const double> y);

}  // namespace candor::stats
