#pragma once

/// The heads of a study trained over ranks (METHODS 8): each training is one rank's and one thread's, and
/// what is finished is kept beside the results until these are written (DESIGN 6).

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/head_work.hpp"
#include "candor/campaign/search_journal_mpi.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/parallel/stop.hpp"
#include "candor/store/journal.hpp"

namespace candor::campaign {

struct TrainedHead {
    HeadJob job;
    HeadResult result;
};

/// Trained heads in the journal of a run, each under its job. What was trained on another kind of processor
/// (BLAS core) does not count: it is trained again, for its bits may be others.
class HeadJournal {
  public:
    /// Keeps nothing and knows of nothing.
    HeadJournal() = default;
    /// The journal must outlive this.
    explicit HeadJournal(const SearchJournal& journal);

    /// What earlier runs left: those read on this rank; `done` is all of them, the same on every rank.
    /// Collective.
    std::vector<TrainedHead> earlier_mpi(const parallel::Communicator& world, std::set<HeadJob>& done) const;
    void trained(const TrainedHead& head);
    void sync();

  private:
    const SearchJournal* journal_ = nullptr;
    std::unique_ptr<store::JournalWriter> records_;
};

/// Reads what the trainings of one (work, encoder, dataset) look at; called by the main thread.
using OpenHeads = std::function<HeadInputs(const HeadJob& job)>;
OpenHeads heads_from_files(const Inputs& inputs, const std::vector<TaskWork>& work,
                           const HeadRowsOfWork& heads);

/// Trains what `journal` does not have: placed by counted cost, longest first, alike on every rank.
/// @param dimensions  feature columns by encoder of the study
/// @returns what was trained here, and what was trained earlier and read here, ascending by job. The same
///          bits for any rank count, thread count and interruption on one BLAS core. Collective.
/// @throws parallel::Stopped; what was finished is in the journal by then, what was being trained is not.
std::vector<TrainedHead> train_heads_mpi(const parallel::Communicator& world, const study::Study& study,
                                         const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                                         const std::vector<std::int64_t>& dimensions, const OpenHeads& open,
                                         int threads, HeadJournal& journal, parallel::StopRequest& stop,
                                         const Log& log);

}  // namespace candor::campaign
