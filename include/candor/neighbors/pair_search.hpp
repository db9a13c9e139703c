#pragma once

/// Pairs of a positive and a negative image that one encoder holds close and another holds far, after the
/// "CLIP-blind pairs" of Tong et al. 2024. Theirs were cosines above and below fixed numbers; cosines of
/// different encoders are on different scales, so here they are standardised first.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/neighbors/row_set.hpp"

namespace candor::neighbors {

/// Mean and standard deviation of an encoder's cosines over opposite-label pairs.
struct Spread {
    double mean = 0, sd = 0;
    bool varies = false;  ///< sd is above what the rounding of a cosine alone can make

    double standardise(double cosine) const { return (cosine - mean) / sd; }
};

/// Rows a label that a Spread looks at.
inline constexpr std::int64_t spread_rows = 512;

/// The Spread over all pairs of the first `spread_rows` positives and negatives, decided in double; the
/// deviation's divisor is the number of pairs. The same bits for any thread count.
Spread spread_of(const RowSet& rows, std::span<const ContextRow> positives,
                 std::span<const ContextRow> negatives, int threads);

/// One encoder of the two: its rows of the context and their spread.
struct PairSide {
    const RowSet& rows;
    Spread spread;
};

struct PairOptions {
    std::int64_t per_positive = 1;  ///< most pairs of one positive, its best ones; 0: no limit
    std::int64_t top = 100;         ///< most pairs, after that; 0: no limit
    double close_above = -std::numeric_limits<double>::infinity();  ///< cosine of the close encoder, at least
    double far_below = std::numeric_limits<double>::infinity();     ///< cosine of the far encoder, at most
    std::int64_t block_rows = 512;                                  ///< rows of a tile, both ways
    int threads = 1;
};

struct OppositePair {
    double score = 0;                         ///< min(z_close, -z_far)
    std::int64_t positive = 0, negative = 0;  ///< positions in the two lists
    double cosine_close = 0, cosine_far = 0;  ///< decided in double
    double z_close = 0, z_far = 0;            ///< standardised by the encoder's spread
};

/// The one total order of pairs: score descending, then positive, then negative.
bool comes_before(const OppositePair& a, const OppositePair& b);

/// The pairs with score > 0 that meet the conditions of `options`, in their order. Proposed by
/// single-precision products a tile at a time, decided in double: the same bits for any block size and thread
/// count. Memory is that of the pairs kept, and of tiles; never positives x negatives unless no limit is set.
/// @param positives, negatives rows of both encoders' sets, in key order.
/// @pre both spreads vary; the two sets have the same rows.
std::vector<OppositePair> opposite_pairs(const PairSide& close, const PairSide& far,
                                         std::span<const ContextRow> positives,
                                         std::span<const ContextRow> negatives, const PairOptions& options);

}  // namespace candor::neighbors
