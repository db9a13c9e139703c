#pragma once

/// Positions of different meaning are different types, so that the wrong one does not compile.

#include <compare>
#include <cstdint>

namespace candor {

/// A 64-bit position in the sequence that `Tag` names.
template <class Tag>
struct Index {
    std::int64_t value = 0;

    constexpr Index() = default;
    constexpr explicit Index(std::int64_t v) : value(v) {}
    constexpr auto operator<=>(const Index&) const = default;
};

/// Position in a dataset's table, in file order.
using TableRow = Index<struct TableRowTag>;
/// Position in a feature file.
using FeatureRow = Index<struct FeatureRowTag>;
/// Position in a task's pool, in key order (METHODS 2).
using PoolRow = Index<struct PoolRowTag>;
/// Position among the rows of one context of a pool, in key order: the row of the matrix that a search sees.
using ContextRow = Index<struct ContextRowTag>;

}  // namespace candor
