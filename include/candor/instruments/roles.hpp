#pragma once

/// What each row does in a cell (METHODS 3): who asks, and who may answer. A relabelled cell and a subsample
/// of it are the same rows in other roles, so that all of them are read off the same neighbour lists.

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace candor::instruments {

/// A labelled row of a cell.
struct LabelledRow {
    std::int8_t label = 0;             ///< 1 positive, 0 negative
    bool asks = true, answers = true;  ///< may be a query; may be a candidate
    std::int32_t patient = 0;          ///< any number a patient
    std::int32_t identity = 0;         ///< any number an image: rows of one image are never neighbours
};

/// Which negatives ask.
enum class NegativesAsking : std::uint8_t { bank, all, none };

/// A candidate rule, as far as roles go.
struct RoleRules {
    /// equal, distinct: n is one fewer than the smaller side has, and a query that is itself among the n
    /// meets the next one instead.
    bool leaves_one_out = true;
    bool by_patient = false;  ///< distinct: a side has the first row of each patient
    bool same_n = true;       ///< false: unequal, each side has as many as it can
    std::int64_t cap = std::numeric_limits<std::int64_t>::max();
    int k = 5;
    NegativesAsking negatives = NegativesAsking::bank;
};

/// Sets of up to 64 worlds, a bit a world.
using Worlds = std::uint64_t;
constexpr std::int64_t worlds_a_word = 64;

/// In which worlds a row has each role, by side (0 negative, 1 positive).
struct alignas(64) RowWorlds {
    std::array<Worlds, 2> asks{};  ///< as a query of that label
    std::array<Worlds, 2> near{};  ///< among the first n of that side
    std::array<Worlds, 2> last{};  ///< the one behind them, for queries that are themselves among the n
    std::array<Worlds, 2> own{};   ///< it, its image or (distinct) its patient is among the first n
};

/// Gives `rows`, in key order, the roles that they have in world `world` (a bit of the words of `out`) where
/// only those take part of which `part` holds. `own` is left to `find_own`.
/// @param out one a row. @returns whether the rule scores the cell (METHODS 3: every query has k candidates a
/// side); where not, no role is given.
bool assign_roles(std::span<const LabelledRow> rows, const RoleRules& rules,
                  std::span<const std::uint8_t> part, int world, std::span<RowWorlds> out);

/// Fills `own` from `near`. @param unit of each row: rows of one unit are never each other's neighbours.
void find_own(std::span<const std::int32_t> unit, std::span<RowWorlds> rows);

}  // namespace candor::instruments
