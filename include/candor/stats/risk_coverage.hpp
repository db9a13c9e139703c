#pragma once

/// The area under the risk-coverage curve, AURC (METHODS 9; Geifman and El-Yaniv 2017), observed and in every
/// resample.

#include <cstdint>
#include <span>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/stats/resampling.hpp"

namespace candor::stats {

/// Rows in the order in which a detector gives them up, sorted once.
///
/// The n rows are covered from the lowest score to the highest; the risk at coverage i is the share of errors
/// among the first i, and AURC is its mean over i = 1 .. n. Tied rows come in every order alike often: with a
/// rows and E errors before a block of m rows and e errors,
///
///     its sum of risks = sum over i = a+1 .. a+m of (E + (i - a) e/m) / i = e + (E - a e/m) (H(a+m) - H(a))
///
/// where H(n) = 1 + 1/2 + ... + 1/n. A row drawn w times is w tied rows.
class RiskCoverage {
  public:
    /// @param score   of each row; larger means "more likely wrong"
    /// @param wrong   1 where the row is an error, else 0
    /// @param patient of each row, a row of the weights
    /// @throws InternalError where sizes differ, a score is NaN, `wrong` is neither or a patient is negative.
    RiskCoverage(std::span<const double> score, std::span<const std::int8_t> wrong,
                 std::span<const std::int32_t> patient);

    /// AURC of the rows as they are; NaN without rows.
    double observed() const;

    /// Risk at the coverages i / points, i = 1 .. points: the expected share of errors among the first
    /// ceil(n i / points) rows. Empty without rows. @throws InternalError where points < 1.
    std::vector<double> curve(std::int64_t points) const;

    /// aurc[b] = that of resample (column) b of `weights` (patients x at most resample_block); NaN where no
    /// row is drawn. The bits depend on nothing but the rows and the weights of the column.
    /// @throws InternalError where the sizes differ or a patient has no row in `weights`.
    void count(MatrixView<const Weight> weights, std::span<double> aurc) const;

  private:
    struct Row {
        std::int32_t patient;
        std::int8_t wrong;
        bool last;  // of its block of ties
    };
    std::vector<Row> rows_;
    std::int32_t last_patient_ = -1;
};

}  // namespace candor::stats
