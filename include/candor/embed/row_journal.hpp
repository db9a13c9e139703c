#pragma once

/// The rows of a feature file that are finished, kept beside it until it is written, so that a run that was
/// ended goes on where it was, on any number of ranks.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "candor/base/hash.hpp"
#include "candor/base/log.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/journal.hpp"

namespace candor::embed {

/// The file of a journal that says what its rows are made from.
inline constexpr const char* made_from_name = "made-from";

/// An item without a row, and why.
struct Omission {
    std::int64_t item = 0;
    std::string why;
};

/// What became of the items that were encoded together.
struct BatchRows {
    std::int64_t batch = 0;
    std::int64_t dimension = 0;  ///< 0 where all were omitted
    std::vector<Omission> omitted;
    std::string rows;  ///< of the others, in order, as they are stored
};

class RowJournal {
  public:
    /// Opens `<output>.journal`, which exists and is locked. Collective.
    /// @param made_from  what rows must have been made from, to the last letter, to be of use: lines
    /// @param machine  on which machines they have the same bits; rows of another are made again
    /// @throws UsageError where it was begun for something else, with the first line that differs, unless
    /// `overwrite`,
    ///         which begins anew.
    RowJournal(const parallel::Communicator& world, const std::string& output, const std::string& made_from,
               const std::string& machine, bool overwrite, const Log& log);

    /// Keeps a batch: it outlives this process.
    void keep(const BatchRows& batch);
    /// Brings everything to disk.
    void sync();

    /// Batches that are kept, by whichever rank and run, without their rows, each once, in order. Collective.
    std::vector<BatchRows> kept_mpi(const parallel::Communicator& world) const;
    /// Shows `take` the batches, with their rows, that this rank kept and its share of what earlier runs did:
    /// all ranks together see each at least once.
    void for_each_here(const std::function<void(const BatchRows&)>& take) const;

    /// Removes the journal: its work is done. Collective.
    void remove(const parallel::Communicator& world);
    /// Removes what is left beside an output by a run that was ended after it wrote it. Of one rank.
    /// @throws UsageError where another run holds the output.
    static void remove_left(const std::string& output);

  private:
    std::string folder_;
    Digest identity_;
    std::vector<std::string> files_;  ///< read here: this rank's own last
    std::unique_ptr<store::JournalWriter> records_;
};

}  // namespace candor::embed
