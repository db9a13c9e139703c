#pragma once

/// Failure detection (METHODS 9) as tables of the results file. Rank 0 only; pure.

#include <map>
#include <vector>

#include "candor/campaign/detection_cells.hpp"
#include "candor/campaign/families.hpp"
#include "candor/campaign/work.hpp"
#include "candor/store/table.hpp"
#include "candor/study/study.hpp"

namespace candor::campaign {

struct DetectionTables {
    /// A row a score of each cell, then of each group.
    store::ResultTable detection;
    /// Mean curves of the cells of each encoder, then of the task, every score's and the oracle's.
    store::ResultTable risk_coverage;
    std::vector<TestFamily> families;  ///< "impurity less SCORE", a task
};

/// @param cells   in the order of the table
DetectionTables detection_tables(const study::Study& study, const std::vector<TaskWork>& work,
                                 const std::vector<DetectionCell>& cells,
                                 const std::map<DetectionGroup, PooledDetection>& groups);

}  // namespace candor::campaign
