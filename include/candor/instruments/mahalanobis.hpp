#pragma once

/// Distances of test rows from the classes of one finding's training rows (METHODS 9; Lee et al. 2018, with
/// their one covariance for both classes).

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/matrix.hpp"
#include "candor/instruments/training_scatter.hpp"
#include "candor/instruments/unit_rows.hpp"

namespace candor::instruments {

/// METHODS 9: the share of the mean variance within classes that is added to each direction's.
inline constexpr double mahalanobis_ridge = 1e-3;

/// Whether rows differ from the means of their classes. @param variance  their scatter's trace / n
bool scatters(double variance, std::int64_t n);

/// Two classes of normalised rows with means m+, m- and
///
///     S = (scatter of the positives about m+  +  of the negatives about m-) / n + 1e-3 (trace / d) I,
///
/// n the training rows, trace that of the scatter / n. All in double; rows in the order given, in blocks of
/// one size, so that the bits depend on nothing else but the BLAS and its kernel.
class Mahalanobis {
  public:
    /// @param training labelled for the finding
    /// @param label    of each: 1 positive, 0 negative
    /// @returns none where a class has no rows, or where no row differs from the mean of its class.
    /// @throws InternalError where the sizes differ, a label is neither, or a row has no direction.
    static std::optional<Mahalanobis> fit(const UnitRows& rows, std::span<const ContextRow> training,
                                          std::span<const std::int8_t> label);

    /// The same from what findings share: the scatter of all rows less that of `unlabelled`, those that the
    /// finding does not label, and of the class means. S is off by as many ulps more as the rows' scatter is
    /// larger than that within classes. @pre both classes have rows
    static std::optional<Mahalanobis> fit(const UnitRows& rows, const TrainingScatter& all,
                                          const TrainingScatter::Finding& finding,
                                          std::span<const ContextRow> unlabelled);

    /// min over the classes of sqrt((x - m)^T S^-1 (x - m)), of each row of `test`.
    std::vector<double> distances(const UnitRows& rows, std::span<const ContextRow> test) const;

  private:
    Mahalanobis() = default;
    /// @param means    m-, m+
    /// @param scatter  within classes, the lower triangle
    static std::optional<Mahalanobis> of(const Matrix<double>& means, Matrix<double> scatter, std::int64_t n);

    std::vector<double> mean_;  // m-
    Matrix<double> factor_;     // L, S = L L^T
    Matrix<double> apart_;      // L^-1 (m+ - m-), one row
};

}  // namespace candor::instruments
