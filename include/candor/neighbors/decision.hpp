#pragma once

/// What is common to all searches: the one total order, and the expensive contract (METHODS 3).

#include <span>

#include "candor/base/index.hpp"
#include "candor/base/reach.hpp"
#include "candor/neighbors/row_source.hpp"
#include "candor/neighbors/search.hpp"

namespace candor::neighbors {

/// The one total order: cosine descending, then position ascending.
inline bool comes_before(const Neighbor& a, const Neighbor& b) {
    return a.cosine != b.cosine ? a.cosine > b.cosine : a.position < b.position;
}

/// In an audit build: that no candidate within reach comes before the last one chosen but those chosen.
/// @throws InternalError where one does. Nothing in other builds.
void audit_choice(const RowSource& rows, std::span<const ContextRow> list, ContextRow query, const Reach& reach,
                  std::span<const Neighbor> chosen);

}  // namespace candor::neighbors
