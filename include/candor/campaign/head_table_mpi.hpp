#pragma once

/// What heads make of the features (METHODS 8), and whether they keep to the caps of 3.3: the table `heads`.

#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/found.hpp"
#include "candor/campaign/heads_mpi.hpp"
#include "candor/campaign/work.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/parallel/stop.hpp"
#include "candor/store/table.hpp"

namespace candor::campaign {

/// Task AUROC of the linear heads (METHODS 8), NaN where there is none.
struct TaskAurocs {
    std::vector<std::vector<std::vector<double>>> finding;  ///< by work, encoder of the task, finding
    std::vector<std::vector<double>> task;                  ///< by work, encoder: the mean of its findings
};

/// What head_table_mpi leaves on rank 0; empty elsewhere.
struct HeadResults {
    store::ResultTable table;
    TaskAurocs aurocs;
};

/// The table `heads`. Level "dataset": a row a task, dataset, encoder, kind and finding; one row with blank
/// encoder, kind and finding for a dataset without heads, saying why. Level "finding": pairs summed over the
/// datasets, each within its own. Level "task": the mean of the findings' AUROCs, recomputed in each
/// resample. AUROC: pairs of one context only, its interval over the patients of the task's pool; the head is
/// member 0, the other members only tell how much draws of initial values and batches matter. Caps: the
/// discordant cases of the scored cells (primary rule, draw 0) of the dataset, where the head was asked about
/// both the case and its nearest negative.
/// @param trained  as train_heads_mpi leaves it. @param owned  as deliver_mpi does by counting_owners
/// Collective. @throws parallel::Stopped.
HeadResults head_table_mpi(const parallel::Communicator& world, const study::Study& study,
                           const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                           const std::vector<TrainedHead>& trained, const std::vector<Found>& owned,
                           int threads, parallel::StopRequest& stop, const Log& log);

}  // namespace candor::campaign
