#pragma once

/// The scores of METHODS 9 over ranks: what is said of the test rows of each linear head.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/base/matrix.hpp"
#include "candor/campaign/detection_work.hpp"
#include "candor/campaign/heads_mpi.hpp"
#include "candor/campaign/result_journal_mpi.hpp"
#include "candor/neighbors/row_source.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/parallel/stop.hpp"

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

/// The training rows of a job's dataset, then its test rows, as stored.
using OpenScored = std::function<std::unique_ptr<neighbors::RowSource>(const DetectionJob& job)>;
OpenScored scored_rows_from_files(const Inputs& inputs, const std::vector<TaskWork>& work,
                                  const HeadRowsOfWork& heads);

/// Scores every linear head, each on one rank.
/// @param trained  as train_heads_mpi leaves it. @param dimensions  feature columns by encoder of the study
/// @param memory   bytes that the rank may hold; 0: no bound
/// @param journal  keeps what looks at features; the rest takes seconds
/// @returns those of this rank, ascending. Collective. @throws parallel::Stopped.
std::vector<ScoredHeads> score_heads_mpi(const parallel::Communicator& world, const study::Study& study,
                                         const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                                         const std::vector<TrainedHead>& trained,
                                         const std::vector<std::int64_t>& dimensions, const OpenScored& open,
                                         int threads, std::int64_t memory, ResultJournal& journal,
                                         parallel::StopRequest& stop, const Log& log);

}  // namespace candor::campaign
