#pragma once

// The answers of a census, put together from its panels.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "candor/neighbors/census.hpp"

namespace candor::testing {

/// Sets of every query of every question; position -1 throughout where none is decided yet.
inline std::vector<neighbors::NeighborSets> blank_sets(std::span<const neighbors::Question> questions, int k) {
    std::vector<neighbors::NeighborSets> sets(questions.size());
    for (std::size_t q = 0; q < questions.size(); ++q) {
        sets[q].k = questions[q].k > 0 ? questions[q].k : k;
        sets[q].values.assign(questions[q].queries.size() * static_cast<std::size_t>(sets[q].k),
                              {-std::numeric_limits<double>::infinity(), -1});
    }
    return sets;
}

/// Adds what a panel decided. @returns how many queries had been decided before: none should have.
inline std::int64_t put(std::vector<neighbors::NeighborSets>& sets,
                        const std::vector<neighbors::Decided>& decided) {
    std::int64_t twice = 0;
    for (std::size_t q = 0; q < sets.size(); ++q) {
        sets[q].kept += decided[q].nearest.kept;
        sets[q].kept_max = std::max(sets[q].kept_max, decided[q].nearest.kept_max);
        for (std::size_t n = 0; n < decided[q].query.size(); ++n) {
            const auto to = sets[q].values.begin() + decided[q].query[n] * sets[q].k;
            twice += to->position >= 0;
            std::ranges::copy(decided[q].nearest.of(static_cast<std::int64_t>(n)), to);
        }
    }
    return twice;
}

}  // namespace candor::testing
