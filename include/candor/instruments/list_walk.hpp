#pragma once

/// The k nearest of each side on a row's neighbour list in 64 worlds at once, by the widest vectors of the
/// processor: what permutations and subsamples cost is this.

#include <array>
#include <cstdint>
#include <span>

#include "candor/instruments/roles.hpp"

namespace candor::instruments {

/// Sums of the cosines of a query's k nearest of each side, in each world.
struct WalkSums {
    alignas(64) std::array<std::array<double, worlds_a_word>, 2> of{};
};

/// Walks along the list of a query, nearest first, and adds up the cosines of its k nearest of each side in
/// that order: the bits do not depend on the processor.
/// @param row, cosine the list: participants, and how near they are, descending.
/// @param rows the roles of all participants. @param unit of each: rows of one unit are never neighbours.
/// @param asked the worlds in which to look.
/// @returns those of `asked` in which some side has fewer than k on the list; their sums mean nothing.
Worlds walk_list(std::span<const std::int32_t> row, std::span<const double> cosine, std::int64_t query,
                 std::span<const RowWorlds> rows, std::span<const std::int32_t> unit, int k, Worlds asked,
                 WalkSums& sums);

}  // namespace candor::instruments
