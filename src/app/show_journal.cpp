#include "candor/app/show_journal.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <vector>

#include "candor/app/options.hpp"
#include "candor/app/program.hpp"
#include "candor/base/duration.hpp"
#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/campaign/journal_progress.hpp"
#include "candor/embed/row_journal.hpp"
#include "candor/report/table_format.hpp"
#include "candor/store/output_lock.hpp"
#include "candor/store/table_rows.hpp"

namespace candor::app {

namespace {

namespace fs = std::filesystem;
using campaign::JournalProgress;
using campaign::SearchProgress;

constexpr std::string_view suffix = ".journal";

std::string output_of(const std::string& folder) {
    return folder.substr(0, folder.size() - suffix.size());
}

/// Results that the journal's run has written: not older ones that a run with --overwrite is to replace.
bool has_results(const std::string& folder) {
    const std::string output = output_of(folder);
    std::error_code absent;
    const auto written = fs::last_write_time(output, absent);
    if (absent) return false;
    if (!fs::exists(folder)) return true;
    const auto begun = fs::last_write_time(folder + '/' + campaign::begun_for, absent);
    return !store::OutputLock::is_held(output) && (absent || written >= begun);
}

std::string results_line(const std::string& folder) {
    return output_of(folder) + " holds the results: candor show " + output_of(folder) + "\n";
}

const char* name_of(campaign::Search search) {
    return search == campaign::Search::matched    ? "search"
           : search == campaign::Search::training ? "search, training rows"
                                                  : "search, contexts merged";
}

/// A part of the study that its journal keeps piece by piece.
struct Stage {
    std::string name;
    double done = 0;  // 0 to 1
    std::int64_t pieces = 0, finished = 0, begun = 0;
};

Stage stage_of(const char* name, const campaign::CountProgress& count) {
    const double done =
        count.all > 0 ? static_cast<double>(count.finished) / static_cast<double>(count.all) : 1;
    return {name, std::min(done, 1.0), count.all, count.finished, count.begun};
}

/// Those that have something to do, in the order of the run; searches that it has not come to are not there.
std::vector<Stage> stages_of(const JournalProgress& progress) {
    std::vector<Stage> stages;
    for (const SearchProgress& one : progress.searches) {
        if (one.groups.empty()) continue;
        stages.push_back(
            {name_of(one.search), one.done(), std::ssize(one.groups), one.finished(), one.begun()});
    }
    const auto after_first = [&] { return stages.begin() + (stages.empty() ? 0 : 1); };
    if (progress.scores.all > 0) stages.insert(after_first(), stage_of("scores of failure", progress.scores));
    if (progress.heads.all > 0) stages.insert(after_first(), stage_of("heads", progress.heads));
    return stages;
}

store::ResultTable stages_table(const std::vector<Stage>& stages) {
    return store::table_of("stages", stages, [](store::TableRows& rows, const Stage& one) {
        rows.put("name", one.name);
        rows.put("done_share", one.done);
        rows.put("pieces", one.pieces);
        rows.put("finished", one.finished);
        rows.put("begun", one.begun);
        rows.put("left", std::max<std::int64_t>(0, one.pieces - one.finished - one.begun));
    });
}

/// A row a task and encoder of which something is left.
store::ResultTable left_table(const JournalProgress& progress) {
    std::vector<SearchProgress> parts;
    for (const SearchProgress& search : progress.searches) {
        // Groups of a task and encoder follow each other.
        for (auto at = search.groups.begin(); at != search.groups.end();) {
            SearchProgress part{search.search, {}};
            const auto first = at;
            while (at != search.groups.end() && at->group.task == first->group.task &&
                   at->group.encoder == first->group.encoder)
                part.groups.push_back(*at++);
            if (part.finished() < std::ssize(part.groups)) parts.push_back(std::move(part));
        }
    }
    return store::table_of("left", parts, [](store::TableRows& rows, const SearchProgress& part) {
        const campaign::AgendaGroup first =
            part.groups.empty() ? campaign::AgendaGroup{} : part.groups[0].group;
        rows.put("name", std::string(name_of(part.search)));
        rows.put("task", first.task);
        rows.put("encoder", first.encoder);
        rows.put("done_share", part.done());
        rows.put("groups", std::ssize(part.groups));
        rows.put("finished", part.finished());
        rows.put("begun", part.begun());
    });
}

store::ResultTable ranks_table(const JournalProgress& progress) {
    return store::table_of(
        "ranks", progress.kept, [](store::TableRows& rows, const campaign::RankProgress& one) {
            rows.put("rank", one.rank);
            rows.put("panels_decided", one.answered);
            rows.put("encounters_kept", one.met);
            rows.put("results_kept", one.results);
            rows.put("checkpoint_of",
                     one.searching
                         ? join_text(std::vector<std::string>{one.searching->task, one.searching->encoder,
                                                              one.searching->context},
                                     " / ")
                         : std::string("-"));
            rows.put("seconds_since", std::round(one.changed));
        });
}

std::string page(const std::string& folder, const JournalProgress& progress) {
    std::string text = folder + ": ";
    text += progress.running ? "a run is at work"
                             : "no run is at work; the same candor run goes on from what is kept";
    if (progress.session > 0) {
        text += ". Session " + std::to_string(progress.session) + " on " + std::to_string(progress.ranks) +
                (progress.ranks == 1 ? " rank" : " ranks");
    }
    text += ".\n";
    if (progress.searches.empty()) return text + "It has not come to its search yet.\n";
    const auto add = [&](const store::ResultTable& table) {
        text += "\n== " + table.name + "\n" + report::format_table(table, report::Format::text);
    };
    add(stages_table(stages_of(progress)));
    if (progress.searched()) {
        text += "\nAll that is kept piece by piece is done. What follows, counts and tables, is not kept.\n";
    } else {
        if (const auto left = left_table(progress); left.rows() > 0) add(left);
        if (progress.ablations && progress.searches.back().search != campaign::Search::merged)
            text += "\nThe search with contexts merged is to come.\n";
    }
    if (!progress.kept.empty()) add(ranks_table(progress));
    return text;
}

/// What is said while a run is followed.
class Line {
  public:
    explicit Line(const Log& log) : log_(log), terminal_(isatty(STDERR_FILENO) == 1) {}
    ~Line() {
        if (drawn_) std::fputs("\r\033[K", stderr);
    }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    void say(const JournalProgress& progress) {
        const std::string text = words(progress);
        const auto now = Clock::now();
        if (log_.verbosity() == Verbosity::quiet || text == said_) return;
        if (terminal_) {
            std::fprintf(stderr, "\r\033[Kcandor: %s", text.c_str());
            std::fflush(stderr);
            drawn_ = true;
        } else if (now - last_ >= std::chrono::minutes(1)) {
            log_.info(text);
            last_ = now;
        } else {
            return;
        }
        said_ = text;
    }

  private:
    using Clock = std::chrono::steady_clock;

    std::string words(const JournalProgress& progress) {
        if (progress.searches.empty()) return progress.running ? "preparing" : "no run is at work";
        const std::vector<Stage> stages = stages_of(progress);
        const auto at = std::ranges::find_if(stages, [](const Stage& s) { return s.finished < s.pieces; });
        if (at == stages.end()) return progress.running ? "counting" : "no run is at work";
        if (at->name != of_ || !progress.running) {
            first_ = at->done;
            of_ = at->name;
            begun_ = Clock::now();
        }
        std::string text = at->name + ": " + format_fixed(100 * at->done, 1) + " %, " +
                           std::to_string(at->finished) + " of " + std::to_string(at->pieces);
        if (!progress.running) return text + "; no run is at work";
        if (at->done > first_) {
            const double spent = std::chrono::duration<double>(Clock::now() - begun_).count();
            text += ", about " + duration_text(spent * (1 - at->done) / (at->done - first_)) + " left of it";
        }
        return text;
    }

    const Log& log_;
    bool terminal_, drawn_ = false;
    std::string said_;
    Clock::time_point last_ = Clock::now(), begun_ = Clock::now();
    std::string of_;    // stage
    double first_ = 0;  // how far it was when it was first seen
};

/// @throws UsageError where there is neither a journal nor, then to be looked at instead, are there
/// results.
void require_journal(const std::string& folder) {
    std::error_code absent;
    if (fs::exists(folder + '/' + embed::made_from_name, absent))
        throw UsageError(
            folder, "is what candor embed has kept of a feature file; the same candor embed goes on from it");
    if (fs::is_directory(folder)) return;
    throw UsageError(folder,
                     has_results(folder)
                         ? "is gone, since its run is finished: candor show " + output_of(folder)
                         : "is no journal, and there are no results of that name; name OUT.h5.journal "
                           "of a run that was begun");
}

}  // namespace

std::vector<store::ResultTable> journal_tables(const std::string& folder) {
    require_journal(folder);
    const JournalProgress progress = campaign::read_progress(output_of(folder), campaign::name_of(program()));
    return {stages_table(stages_of(progress)), left_table(progress), ranks_table(progress)};
}

bool is_journal(const std::string& path) {
    return path.size() > suffix.size() && path.ends_with(suffix);
}

void show_journal(const std::string& folder) {
    require_journal(folder);
    write_output(page(folder, campaign::read_progress(output_of(folder), campaign::name_of(program()))));
}

void follow_journal(const std::string& folder, const Log& log) {
    using Clock = std::chrono::steady_clock;
    if (has_results(folder)) return write_output(results_line(folder));
    require_journal(folder);
    const std::string output = output_of(folder), name = campaign::name_of(program());
    {
        Line line(log);
        bool first = true;
        Clock::time_point next = Clock::now();
        while (!has_results(folder)) {
            if (!fs::is_directory(folder)) {
                // Results come before the journal goes.
                if (has_results(folder)) break;
                throw MachineError(folder, "is gone and there are no results: its run was given up",
                                   "begin it again");
            }
            if (Clock::now() >= next) {
                const Clock::time_point start = Clock::now();
                const JournalProgress progress = campaign::read_progress(output, name);
                // Looking on must stay cheap beside running: a journal may be large.
                next = Clock::now() +
                       std::max<Clock::duration>(std::chrono::seconds(1), 20 * (Clock::now() - start));
                if (std::exchange(first, false)) write_output(page(folder, progress));
                line.say(progress);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
    }
    write_output(results_line(folder));
}

}  // namespace candor::app
