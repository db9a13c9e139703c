#pragma once

/// Cholesky's factor of a symmetric positive definite matrix in double, and what is solved with it.

#include <cstdint>

#include "candor/base/matrix.hpp"

namespace candor::linalg {

/// sum += factor rows^T rows in the lower triangle of `sum`: rows is n x d, sum d x d; above the diagonal
/// nothing is read or written. @throws InternalError where the shapes differ.
void add_scatter(MatrixView<const double> rows, MatrixView<double> sum, double factor = 1);

/// The same (factor 1) in the rows first .. first + count - 1 of `sum` alone, so that threads can share the
/// rows. @throws InternalError where the shapes differ or `sum` has no such rows.
void add_scatter_rows(MatrixView<const double> rows, MatrixView<double> sum, std::int64_t first,
                      std::int64_t count);

/// Replaces the lower triangle of the symmetric d x d matrix `a` by L with a = L L^T; above the diagonal
/// nothing is read or written.
/// @returns false where `a` is not positive definite as far as doubles tell (NaN included); `a` is then of no
/// use. @throws InternalError where `a` is not square.
[[nodiscard]] bool cholesky(MatrixView<double> a);

/// Replaces each row x of `rows` (n x d) by L^-1 x, whose squared length is x^T (L L^T)^-1 x. Of `factor` (d
/// x d) the lower triangle is read. @throws InternalError where the shapes differ.
void solve_lower(MatrixView<const double> factor, MatrixView<double> rows);

}  // namespace candor::linalg
