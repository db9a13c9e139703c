#pragma once

/// Mahalanobis distances (METHODS 9) of many findings at once, where each labels every training row.

#include <span>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/instruments/training_scatter.hpp"

namespace candor::instruments {

/// With T the scatter of the n rows about their mean, D = m+ - m- and shares p+, p- of the labels,
///
///     S = T / n + 1e-3 (trace / d) I - p+ p- D D^T:
///
/// on the axes of T, which all findings share, a diagonal matrix less one row's square, whose inverse is
/// known (Sherman and Morrison 1950). So a row is turned to the axes once for all findings, which cost two
/// products of their number each.
class ClassAxes {
  public:
    /// @param findings  of `all.findings`, each labelling all rows, some in each class, and differing from
    /// the means of their classes
    ClassAxes(const TrainingScatter& all, std::span<const std::size_t> findings);

    /// min over the classes of sqrt((x - m)^T S^-1 (x - m)), findings x rows. @param unit  rows of UnitRows
    Matrix<double> distances(Matrix<double> unit) const;

  private:
    struct Finding {
        double share_positive = 0, share_negative = 0;
        double apart = 0;  // D^T A^-1 D, A = S + p+ p- D D^T
        double back = 0;   // p+ p- / (1 - p+ p- D^T A^-1 D)
    };
    std::vector<double> mean_;
    Matrix<double> axes_;     // a row each
    Matrix<double> inverse_;  // findings x axes: of A
    Matrix<double> toward_;   // findings x axes: A^-1 D
    std::vector<Finding> findings_;
};

}  // namespace candor::instruments
