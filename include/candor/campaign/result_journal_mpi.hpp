#pragma once

/// Trained heads and the scores of their test rows, kept beside the results until these are written, each
/// under a key of its own (DESIGN 6).

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "candor/campaign/search_journal_mpi.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/journal.hpp"

namespace candor::campaign {

/// What a record is of.
enum class Kept : char {
    head = 'H',   ///< a trained head
    scores = 'S'  ///< what the geometry of the training rows says of test rows
};

/// Results that are finished, in the journal of a run. What was computed on another kind of processor (BLAS
/// core) does not count: its bits may be others.
class ResultJournal {
  public:
    /// Keeps nothing and knows of nothing.
    ResultJournal() = default;
    /// The journal must outlive this.
    explicit ResultJournal(const SearchJournal& journal);

    struct Earlier {
        std::set<std::string> done;                             ///< keys; the same on every rank
        std::vector<std::pair<std::string, std::string>> here;  ///< key and result: those read on this rank
    };
    /// What earlier runs left. Collective.
    Earlier earlier_mpi(const parallel::Communicator& world, Kept kind) const;
    void keep(Kept kind, const std::string& key, const std::string& result);
    void sync();

    /// How far something unfinished had come, by a name that is its own and good for a file; nothing where it
    /// is to begin anew. May be called by any thread, of one name by one at a time; likewise the next two.
    std::optional<std::string> checkpoint(const std::string& name) const;
    /// Replaces it.
    void keep_checkpoint(const std::string& name, const std::string& state) const;
    void drop_checkpoint(const std::string& name) const;

  private:
    std::string path_of(const std::string& name) const;

    const SearchJournal* journal_ = nullptr;
    std::unique_ptr<store::JournalWriter> records_;
};

}  // namespace candor::campaign
