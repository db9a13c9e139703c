#pragma once

/// What the nearest training rows say of a test row (METHODS 9): impurity and distance. Test rows ask,
/// training rows of their context that are labelled for the finding answer; no row does both.

#include <cstdint>
#include <span>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/reach.hpp"
#include "candor/neighbors/census.hpp"
#include "candor/neighbors/row_source.hpp"
#include "candor/neighbors/search.hpp"

namespace candor::instruments {

/// One finding in one context. Rows are those of a source that has training and test rows.
struct TrainingRows {
    std::vector<ContextRow> training;  ///< labelled for the finding, in key order: it breaks ties
    std::vector<std::int8_t> label;    ///< of each: 1 positive, 0 negative
    std::vector<ContextRow> test;      ///< each at most once
};

/// The same as a census sees it: every test row reaches all training rows.
class TrainingQuestion {
  public:
    /// `rows` must outlive this. @throws InternalError where a test row is among the training rows.
    explicit TrainingQuestion(const TrainingRows& rows);

    neighbors::Question question() const { return {rows_->training, rows_->test, reach_}; }

  private:
    const TrainingRows* rows_;
    std::vector<Reach> reach_;
};

/// The scores of some test rows; NaN where fewer than k training rows may answer.
struct NeighborScores {
    /// r = 1 - abs(2 p - 1), p the positive share of the k nearest: (k - abs(2 positives - k)) / k, so that
    /// equal counts give equal bits.
    std::vector<double> impurity;
    std::vector<double> distance;  ///< 1 - cosine to the k-th nearest
};

/// From the neighbours that a search of the question has found, positions in `training`.
/// @throws InternalError where a label is neither 1 nor 0 or a position has none.
NeighborScores neighbor_scores(const neighbors::NeighborSets& nearest, std::span<const std::int8_t> label);

/// Rows of a tile that serve best here: test rows take from a tile, training rows do not, and there is less
/// to look through than in a census of rows that ask each other; larger products cost less a number.
inline constexpr std::int64_t training_block_rows = 1024;

/// The scores of the test rows of each finding, by one census of all findings with at least k training rows:
/// neighbours are decided in double, ties by the order of the training rows, so that no bit depends on
/// `options`.
/// @throws InternalError where sizes differ, k < 1, or as above.
std::vector<NeighborScores> training_neighbors(const neighbors::RowSource& rows,
                                               std::span<const TrainingRows> findings, int k,
                                               const neighbors::SearchOptions& options);

}  // namespace candor::instruments
