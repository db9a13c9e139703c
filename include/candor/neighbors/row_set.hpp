#pragma once

/// The feature rows of one context, in the two forms a search needs: as stored, for decisions in double, and
/// centred in single precision, for proposals by matrix products (METHODS 3).

#include <cstdint>
#include <span>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/matrix.hpp"
#include "candor/neighbors/row_source.hpp"

namespace candor::neighbors {

/// Cosine of two rows, decided in double: <a, b> / (|a| |b|) in one fixed order, within [-1, 1]. Equal rows
/// give equal cosines with any third row, to the bit.
template <class T>
double cosine_of(std::span<const T> a, double norm_a, std::span<const T> b, double norm_b);

/// N rows of d numbers with norms > 0, in memory.
class RowSet final : public RowSource {
  public:
    using Stored = StoredRows;

    /// Takes the rows as stored (float16 and float32 files as float, float64 as double) and centres them on
    /// their mean direction. @pre every row is finite; @throws InternalError where a norm is 0 or not finite.
    explicit RowSet(Stored stored);

    std::int64_t rows() const override { return static_cast<std::int64_t>(norm_.size()); }
    std::int64_t dimension() const override { return centred_.cols(); }
    StoredRows read(std::span<const ContextRow> which) const override;

    /// cosine_of rows a and b.
    double cosine(ContextRow a, ContextRow b) const;

    /// Rows a' = a/|a| - m rounded to single precision, m the mean of the a/|a|.
    MatrixView<const float> centred() const { return centred_.view(); }
    /// <a/|a|, m> - <m, m>/2, so that cosine(a, b) = <a', b'> + offset(a) + offset(b) up to `error`.
    double offset(ContextRow a) const { return offset_[static_cast<std::size_t>(a.value)]; }
    /// |a'|, rounded up.
    double radius(ContextRow a) const { return radius_[static_cast<std::size_t>(a.value)]; }

    /// product_error of two rows of this set with radii at most ra and rb.
    double error(double ra, double rb) const;

  private:
    Stored stored_;
    Matrix<float> centred_;
    std::vector<double> norm_, offset_, radius_;
};

}  // namespace candor::neighbors
