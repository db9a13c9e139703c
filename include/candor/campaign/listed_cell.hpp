#pragma once

/// The neighbour lists of a cell, from which its permutations and subsamples are read: who is on them, and
/// the question that finds them, one pass with the cell's others (METHODS 4, 5, 6).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/reach.hpp"
#include "candor/instruments/permutations.hpp"
#include "candor/neighbors/census.hpp"
#include "candor/study/cell.hpp"
#include "candor/study/pool.hpp"
#include "candor/study/study.hpp"

namespace candor::campaign {

/// Of a cell that has no lists, nothing.
struct ListedCell {
    instruments::Participants participants;
    std::vector<ContextRow> rows;  ///< of each participant, in key order
    std::vector<Reach> reach;      ///< each is asked for its nearest among all others
    int length = 0;                ///< how many of them
    /// Participants: of each query, and of each candidate of the primary rule by side.
    std::vector<std::int32_t> query, candidate[2];
    int side_length = 0;  ///< candidates of each side that a query is asked for; `whole` where these are all
    bool sides_whole = false;

    bool has_lists() const { return length > 0; }
    neighbors::Question question() const { return {rows, rows, reach, length}; }
};

/// The lists of a cell under the primary rule, draw 0; none where the study asks for no permutations, where
/// the cell is not scored, or where it is asked of a whole reference, outside every figure.
/// @param asks as make_cell was given.
ListedCell list_cell(const study::Study& study, const study::Pool& pool, const study::Context& context,
                     const study::Cell& cell, const std::vector<bool>& asks);

/// A participant's list for permutations as a search of the question, or of a longer one, gives it.
instruments::NearList near_list(std::span<const neighbors::Neighbor> nearest, const ListedCell& listed);
/// A query's list for subsamples from its nearest candidates of each side. @param whole these are all.
instruments::NearList sides_list(std::span<const neighbors::Neighbor> negatives,
                                 std::span<const neighbors::Neighbor> positives, bool whole,
                                 const ListedCell& listed);

/// The name under which a cell's permutations are drawn: the same under every encoder.
std::string permutation_name(const study::Task& task, const study::Context& context, const study::Cell& cell);

}  // namespace candor::campaign
