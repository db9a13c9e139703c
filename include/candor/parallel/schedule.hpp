#pragma once

/// Who does what, decided alike by every rank without a message.

#include <cstdint>
#include <span>
#include <vector>

namespace candor::parallel {

/// Longest-processing-time placement: items in order of falling cost (equal costs by position), each to the
/// rank with the least work so far (equal loads to the lowest rank).
/// @param costs one non-negative number an item. @pre ranks >= 1.
/// @returns the rank of each item.
std::vector<int> place_longest_first(std::span<const double> costs, int ranks);

}  // namespace candor::parallel
