#pragma once

/// What the heads of a task show: how well they do, which score flags their errors, and what choosing among
/// encoders gains, a sentence each.

#include <string>
#include <vector>

#include "candor/store/table.hpp"

namespace candor::report {

/// Tables of the results file, by their names there.
struct HeadTables {
    store::ResultTable heads, detection, selection;
};

/// AUROC of the linear heads over findings, and margins above caps; "" where there are none.
std::string heads_sentence(const store::ResultTable& heads, const std::string& task);

/// At most one of each, in this order; none where a task has no linear heads.
/// @throws DataError where a table lacks a column.
std::vector<std::string> head_sentences(const HeadTables& tables, const std::string& task);

}  // namespace candor::report
