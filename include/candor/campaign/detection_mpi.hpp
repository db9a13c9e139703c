#pragma once

/// Failure detection over ranks (METHODS 9): the scores of each linear head's test rows, and the tables
/// `detection` and `risk_coverage`.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/base/matrix.hpp"
#include "candor/campaign/detection_work.hpp"
#include "candor/campaign/families.hpp"
#include "candor/campaign/heads_mpi.hpp"
#include "candor/campaign/result_journal_mpi.hpp"
#include "candor/neighbors/row_source.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/parallel/stop.hpp"
#include "candor/store/table.hpp"

namespace candor::campaign {

/// The linear heads of one dataset under one encoder with all that is said of their test rows.
struct ScoredHeads {
    DetectionJob job;
    Matrix<double> validation, test;  ///< findings x rows: z of member 0
    Matrix<double> ensemble;          ///< findings x test rows; NaN for an ensemble of one
    GeometricScores geometry;
    /// By finding; none where the head saw no label, or validation has no positive.
    std::vector<std::optional<double>> threshold;
};

/// What detection_mpi leaves.
struct DetectionResults {
    std::vector<ScoredHeads> here;     ///< those of this rank, ascending
    store::ResultTable table;          ///< rank 0's, as are
    store::ResultTable risk;           ///< `risk_coverage`, and
    std::vector<TestFamily> families;  ///< "impurity less SCORE", a task
};

/// The training rows of a job's dataset, then its test rows, as stored.
using OpenScored = std::function<std::unique_ptr<neighbors::RowSource>(const DetectionJob& job)>;
OpenScored scored_rows_from_files(const Inputs& inputs, const std::vector<TaskWork>& work,
                                  const HeadRowsOfWork& heads);

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
