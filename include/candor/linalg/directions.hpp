#pragma once

/// Directions in which a sample of rows is longest, by randomised subspace iteration (Halko, Martinsson and
/// Tropp 2011, algorithm 4.4).

#include <cstdint>

#include "candor/base/matrix.hpp"
#include "candor/base/random.hpp"

namespace candor::linalg {

struct Directions {
    Matrix<float> rows;  ///< at most as many as asked for, x d, as good as orthonormal
    double defect = 0;   ///< bound on the spectral norm of rows rows^T - I
};

/// At most `count` directions, the longest first. @pre count <= d.
Directions leading_directions(MatrixView<const float> sample, std::int64_t count, const Stream& stream);

}  // namespace candor::linalg
