#pragma once

/// Selection over ranks (METHODS 10): the table `selection`.

#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/head_work.hpp"
#include "candor/campaign/scored_heads_mpi.hpp"
#include "candor/campaign/training_work.hpp"
#include "candor/campaign/work.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/parallel/stop.hpp"
#include "candor/store/table.hpp"

namespace candor::campaign {

/// Rank 0's table `selection`; empty elsewhere. A row a policy: level "finding", then "micro" and "macro"
/// over the findings that are scored. Cases are the labelled test rows of the datasets whose heads under
/// every encoder of the panel have a threshold.
/// @param scored    of this rank, as score_heads_mpi leaves them
/// @param training  D among training rows
/// Collective. @throws parallel::Stopped.
store::ResultTable selection_mpi(const parallel::Communicator& world, const study::Study& study,
                                 const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                                 const std::vector<ScoredHeads>& scored, const TrainingRates& training,
                                 int threads, parallel::StopRequest& stop, const Log& log);

}  // namespace candor::campaign
