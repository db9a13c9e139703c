#pragma once

/// The overlap that chance gives two sets: upper tails in log space and the null mean of the Jaccard index
/// (METHODS 6).

#include <cstdint>
#include <span>

namespace candor::stats {

/// X = |A and B| for a fixed set A of `first` and a random set B of `second` among `population` members.
struct Hypergeometric {
    std::int64_t population, first, second;  ///< N, a, b
};

/// log10 P(X >= overlap): 0 where the overlap is one that no two such sets can fall short of (always at 0),
/// -inf where it is one that they cannot reach. Relative error below 1e-13, however small p or 1 - p is.
/// @throws InternalError where not 0 <= a, b <= N <= 3e9 (products of two then fit 64 bits), or for an
/// overlap below 0.
double log10_upper_tail(const Hypergeometric& null, std::int64_t overlap);

/// The same for X the sum of independent hypergeometrics, one a context: `null = "stratified"`. No context:
/// X = 0. The cost is that of convolving the contexts' probabilities, some 20 standard deviations of each.
/// Relative error below 1e-11.
/// @throws InternalError as above, for any context.
double log10_upper_tail(std::span<const Hypergeometric> contexts, std::int64_t overlap);

/// E[J] = sum_i P(X = i) i / (a + b - i); NaN where both sets are empty. Relative error below 1e-12.
/// @throws InternalError as above.
double mean_jaccard(const Hypergeometric& null);

/// The same with X the sum over contexts, a and b the sums of the sizes; cost as the tail.
double mean_jaccard(std::span<const Hypergeometric> contexts);

}  // namespace candor::stats
