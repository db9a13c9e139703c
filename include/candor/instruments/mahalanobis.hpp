#pragma once

/// Distances of test rows from the classes of the training rows (METHODS 9; Lee et al. 2018, with their one
/// covariance for both classes).

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/matrix.hpp"
#include "candor/neighbors/row_source.hpp"

namespace candor::instruments {

/// Two classes of normalised rows with means m+, m- and
///
///     S = (scatter of the positives about m+  +  of the negatives about m-) / n + 1e-3 (trace / d) I,
///
/// n the training rows, trace that of the scatter / n. All in double; rows in the order given, in blocks of
/// one size, so that the bits depend on nothing else but the BLAS and its kernel.
class Mahalanobis {
  public:
    /// @param rows     training and test rows as stored; each is divided by its norm
    /// @param training labelled for the finding
    /// @param label    of each: 1 positive, 0 negative
    /// @returns none where a class has no rows, or where no row differs from the mean of its class.
    /// @throws InternalError where the sizes differ, a label is neither, or a row has no direction.
    static std::optional<Mahalanobis> fit(const neighbors::RowSource& rows,
                                          std::span<const ContextRow> training,
                                          std::span<const std::int8_t> label);

    /// min over the classes of sqrt((x - m)^T S^-1 (x - m)), of each row of `test`. The same bits on any
    /// number of threads.
    std::vector<double> distances(const neighbors::RowSource& rows, std::span<const ContextRow> test,
                                  int threads) const;

  private:
    Mahalanobis() = default;

    std::vector<double> mean_;  // m-
    Matrix<double> factor_;     // L, S = L L^T
    Matrix<double> apart_;      // L^-1 (m+ - m-), one row
};

}  // namespace candor::instruments
