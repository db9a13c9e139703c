#include "candor/campaign/journal_progress.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>

#include "candor/base/bytes.hpp"
#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/campaign/result_journal_mpi.hpp"
#include "candor/store/journal.hpp"
#include "candor/store/output_lock.hpp"

namespace candor::campaign {

namespace {

namespace fs = std::filesystem;

/// Seconds since the newer of two files was changed; a file that is not there is of no matter.
double since_change(const std::string& records, const std::string& checkpoint) {
    fs::file_time_type newest = fs::file_time_type::min();
    for (const std::string& path : {records, checkpoint}) {
        std::error_code absent;
        const auto changed = fs::last_write_time(path, absent);
        if (!absent) newest = std::max(newest, changed);
    }
    const auto now = fs::file_time_type::clock::now();
    return newest == fs::file_time_type::min()
               ? 0
               : std::max(0.0, std::chrono::duration<double>(now - newest).count());
}

struct FileName {
    std::int64_t session = 0, rank = 0;
};

FileName parts_of(const std::string& name) {
    const std::string_view text(name);
    const std::size_t dash = text.find('-');
    return {parse_integer(text.substr(0, dash)).value_or(0),
            parse_integer(text.substr(dash + 1)).value_or(0)};
}

/// Counts heads and scores.
void read_results(const std::string& folder, const std::vector<std::string>& names, const Digest& digest,
                  JournalProgress& progress, std::map<std::int64_t, RankProgress>& ranks) {
    std::set<std::string> heads, scores;
    for (const std::string& name : names) {
        const std::string path = folder + "/" + name + results_suffix;
        if (!fs::exists(path)) continue;
        const FileName file = parts_of(name);
        store::read_journal(path, digest, [&](std::string_view record) {
            ByteReader in(record);
            const auto kind = in.get<Kept>();
            in.get_text();  // the BLAS core
            (kind == Kept::head ? heads : scores).insert(in.get_text());
            if (file.session != progress.session) return;
            RankProgress& rank = ranks[file.rank];
            const double changed = since_change(path, path);
            rank.changed =
                rank.answered + rank.met + rank.results > 0 ? std::min(rank.changed, changed) : changed;
            rank.rank = file.rank;
            ++rank.results;
        });
    }
    progress.heads.finished = std::ssize(heads);
    progress.scores.finished = std::ssize(scores);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
        progress.heads.begun += entry.path().extension() == training_suffix;
}

JournalProgress read_once(const std::string& folder, const JournalIdentity& identity) {
    JournalProgress progress;
    progress.ablations = identity.ablations;
    const Digest digest = digest_of(identity);
    std::map<std::int64_t, RankProgress> ranks;
    const std::vector<std::string> names = journal_names(folder);
    for (const Search search : {Search::matched, Search::training, Search::merged}) {
        const auto agenda = read_agenda(folder + "/" + agenda_name(search), digest);
        if (!agenda) continue;
        if (agenda->session > progress.session) {
            ranks.clear();
            progress.session = agenda->session;
            progress.ranks = agenda->ranks;
        }
        progress.heads.all = agenda->heads;
        progress.scores.all = agenda->scores;
        SearchProgress here{search, {}};
        for (const AgendaGroup& group : agenda->groups) here.groups.push_back({group});
        SearchDone done;
        for (const std::string& name : names) {
            const std::string path = folder + "/" + name;
            const FileName file = parts_of(name);
            const bool newest = file.session == progress.session;
            std::int64_t torn = 0;  // of a run at work: a record that is being written
            read_records(path + records_suffix, path + checkpoint_suffix, digest, search, torn,
                         [&](ReadRecord one) {
                             const std::size_t group = one.known.group;
                             if (group >= here.groups.size()) return;
                             if (newest) {
                                 RankProgress& rank = ranks[file.rank];
                                 rank.rank = file.rank;
                                 rank.answered += std::ssize(one.known.panels);
                                 rank.met += std::ssize(one.known.met);
                                 if (one.is_checkpoint) rank.searching = here.groups[group].group;
                                 rank.changed = since_change(path + records_suffix, path + checkpoint_suffix);
                             }
                             if (!take(one.known, done)) return;
                             here.groups[group].answered += std::ssize(one.known.panels);
                             here.groups[group].met += std::ssize(one.known.met);
                         });
        }
        progress.searches.push_back(std::move(here));
    }
    read_results(folder, names, digest, progress, ranks);
    for (auto& [number, rank] : ranks) progress.kept.push_back(std::move(rank));
    return progress;
}

}  // namespace

double GroupProgress::done() const {
    if (finished()) return 1;
    return group.encounters > 0
               ? std::min(1.0, static_cast<double>(met) / static_cast<double>(group.encounters))
               : 0;
}

std::int64_t SearchProgress::finished() const {
    return std::ranges::count_if(groups, &GroupProgress::finished);
}

std::int64_t SearchProgress::begun() const {
    return std::ranges::count_if(groups,
                                 [](const GroupProgress& one) { return one.begun() && !one.finished(); });
}

double SearchProgress::done() const {
    double all = 0, part = 0;
    for (const GroupProgress& one : groups) {
        all += one.group.flops;
        part += one.done() * one.group.flops;
    }
    return all > 0 ? part / all : 1;
}

bool JournalProgress::searched() const {
    return searches.size() == (ablations ? 3U : 2U) && heads.finished >= heads.all &&
           scores.finished >= scores.all && std::ranges::all_of(searches, [](const SearchProgress& one) {
               return one.finished() == std::ssize(one.groups);
           });
}

JournalProgress read_progress(const std::string& output, const std::string& program) {
    const std::string folder = output + ".journal";
    // A run at work replaces and removes its checkpoints: where one goes while it is being read, again.
    constexpr int attempts = 5;
    for (int attempt = 1;; ++attempt) {
        try {
            const auto standing = read_identity(folder);
            JournalProgress progress;
            if (standing) {
                if (standing->first.program != program) {
                    throw UsageError(folder, "was begun by another version of candor (" +
                                                 standing->first.program + ", this is " + program +
                                                 "); show it with that one");
                }
                progress = read_once(folder, standing->first);
            } else {
                require_no_work(folder);
            }
            progress.running = store::OutputLock::is_held(output);
            return progress;
        } catch (const MachineError&) {
            if (attempt == attempts) throw;
        } catch (const fs::filesystem_error& error) {
            if (attempt == attempts) throw MachineError(folder, "cannot be read: " + error.code().message());
        }
    }
}

}  // namespace candor::campaign
