#pragma once

/// The k nearest candidates of each query: proposed by single-precision products, decided in double (METHODS
/// 3).

#include <cstdint>
#include <span>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/reach.hpp"
#include "candor/neighbors/row_set.hpp"

namespace candor::neighbors {

struct Neighbor {
    double cosine = 0;
    std::int64_t position = 0;  ///< in the candidate list
};

/// The neighbours of Q queries, k each, in the one total order: cosine descending, then position ascending.
struct NeighborSets {
    int k = 0;
    std::vector<Neighbor> values;  ///< Q x k, row-major
    std::int64_t kept = 0;         ///< rows decided in double, summed over queries
    std::int64_t kept_max = 0;     ///< the most of one query

    std::span<const Neighbor> of(std::int64_t query) const {
        return {values.data() + query * k, static_cast<std::size_t>(k)};
    }
};

struct SearchOptions {
    std::int64_t block_rows = 512;  ///< rows of a tile of the Gram matrix, both ways
    int threads = 1;
    // Of a census:
    std::int64_t panel_rows = 4096;  ///< rows that are read, and met by others, together
    std::int64_t memory = 0;         ///< bytes that it may take; 0: as many as it likes
    /// Leading directions to rule pairs out by: as many; 0: none; -1: as a look at some rows advises.
    std::int64_t directions = -1;
};

/// For every view of the same list (a candidate rule is one view) and every query, its k nearest entries of
/// `list` within its reach. One pass over the products serves all views.
/// @param list      candidates in key order: position i stands for row list[i].
/// @param queries   Q rows of the set.
/// @param views     per view Q reaches, reach q for query q.
/// @pre every reach has at least k entries, end <= list.size().
/// @returns one NeighborSets a view. The same bits for any block size and thread count.
std::vector<NeighborSets> nearest(const RowSet& rows, std::span<const ContextRow> list,
                                  std::span<const ContextRow> queries,
                                  std::span<const std::span<const Reach>> views, int k,
                                  const SearchOptions& options);

}  // namespace candor::neighbors
