#pragma once

/// Failure detection over ranks (METHODS 9): the scores of each linear head's test rows, and the tables
/// `detection` and `risk_coverage`.

#include <cstdint>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/detection_tables.hpp"
#include "candor/campaign/scored_heads_mpi.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/parallel/stop.hpp"

namespace candor::campaign {

/// What detection_mpi leaves.
struct DetectionResults {
    std::vector<ScoredHeads> here;  ///< those of this rank, ascending
    DetectionTables tables;         ///< rank 0's
};

/// Scores every linear head and counts: level "cell" (encoder, dataset, finding), and pooled over cells
/// "encoder", "dataset", "context" and "task", a row a score each. Rows without k training rows of their
/// context take no part, for any score. Risk-coverage curves are those of the cells, whose means over an
/// encoder's and over the task's cells are told.
/// @param trained  as train_heads_mpi leaves it. @param dimensions  feature columns by encoder of the study
/// @param memory   bytes that the rank may hold; 0: no bound
/// @param journal  keeps what looks at features; the rest takes seconds
/// Collective. @throws parallel::Stopped.
DetectionResults detection_mpi(const parallel::Communicator& world, const study::Study& study,
                               const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                               const std::vector<TrainedHead>& trained,
                               const std::vector<std::int64_t>& dimensions, const OpenScored& open,
                               int threads, std::int64_t memory, ResultJournal& journal,
                               parallel::StopRequest& stop, const Log& log);

}  // namespace candor::campaign
