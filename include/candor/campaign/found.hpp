#pragma once

/// What a search finds, and its way through messages and journals.

#include <cstdint>
#include <vector>

#include "candor/base/bytes.hpp"
#include "candor/instruments/discordance.hpp"
#include "candor/instruments/permutations.hpp"
#include "candor/instruments/tally.hpp"

namespace candor::campaign {

/// What a cell says under one encoder where labels are permuted and where patients are drawn; all empty where
/// it has no lists, or where they are still to be read.
struct CellWorlds {
    instruments::Counts observed;                 ///< draw 0, read off the lists too
    std::vector<instruments::Counts> permuted;    ///< one a permutation
    std::vector<instruments::Counts> subsampled;  ///< one a draw
    /// Per permutation `words` words: who of the positives, in the order of their rows, has DM > 0.
    std::vector<std::uint64_t> blind;
    std::int64_t words = 0;

    bool present() const { return !permuted.empty(); }
};

/// What a cell found under one encoder.
struct Found {
    std::size_t work = 0;     ///< position among the TaskWorks
    std::size_t encoder = 0;  ///< position in Task::encoders
    std::size_t cell = 0;     ///< position in TaskWork::cells
    /// Per query of the cell: the primary rule's draw 0.
    std::vector<instruments::Discordance> primary;
    /// Per entry of Cell::candidates that scores the cell, in their order, and per positive query: +1 where
    /// DM > 0, 0 where DM == 0, -1 where DM < 0.
    std::vector<std::vector<std::int8_t>> sign;
    /// Where the cell has lists, until they are read: of each participant for permutations, of each query for
    /// subsamples.
    std::vector<instruments::NearList> near, sides;
    CellWorlds worlds;  ///< what was read off them; of a cell in parts, one of them has it
};

/// The same of some of a cell's queries.
struct FoundPart {
    std::vector<std::int64_t> query;  ///< positions in Cell::queries, ascending; `found` is of these alone
    std::vector<std::int64_t> participant;  ///< likewise, of the lists
    Found found;
};

/// How the search went; it depends on blocks, ranks and memory, so it is told in /run and not among the
/// results.
struct SearchCost {
    std::int64_t searches = 0;  ///< (query, list view) pairs
    std::int64_t kept = 0;      ///< rows decided, all searches together
    std::int64_t kept_max = 0;  ///< the most of one search

    SearchCost& operator+=(const SearchCost& other);
};

void put(ByteWriter& out, const FoundPart& part);
/// @throws InternalError where the bytes are no part.
FoundPart get_found_part(ByteReader& in);

}  // namespace candor::campaign
