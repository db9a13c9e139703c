#pragma once

/// Counts from which every rate of METHODS 3 follows, observed and in each resample. They are whole numbers
/// and add over contexts and findings, so a level is a sum of cells, exact in any order and on any rank.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/stats/auroc.hpp"
#include "candor/stats/weighted_sums.hpp"

namespace candor::instruments {

/// One number of each kind of count.
struct Counts {
    std::int64_t discordant = 0;  ///< positives with DM > 0, summed over draws
    std::int64_t ties = 0;        ///< positives with DM == 0, summed over draws
    std::int64_t queries = 0;     ///< positives times draws

    std::int64_t twice_wins =
        0;                   ///< over pairs of one context: 2 [s+ > s-] + [s+ == s-], score s = -DM, draw 0
    std::int64_t pairs = 0;  ///< (positive, negative) pairs of one context
    std::int64_t positive_right = 0;  ///< 2 [DM < 0] + [DM == 0] over positives, draw 0
    std::int64_t positives = 0;
    std::int64_t negative_right = 0;  ///< 2 [DM > 0] + [DM == 0] over negatives queried, draw 0
    std::int64_t negatives = 0;

    Counts& operator+=(const Counts& other);

    // The statistics; NaN where undefined.
    double rate() const;               ///< D = discordant / queries
    double rate_mid() const;           ///< (discordant + ties / 2) / queries
    double margin_auroc() const;       ///< METHODS 3.2, ties half
    double balanced_accuracy() const;  ///< METHODS 3.2, each label pooled over its queries
};

/// Observed counts and those of each resample.
struct Tally {
    Counts observed;
    std::vector<std::int64_t> discordant_by_draw;  ///< observed, one a draw
    std::vector<Counts> resampled;                 ///< one a resample
    /// Of draw 0, rates and AUROC alone; empty where the cell has no neighbour lists (METHODS 4, 5).
    Counts unpermuted{};               ///< the labels as they are
    std::vector<Counts> permuted{};    ///< one a label permutation
    std::vector<Counts> subsampled{};  ///< one a subsample of the wide interval

    Tally& operator+=(const Tally& other);
};

/// The queries of one (encoder, finding, context) under one rule, ready to be counted.
class CellCounter {
  public:
    /// @param patient     of each query, a row of the weights
    /// @param discordant  per query and draw (queries x draws): 1 where DM > 0
    /// @param ties        likewise: 1 where DM == 0
    /// @param margin      DM of draw 0, for the margin classifier; empty: rates only
    /// @param positives   how many of the queries, the first ones, are positives
    CellCounter(std::span<const std::int32_t> patient, MatrixView<const std::int8_t> discordant,
                MatrixView<const std::int8_t> ties, std::span<const double> margin, std::int64_t positives);

    /// Observed counts; `resampled` has no entries yet.
    const Tally& observed() const { return observed_; }

    /// Adds the counts of a block of resamples to `into[0] .. into[weights.cols - 1]`.
    void count(MatrixView<const stats::Weight> weights, std::span<Counts> into) const;

  private:
    struct Column {
        stats::WeightedSums sums;
        std::int64_t Counts::*target;
    };
    void add_column(std::int64_t Counts::*target, const stats::RowPatients& rows,
                    std::span<const std::int64_t> value);

    Tally observed_;
    std::vector<Column> columns_;
    std::vector<stats::PairCounter> pairs_;
};

}  // namespace candor::instruments
