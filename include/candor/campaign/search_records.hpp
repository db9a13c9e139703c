#pragma once

/// The files of a journal and what their records hold: written by a run, read by the one that goes on from it
/// and by whoever wants to know how far it is.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/hash.hpp"
#include "candor/campaign/found.hpp"
#include "candor/campaign/search_plan.hpp"

namespace candor::campaign {

/// The searches of a study.
enum class Search : std::uint8_t {
    matched,  ///< of the cells as they are
    merged,   ///< of the ablation: contexts merged
    training  ///< of the rows that heads are trained on
};

/// What a journal must have been begun for to be of use. Anything in which runs may differ without changing
/// what a panel of a group is, is not in it.
struct JournalIdentity {
    std::string program;  ///< version and commit
    std::string study;    ///< the effective study
    std::string inputs;   ///< as describe_inputs
    bool ablations = false;
};

/// What the rows of a panel have kept of those they met.
struct KeptPart {
    std::size_t group = 0;
    std::int64_t panel = 0;
    std::string bytes;  ///< as Census::kept
};

/// What a panel found.
struct Answer {
    std::int64_t panel = 0;
    std::vector<FoundPart> found;
};

/// Files of a journal. Those of a rank are called SESSION-RANK and a suffix.
inline constexpr const char* begun_for = "begun-for";
inline constexpr const char* records_suffix = ".records";
inline constexpr const char* checkpoint_suffix = ".checkpoint";
inline constexpr const char* results_suffix = ".results";  // of what is no search's (ResultJournal)
inline constexpr const char* agenda_suffix = ".agenda";    ///< of a search, not of a rank

/// SESSION-RANK, so that names in order are sessions in order.
std::string journal_name(std::int64_t session, int rank);

/// Names without suffix of the files that runs have left in the folder, in the order of the runs.
std::vector<std::string> journal_names(const std::string& folder);

/// The bytes of `begun-for`.
std::string bytes_of(const JournalIdentity& identity, std::int64_t block_rows);

/// What the records of a journal are made for: its identity, whatever the blocks.
Digest digest_of(const JournalIdentity& identity);

/// What the journal in `folder` was begun for, and its block size, from its file `begun-for`; nothing where
/// that is missing or damaged. @throws MachineError where it cannot be read.
std::optional<std::pair<JournalIdentity, std::int64_t>> read_identity(const std::string& folder);

/// @throws MachineError where the journal in `folder`, which does not say what it was begun for, holds work:
/// a run keeps none before it has said that, and removes that last.
void require_no_work(const std::string& folder);

/// What a record holds.
enum class Kind : char { answers = 'A', kept = 'K', met = 'M' };

/// A group as people know it, and how much there is to do from the beginning.
struct AgendaGroup {
    std::string task, encoder, context;       ///< ids, and the context's name
    std::int64_t panels = 0, encounters = 0;  ///< of its census
    double flops = 0;
};

/// What a search has to do in full, whatever earlier runs have done of it, and who is at it: without it a
/// journal tells what is done and not what is left.
struct SearchAgenda {
    std::int64_t session = 0, ranks = 0;
    std::int64_t heads = 0, scores = 0;  ///< of the study: what is to be kept beside the searches
    std::vector<AgendaGroup> groups;
};

/// "matched.agenda", "training.agenda" or "merged.agenda".
std::string agenda_name(Search search);

/// @param plan of the whole search, nothing of it done.
SearchAgenda agenda_of(const study::Study& study, const std::vector<TaskWork>& work, const SearchPlan& plan);

std::string bytes_of(const SearchAgenda& agenda);

/// Nothing where there is none. @throws MachineError where it cannot be read.
std::optional<SearchAgenda> read_agenda(const std::string& path, const Digest& identity);

/// A record's bytes.
std::string answers_record(Search search, std::size_t group, std::span<const Answer> answers,
                           const SearchCost& cost);
std::string kept_record(Search search, const KeptPart& part);
std::string met_record(Search search, std::size_t group, std::span<const neighbors::Encounter> met);

/// A record of earlier runs, as far as ranks tell each other.
struct Known {
    std::int64_t file = 0, place = 0;  // which of the files, and which of its records
    Kind kind = Kind::answers;
    std::size_t group = 0;
    std::vector<std::int64_t> panels;  // answered
    std::vector<PanelPair> met;        // met by them
};

/// The same with what it holds.
struct ReadRecord {
    Known known;
    std::vector<FoundPart> found;
    std::vector<KeptPart> kept;
    SearchCost cost;
    bool is_checkpoint = false;
};

/// Hands the records of one search in a pair of files to `take`, as they stand. What a checkpoint holds of a
/// group counts only where the records, which are written later, hold nothing of it. A file that is not there
/// holds none. @param torn the bytes at the ends of the files that are no records are added to it.
/// @throws MachineError where a file cannot be read.
void read_records(const std::string& records, const std::string& checkpoint, const Digest& identity,
                  Search search, std::int64_t& torn, const std::function<void(ReadRecord)>& take);

/// Takes a record into what is done. @returns false where some of it is there already: then it does not
/// count.
bool take(const Known& known, SearchDone& done);

}  // namespace candor::campaign
