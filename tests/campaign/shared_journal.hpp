#pragma once

// A folder with a journal that all ranks of a test use, and what such tests say the journal is of.

#include <filesystem>
#include <memory>
#include <string>

#include "candor/base/log.hpp"
#include "candor/campaign/search_journal_mpi.hpp"
#include "candor/parallel/communicator.hpp"
#include "store/temporary.hpp"

namespace candor::testing {

inline parallel::Communicator world() {
    return parallel::Communicator::world();
}

inline const Log silent(Verbosity::quiet, false);
inline const campaign::JournalIdentity ours{"0.1", "a study", "aa 1 a.h5\nbb 2 b.h5\n", false};

/// Rank 0's; gone after the test.
class SharedJournal {
  public:
    SharedJournal() {
        if (world().rank() == 0) own_ = std::make_unique<TemporaryDirectory>();
        output_ = world().broadcast(own_ ? own_->file("out.h5") : std::string());
        if (own_) std::filesystem::create_directory(folder());
        world().barrier();
    }
    ~SharedJournal() { world().barrier(); }
    SharedJournal(const SharedJournal&) = delete;
    SharedJournal& operator=(const SharedJournal&) = delete;

    /// The results file that the journal stands beside.
    const std::string& output() const { return output_; }
    std::string folder() const { return output_ + ".journal"; }

  private:
    std::unique_ptr<TemporaryDirectory> own_;
    std::string output_;
};

}  // namespace candor::testing
