#pragma once

/// How far a study is that is being run, or was ended, from its journal alone: without MPI, without the
/// study's files, and without disturbing the run.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "candor/campaign/search_records.hpp"

namespace candor::campaign {

/// A group of a search and what is done of it.
struct GroupProgress {
    AgendaGroup group;
    std::int64_t answered = 0;  ///< of its panels
    std::int64_t met = 0;       ///< of its encounters, whose panels kept what they found

    bool finished() const { return answered >= group.panels; }
    bool begun() const { return answered > 0 || met > 0; }
    /// Of its products, 0 to 1.
    double done() const;
};

struct SearchProgress {
    Search search = Search::matched;
    std::vector<GroupProgress> groups;  ///< in the order of the search

    std::int64_t finished() const;
    std::int64_t begun() const;  ///< and not finished
    /// Of its products, 0 to 1.
    double done() const;
};

/// Results that are kept one by one: trained heads, scores of failure.
struct CountProgress {
    std::int64_t all = 0, finished = 0;
    std::int64_t begun = 0;  ///< and not finished: states of trainings
};

/// What a rank of the newest session has kept.
struct RankProgress {
    std::int64_t rank = 0;
    std::int64_t answered = 0, met = 0;    ///< panels decided, encounters kept, of all searches
    std::int64_t results = 0;              ///< heads and scores kept
    std::optional<AgendaGroup> searching;  ///< that its checkpoint is of
    double changed = 0;                    ///< seconds since it kept something
};

struct JournalProgress {
    bool running = false;
    bool ablations = false;                ///< there will be a search with contexts merged
    std::int64_t session = 0, ranks = 0;   ///< of the newest session that came to its search; else 0
    std::vector<SearchProgress> searches;  ///< those that were begun
    std::vector<RankProgress> kept;        ///< ranks of that session that have kept something
    CountProgress heads, scores;
    /// All of these are done; counts and tables, of which the journal holds nothing, may not be.
    bool searched() const;
};

/// Reads `<output>.journal`. Where a run is still preparing, or was ended so early, there are no searches.
/// @param program as in JournalIdentity; records are read by the program that wrote them.
/// @throws UsageError where another version of candor began it; MachineError where it cannot be read.
JournalProgress read_progress(const std::string& output, const std::string& program);

}  // namespace candor::campaign
