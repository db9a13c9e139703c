#pragma once

/// What the first few of a set of directions tell of a product: with p the part of a row along r directions
/// and s the length of what is left, <a', b'> <= <p_a, p_b> + s_a s_b. A pair that this rules out is never
/// multiplied out.

#include <cstdint>
#include <span>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/linalg/directions.hpp"

namespace candor::neighbors {

class LeadingPart {
  public:
    LeadingPart(linalg::Directions directions, std::int64_t dimension);

    std::int64_t size() const { return directions_.rows.rows(); }

    /// p of every row of `centred` into `leading`, and s, rounded up. `radius` as Centring::Row's.
    void split(MatrixView<const float> centred, std::span<const double> radius, MatrixView<float> leading,
               std::span<float> rest) const;

    /// How far <a', b'>, computed in single precision in any order, may lie above what single precision
    /// makes of <p_a, p_b> + s_a s_b, for rows of radii ra and rb.
    double slack(double ra, double rb) const { return slack_ * ra * rb; }

  private:
    linalg::Directions directions_;
    double off_ = 0;  ///< bound on |p - U a'| / |a'|
    double slack_ = 0;
};

}  // namespace candor::neighbors
