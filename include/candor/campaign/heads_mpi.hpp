#pragma once

/// The heads of a study trained over ranks (METHODS 8): each training is one rank's and one thread's, and
/// what is finished is kept beside the results until these are written (DESIGN 6).

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/head_work.hpp"
#include "candor/campaign/result_journal_mpi.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/parallel/stop.hpp"

namespace candor::campaign {

struct TrainedHead {
    HeadJob job;
    HeadResult result;
};

/// Reads what the trainings of one (work, encoder, dataset) look at; called by the main thread.
using OpenHeads = std::function<HeadInputs(const HeadJob& job)>;
OpenHeads heads_from_files(const Inputs& inputs, const std::vector<TaskWork>& work,
                           const HeadRowsOfWork& heads);

/// Trains what `journal` does not have: placed by counted cost, longest first, alike on every rank.
/// @param dimensions  feature columns by encoder of the study
/// @returns what was trained here, and what was trained earlier and read here, ascending by job. The same
///          bits for any rank count, thread count and interruption on one BLAS core. Collective.
/// @param pause  between two states of a training that are kept
/// @throws parallel::Stopped; what was finished is in the journal by then, what was being trained as it was
/// at
///         most `pause` and an epoch ago.
std::vector<TrainedHead> train_heads_mpi(const parallel::Communicator& world, const study::Study& study,
                                         const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                                         const std::vector<std::int64_t>& dimensions, const OpenHeads& open,
                                         int threads, ResultJournal& journal, parallel::StopRequest& stop,
                                         const Log& log,
                                         std::chrono::milliseconds pause = std::chrono::seconds(30));

}  // namespace candor::campaign
