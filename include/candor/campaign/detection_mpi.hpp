#pragma once

/// Failure detection over ranks (METHODS 9): the tables `detection` and `risk_coverage`.

#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/detection_tables.hpp"
#include "candor/campaign/scored_heads_mpi.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/parallel/stop.hpp"

namespace candor::campaign {

/// Counts what the scores say of the heads' errors: level "cell" (encoder, dataset, finding), and pooled over
/// cells "encoder", "dataset", "context" and "task", a row a score each. Rows without k training rows of
/// their context take no part, for any score. Risk-coverage curves are those of the cells, whose means over
/// an encoder's and over the task's cells are told.
/// @param scored  this rank's, as score_heads_mpi leaves them
/// @returns rank 0's tables. Collective. @throws parallel::Stopped.
DetectionTables detection_mpi(const parallel::Communicator& world, const study::Study& study,
                              const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                              const std::vector<ScoredHeads>& scored, int threads,
                              parallel::StopRequest& stop, const Log& log);

}  // namespace candor::campaign
