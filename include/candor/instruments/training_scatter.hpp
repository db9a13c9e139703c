#pragma once

/// What the findings of one dataset share of their Mahalanobis distances (METHODS 9): how the training rows
/// lie about their mean.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/matrix.hpp"
#include "candor/instruments/unit_rows.hpp"

namespace candor::instruments {

/// Of n unit rows x, z = x - their mean.
struct TrainingScatter {
    std::int64_t rows = 0;     ///< n
    std::vector<double> mean;  ///< of x
    Matrix<double> scatter;    ///< sum of z z^T, the lower triangle
    double squares = 0;        ///< sum of |z|^2

    /// Of the rows that a finding labels.
    struct Finding {
        std::array<std::int64_t, 2> count{};  ///< negatives, positives
        Matrix<double> sum;                   ///< of z, a class a row
        double squares = 0;                   ///< of |z|^2

        /// Sum of squared distances from the class means. @pre both classes have rows.
        double within() const;
        /// The mean of class c as a unit row's place: `mean` and the class's own share.
        std::vector<double> mean(const TrainingScatter& all, std::size_t c) const;
    };
    std::vector<Finding> findings;
};

/// @param labels  a finding each: of each row of `training` 1, 0, or below 0 where it is not labelled
/// @param stops   asked every few seconds
/// @returns nothing where it said yes. The same bits on any number of threads.
/// @throws InternalError where sizes differ or a row has no direction.
std::optional<TrainingScatter> training_scatter(const UnitRows& rows, std::span<const ContextRow> training,
                                                std::span<const std::span<const std::int8_t>> labels,
                                                int threads, const std::function<bool()>& stops);

}  // namespace candor::instruments
