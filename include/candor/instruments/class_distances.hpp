#pragma once

/// Mahalanobis distances (METHODS 9) of all findings of a dataset, by whichever way takes fewest flops.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/matrix.hpp"
#include "candor/neighbors/row_source.hpp"

namespace candor::instruments {

/// A finding's labels: 1 positive, 0 negative, below 0 not labelled. Rows that no finding labels are better
/// left out: where a finding labels all, much is shared.
struct FindingLabels {
    std::span<const std::int8_t> training;  ///< of each training row
    std::span<const std::int8_t> test;      ///< of each test row; those labelled ask
};

/// How the distances are to be computed. It follows from the labels alone.
struct DistancePlan {
    enum class Way {
        none,      ///< a class has no training rows
        own,       ///< a scatter of the finding's own rows, and Cholesky's factor of it
        shared,    ///< the scatter of all rows less that of the few that are not labelled, likewise
        the_axes,  ///< of the scatter of all rows, which are all labelled
    };
    std::vector<Way> ways;  ///< by finding
    double flops = 0;
};

/// @param findings  their labels of rows with `dimension` numbers
DistancePlan plan_distances(std::span<const FindingLabels> findings, std::int64_t dimension);

/// Findings x test rows. NaN: not labelled, or no class has rows or no row differs from its class's mean.
/// Where less than a tenth of the variance is within classes, a finding has its own scatter whatever the plan
/// says, so that of 16 digits the shared ones lose no more than one besides what the covariance's condition
/// costs.
/// @param rows    of `training` and `test`
/// @param stops   asked every few seconds
/// @returns nothing where it said yes. The same bits on any number of threads.
/// @throws InternalError where sizes differ or a row has no direction.
std::optional<Matrix<double>> class_distances(const neighbors::RowSource& rows,
                                              std::span<const ContextRow> training,
                                              std::span<const ContextRow> test,
                                              std::span<const FindingLabels> findings, int threads,
                                              const std::function<bool()>& stops);

}  // namespace candor::instruments
