#pragma once

/// What the panel shows together: shared blind sets, consensus, retention and distance from the anchor, a
/// sentence each.

#include <string>
#include <vector>

#include "candor/store/table.hpp"

namespace candor::report {

/// Tables of the results file, by their names there.
struct AcrossTables {
    store::ResultTable overlap_summary, consensus, retention, associations, distances;
};

/// At most one of each, in this order; none where a task has one encoder and no erased features.
/// @throws DataError where a table lacks a column.
std::vector<std::string> across_sentences(const AcrossTables& tables, const std::string& task);

}  // namespace candor::report
