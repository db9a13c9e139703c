#pragma once

/// Erasure retention over ranks (METHODS 7): rho, its means and its correlation with the margin.

#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/erased_audit_mpi.hpp"
#include "candor/campaign/families.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/campaign/search_mpi.hpp"
#include "candor/campaign/work.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/parallel/stop.hpp"
#include "candor/store/table.hpp"
#include "candor/study/boxes.hpp"
#include "candor/study/pool.hpp"

namespace candor::campaign {

/// What retention_mpi leaves on rank 0; empty elsewhere.
struct RetentionResults {
    /// retention: per task and encoder a row a region, then micro (all rows together) and macro (mean of the
    /// regions' means). No rows where a task has no erased features.
    store::ResultTable table;
    std::vector<TestFamily> families;        ///< "retention-margin correlation", a task
    std::vector<std::vector<double>> micro;  ///< by work, encoder: NaN where there is none
};

/// Mean area share of the evidence boxes of each finding of a task, over the positives of its pool that ask;
/// NaN where none has a box.
std::vector<double> evidence_areas(const TaskWork& work, const study::Task& task,
                                   const std::vector<study::Boxes>& boxes);

/// Computes retention of the rows that `erased` names, as far as the final pools of `work` hold them; pairs
/// (task, encoder) are shared over ranks. `owned` as deliver_mpi leaves it by counting_owners. Collective.
RetentionResults retention_mpi(const parallel::Communicator& world, const Inputs& inputs,
                               const std::vector<TaskWork>& work, const ErasedAudit& erased,
                               const std::vector<Found>& owned, int threads, parallel::StopRequest& stop,
                               const Log& log);

}  // namespace candor::campaign
