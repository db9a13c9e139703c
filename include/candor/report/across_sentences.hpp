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

/// One sentence of a task each, "" where there is nothing to tell.
std::string overlap_sentence(const store::ResultTable& overlap_summary, const std::string& task);
std::string consensus_sentence(const store::ResultTable& consensus, const std::string& task);
std::string retention_sentence(const store::ResultTable& retention, const store::ResultTable& associations,
                               const std::string& task);
std::string distance_sentence(const store::ResultTable& distances, const std::string& task);

/// At most one of each, in this order; none where a task has one encoder and no erased features.
/// @throws DataError where a table lacks a column.
std::vector<std::string> across_sentences(const AcrossTables& tables, const std::string& task);

}  // namespace candor::report
