#pragma once

/// What the searches of a study have finished, kept beside the results file until that is written, so that a
/// run that was ended goes on where it was, on any number of ranks (DESIGN 6).

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "candor/base/hash.hpp"
#include "candor/base/log.hpp"
#include "candor/campaign/found.hpp"
#include "candor/campaign/search_plan.hpp"
#include "candor/campaign/search_records.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/journal.hpp"

namespace candor::campaign {

/// Ends the names of files in a journal's folder that hold a training that was not finished.
inline constexpr const char* training_suffix = ".training";

/// What earlier runs left of a search.
struct Earlier {
    SearchDone done;               ///< the same on every rank
    std::vector<FoundPart> found;  ///< those read on this rank, like the rest
    std::vector<KeptPart> kept;
    SearchCost cost;
};

/// Two kinds of things are kept: what panels found, and, of groups that take long or that several ranks
/// share, what the rows of panels have kept of those they met so far. Of the latter the newest replaces the
/// one before until the group is done, so that the journal grows with the results and not with time.
class SearchJournal {
  public:
    /// Keeps nothing and knows of nothing.
    SearchJournal() = default;
    /// Opens `<output>.journal`, which exists and is locked. Collective. @param block_rows of the run; where
    /// the journal was begun with another, that is what it must go on with (see `block_rows`).
    /// @throws UsageError where it was begun for something else, saying in what they differ; MachineError
    ///         where it holds work and nothing tells of what; with `overwrite` it is then removed.
    SearchJournal(const parallel::Communicator& world, const std::string& output,
                  const JournalIdentity& identity, std::int64_t block_rows, bool overwrite, const Log& log);
    ~SearchJournal();
    SearchJournal(const SearchJournal&) = delete;
    SearchJournal& operator=(const SearchJournal&) = delete;

    /// Panels are made of blocks: those of a journal and of the run that goes on from it are one.
    std::int64_t block_rows() const { return block_rows_; }
    /// Whether earlier runs left anything.
    bool goes_on() const { return !files_.empty(); }

    /// Empty where nothing is kept.
    const std::string& folder() const { return folder_; }
    /// What begins the files of this journal.
    const Digest& identity() const { return identity_; }
    /// Where this rank keeps what is no search's (ResultJournal); empty where nothing is kept.
    const std::string& results_file() const { return results_file_; }
    /// The same of earlier runs, on every rank all of them; some may not exist.
    const std::vector<std::string>& earlier_results_files() const { return earlier_results_files_; }

    /// What earlier runs left of a search. Collective.
    Earlier earlier_mpi(const parallel::Communicator& world, Search search, const Log& log) const;

    /// Says what a search has to do and who is at it, for whoever looks on. On one rank.
    void announce(Search search, SearchAgenda agenda, int ranks) const;

    /// Keeps what panels of a group found, all together or not at all.
    void answered(Search search, std::size_t group, std::span<const Answer> answers, const SearchCost& cost);
    /// Keeps what the rows of a group have kept here of those whom they met: this rank's whole share of it.
    void kept(Search search, std::size_t group, std::span<const neighbors::Encounter> met,
              std::span<const KeptPart> parts);
    /// Whether a group that is being searched should be kept as far as it is.
    bool is_due() const;
    /// Keeps it: `kept_of(panel)` for the panels of `met`, until one of the above, or another of this kind,
    /// takes its place.
    void checkpoint(Search search, std::size_t group, std::span<const neighbors::Encounter> met,
                    const std::function<std::string(std::int64_t)>& kept_of);
    /// Notes that something was kept, by whomever. May be called by any thread.
    void note_kept() const { has_kept_ = true; }
    /// Whether this run has kept anything on this rank.
    bool has_kept() const { return has_kept_; }
    /// Brings everything to disk.
    void sync();
    /// Removes the journal: its work is done. Collective.
    void remove(const parallel::Communicator& world);
    /// Removes what is left of a run that wrote `output` and was ended before it could do so itself.
    static void remove_left(const std::string& output, const JournalIdentity& identity);

  private:
    void drop_checkpoint();

    std::string folder_, checkpoint_, results_file_;
    std::vector<std::string> earlier_results_files_;
    std::int64_t block_rows_ = 0, session_ = 0;
    Digest identity_;
    std::vector<std::pair<std::string, std::string>> files_;  // of earlier runs: records, checkpoint
    std::unique_ptr<store::JournalWriter> records_;
    bool has_checkpoint_ = false;
    mutable std::atomic<bool> has_kept_ = false;
    std::chrono::steady_clock::time_point last_;
    std::chrono::duration<double> took_{0};
};

}  // namespace candor::campaign
