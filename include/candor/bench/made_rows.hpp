#pragma once

/// Rows and findings to measure with: made, the same on every machine.

#include <cstdint>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/matrix.hpp"
#include "candor/base/reach.hpp"
#include "candor/neighbors/census.hpp"

namespace candor::bench {

/// N x d independent standard normal numbers: no direction leads, no bound rules anything out.
Matrix<float> isotropic_rows(std::int64_t n, std::int64_t d);

/// N x d rectified mixtures of 64 normal numbers of standard deviations 1, 1/2, 1/3, ...: as features of a
/// trained encoder, they lie along few directions.
Matrix<float> directed_rows(std::int64_t n, std::int64_t d);

/// The questions of a census: both sides of every finding, `negative_queries = "bank"`, rule `equal`
/// (METHODS 3).
class MadeFindings {
  public:
    /// @param positive  per finding, whether each row has it; more than k rows with it and as many without.
    explicit MadeFindings(const std::vector<std::vector<bool>>& positive);

    std::vector<neighbors::Question> questions() const;

  private:
    struct Side {
        std::vector<ContextRow> list;
        std::vector<Reach> reach;
    };
    struct Finding {
        std::vector<ContextRow> queries;
        Side sides[2];
    };
    std::vector<Finding> findings_;
};

/// One finding that every other row has.
std::vector<std::vector<bool>> half_positive(std::int64_t n);
/// Findings at prevalences from 1 % to 40 %, equal ratios apart, each in rows evenly apart.
std::vector<std::vector<bool>> many_findings(std::int64_t n, int count);

}  // namespace candor::bench
