#pragma once

/// False discovery rate in a family of tests (METHODS 5).

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace candor::stats {

/// Benjamini-Hochberg q-values, one for each p: step-up with the running minimum, at most 1. A NaN is an
/// undefined test: it leaves the family (the others' m does not count it) and its q is NaN. Reject where
/// q <= alpha.
/// @throws InternalError naming the position where a p is outside [0, 1].
std::vector<double> benjamini_hochberg(std::span<const double> p);

/// What is printed beside a family.
struct Family {
    std::int64_t tests;        ///< m, the defined ones
    std::int64_t undefined;    ///< the others
    std::int64_t rejected;     ///< q <= alpha
    double smallest_p;         ///< the smallest p this kind of test can give
    std::int64_t at_smallest;  ///< tests with p <= smallest_p
    /// Tests that would have to sit at smallest_p for a rejection; none where even all m would not do.
    std::optional<std::int64_t> needed;
};

/// Summary of a family at level `alpha`, for tests that cannot give less than `smallest_p` (0: no floor).
/// `needed` is the smallest j <= m whose q, were j tests at smallest_p, is at most alpha.
/// @throws InternalError as benjamini_hochberg, or where alpha or smallest_p is outside [0, 1].
Family summarise_family(std::span<const double> p, double alpha, double smallest_p);

}  // namespace candor::stats
