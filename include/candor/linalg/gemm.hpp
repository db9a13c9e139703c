#pragma once

/// Dense products by the system's BLAS, one thread a call: the threads of candor call it side by side.

#include <string>

#include "candor/base/matrix.hpp"

namespace candor::linalg {

/// c = a b^T in single or in double precision: a is m x d, b is n x d, c is m x n.
/// @pre shapes agree; c does not overlap a or b.
void product(MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c);
void product(MatrixView<const double> a, MatrixView<const double> b, MatrixView<double> c);

/// c = a b in single or in double precision: a is m x n, b is n x d, c is m x d.
/// @pre shapes agree; c does not overlap a or b.
void multiply(MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c);
void multiply(MatrixView<const double> a, MatrixView<const double> b, MatrixView<double> c);

/// Sets the BLAS to one thread a call for the whole program, and compares a few products with sums in double:
/// a BLAS that guesses the processor wrong is known to return wrong numbers.
/// @param threads  so many will call it at a time
/// @throws MachineError where a product is off by more than its error bound, or where the address space is
/// too small for the buffers of `threads` calls, with the way out.
void open_blas(int threads = 1);

/// Version and build of the BLAS, one line.
std::string blas_description();
/// The kernel it chose for this processor, e.g. "Haswell".
std::string blas_core();

}  // namespace candor::linalg
