#pragma once

/// Singular values by the full decomposition of LAPACK (divide and conquer, `dgesdd`).

#include <vector>

#include "candor/base/matrix.hpp"

namespace candor::linalg {

/// The min(m, n) singular values of an m x n matrix, the largest first, computed in double. Each is off by a
/// small multiple of 2^-53 times the largest, to either side: unlike an iteration's estimate none is
/// systematically too small.
/// @throws InternalError where a value is not finite; MachineError where LAPACK does not converge.
std::vector<double> singular_values(MatrixView<const float> a);

}  // namespace candor::linalg
