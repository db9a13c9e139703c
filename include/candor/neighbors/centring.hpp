#pragma once

/// What single-precision products are taken of: unit rows less a common centre (METHODS 3).

#include <cstdint>
#include <span>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/neighbors/row_source.hpp"

namespace candor::neighbors {

/// Scales rows of doubles by powers of two, so that no square overflows and no norm vanishes: exact but for
/// entries that are 2^-1000 of the largest. Rows of floats are left: the square of a float is far inside the
/// range of a double.
void scale_to_unit_range(StoredRows& rows);

/// Rows centred on m: a' = a/|a| - m, rounded to single precision.
class Centring {
  public:
    /// m is the mean direction of `sample`. Any m is right; one near the rows' mean keeps the a' short and
    /// their products exact. @throws InternalError where a norm is 0 or not finite.
    explicit Centring(const StoredRows& sample);

    /// What a row is besides its a'.
    struct Row {
        double norm = 0;
        double offset = 0;  ///< <a/|a|, m> - <m, m>/2: cosine(a, b) = <a', b'> + offset(a) + offset(b)
        double radius = 0;  ///< |a'|, rounded up
    };

    /// Writes a' to `out`. @throws InternalError where the norm is 0 or not finite.
    template <class T>
    Row centre(std::span<const T> row, std::span<float> out) const;

  private:
    std::vector<double> mean_;
    double half_square_ = 0;
};

/// Bound on |<a', b'> in any single-precision summation order + offsets - cosine(a, b)| for two rows of d
/// numbers with radii at most ra and rb: (d + 3) 2^-24 ra rb for the product and the rounding of a' and b'
/// (Jeannerod and Rump 2013: d u |a||b| holds in any order, with or without FMA), d 2^-125 for underflow, and
/// 8 (d + 16) 2^-53 for all sums in double, whose terms are at most 1 in size.
double product_error(std::int64_t d, double ra, double rb);

}  // namespace candor::neighbors
