#pragma once

/// The axes of a symmetric matrix in double, by LAPACK.

#include <vector>

#include "candor/base/matrix.hpp"

namespace candor::linalg {

/// A = V^T diag(values) V.
struct Eigenvectors {
    std::vector<double> values;  ///< ascending
    Matrix<double> rows;         ///< V: a vector a row, of length 1
};

/// Of the symmetric d x d matrix whose lower triangle is that of `a`; above its diagonal nothing is read. The
/// values and V^T diag V are off by a few d ulps of the largest value (Anderson et al. 1999, LAPACK Users'
/// Guide, 4.7). Takes about 10 d^3 flops and two further matrices of d x d.
/// @throws InternalError where `a` is not square or not finite, MachineError where the iteration fails.
Eigenvectors eigenvectors(MatrixView<const double> a);

}  // namespace candor::linalg
