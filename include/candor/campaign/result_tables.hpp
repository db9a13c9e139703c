#pragma once

/// The tables of the results file (DESIGN 5; columns in the README) from what was counted. Rank 0 only.

#include <vector>

#include "candor/campaign/families.hpp"
#include "candor/campaign/inference_mpi.hpp"
#include "candor/campaign/work.hpp"
#include "candor/store/table.hpp"

namespace candor::campaign {

/// What the operator says at each level, with the families of its tests.
struct RateTables {
    std::vector<store::ResultTable> tables;  ///< cells, findings, tasks, panels, rules
    std::vector<TestFamily> families;        ///< D and margin AUROC against chance, a task
};

RateTables rate_tables(const study::Study& study, const std::vector<TaskWork>& work, const Counted& counted);

/// skipped: the (task, finding, context, rule) that are not scored, and why.
store::ResultTable skipped_table(const study::Study& study, const std::vector<TaskWork>& work);
/// exclusions: rows that a rule left out or changed.
store::ResultTable exclusions_table(const study::Study& study, const std::vector<TaskWork>& work);

}  // namespace candor::campaign
