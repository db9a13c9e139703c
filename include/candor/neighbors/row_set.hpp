#pragma once

/// The feature rows of one context, in the two forms a search needs: as stored, for decisions in double, and
/// centred in single precision, for proposals by matrix products (METHODS 3).

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/matrix.hpp"

namespace candor::neighbors {

/// N rows of d numbers with norms > 0.
class RowSet {
  public:
    using Stored = std::variant<Matrix<float>, Matrix<double>>;

    /// Takes the rows as stored (float16 and float32 files as float, float64 as double) and centres them on
    /// their mean direction. @pre every row is finite; @throws InternalError where a norm is 0 or not finite.
    explicit RowSet(Stored stored);

    std::int64_t rows() const { return static_cast<std::int64_t>(norm_.size()); }
    std::int64_t dimension() const { return centred_.cols(); }

    /// Cosine of two rows, decided in double: <a, b> / (|a| |b|) in one fixed order, within [-1, 1]. Equal
    /// rows give equal cosines with any third row, to the bit.
    double cosine(ContextRow a, ContextRow b) const;

    /// Rows a' = a/|a| - m rounded to single precision, m the mean of the a/|a|.
    MatrixView<const float> centred() const { return centred_.view(); }
    /// <a/|a|, m> - <m, m>/2, so that cosine(a, b) = <a', b'> + offset(a) + offset(b) up to `error`.
    double offset(ContextRow a) const { return offset_[static_cast<std::size_t>(a.value)]; }
    /// |a'|, rounded up.
    double radius(ContextRow a) const { return radius_[static_cast<std::size_t>(a.value)]; }

    /// Bound on |<a', b'> in any single-precision summation order + offsets - cosine(a, b)| for two rows with
    /// radii at most ra and rb: (d + 3) 2^-24 ra rb for the product and the rounding of a' and b' (Jeannerod
    /// and Rump 2013: d u |a||b| holds in any order, with or without FMA), d 2^-125 for underflow, and 8 (d +
    /// 16) 2^-53 for all sums in double, whose terms are at most 1 in size.
    double error(double ra, double rb) const;

  private:
    Stored stored_;
    Matrix<float> centred_;
    std::vector<double> norm_, offset_, radius_;
};

}  // namespace candor::neighbors
