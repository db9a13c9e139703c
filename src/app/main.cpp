/// candor: chance-calibrated neighborhood discordance of frozen image encoders.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "candor/app/bench_command.hpp"
#include "candor/app/calibrate_command.hpp"
#include "candor/app/check_command.hpp"
#include "candor/app/diff_command.hpp"
#include "candor/app/embed_command.hpp"
#include "candor/app/import_command.hpp"
#include "candor/app/manual.hpp"
#include "candor/app/options.hpp"
#include "candor/app/pairs_command.hpp"
#include "candor/app/plan_command.hpp"
#include "candor/app/program.hpp"
#include "candor/app/report_command.hpp"
#include "candor/app/run_command.hpp"
#include "candor/app/show_command.hpp"
#include "candor/app/synth_command.hpp"
#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/parallel/session.hpp"

namespace {

struct Command {
    const char* name;
    int (*run)(const std::vector<std::string>&);
    const char* purpose;
};

constexpr Command commands[] = {
    {"check", candor::app::check_command,
     "STUDY.toml              audit every input of a study, before any compute"},
    {"plan", candor::app::plan_command,
     "STUDY.toml              predict time, balance and memory on 1 to 4,096 ranks"},
    {"run", candor::app::run_command,
     "STUDY.toml -o OUT.h5    carry out a study; under mpirun or srun, or alone"},
    {"show", candor::app::show_command,
     "OUT.h5 [TABLE]          print results as text, csv, json, md or tex; how far a run is"},
    {"report", candor::app::report_command,
     "OUT.h5 -o DIR           tables, figures and a page of the results"},
    {"diff", candor::app::diff_command,
     "A.h5 B.h5               what changed between two results files, beyond the intervals or not"},
    {"pairs", candor::app::pairs_command,
     "OUT.h5 --close --far    list opposite-label pairs that one encoder confuses and another does not"},
    {"import", candor::app::import_command,
     "-o OUT.h5 FILE          make a feature file from .npy, .npz, CSV or HDF5"},
    {"embed", candor::app::embed_command,
     "RECIPE.toml             make feature files from images, the evidence erased too; over ranks"},
    {"synth", candor::app::synth_command,
     "--shape NAME -o DIR     write a synthetic study whose discordance rates are known"},
    {"calibrate", candor::app::calibrate_command,
     "[-o OUT.h5] [--quick]   prove on this machine that chance is one half and that tests hold their size"},
    {"bench", candor::app::bench_command,
     "                        measure candor beside the matrix products of this machine"},
};

std::string usage() {
    std::string text =
        "candor measures how well frozen image encoders separate a finding, before any head is trained.\n\n"
        "Usage: candor COMMAND [options]\n\n";
    for (const Command& command : commands) {
        const std::string name = command.name;
        text += "  candor " + name + std::string(10 - name.size(), ' ') + command.purpose + "\n";
    }
    return text +
           "\n  candor COMMAND --help    the options of a command\n  candor --version         what this "
           "build is\n  candor man COMMAND       a man page: candor man run | man -l -\n  candor completion  "
           "      completion for bash: source <(candor completion)\n";
}

candor::app::CommandHelp help_of(const Command& command) {
    // The purpose stands behind the words that the command takes, at least two blanks further.
    const std::string line = command.purpose;
    const auto at = line.rfind("  ");
    return candor::app::help_of(command.name, line.substr(at == std::string::npos ? 0 : at + 2), command.run);
}

/// `candor man COMMAND` and `candor completion`: for packagers and for the shell.
bool tell_manual(const std::vector<std::string>& words) {
    if (words == std::vector<std::string>{"completion"}) {
        std::vector<candor::app::CommandHelp> all;
        for (const Command& command : commands) all.push_back(help_of(command));
        candor::app::write_output(candor::app::bash_completion(all));
        return true;
    }
    if (words.size() != 2 || words[0] != "man") return false;
    for (const Command& command : commands) {
        if (words[1] != command.name) continue;
        candor::app::write_output(candor::app::man_page(help_of(command)));
        return true;
    }
    return false;
}

int dispatch(const std::vector<std::string>& words) {
    if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
        candor::app::write_output(usage());
        return words.empty() ? static_cast<int>(candor::ExitCode::usage) : 0;
    }
    if (std::ranges::find(words, "--version") != words.end()) {
        candor::app::write_output(candor::app::version_text());
        return 0;
    }
    if (tell_manual(words)) return 0;
    std::vector<std::string> names;
    for (const Command& command : commands) {
        if (words[0] == command.name) return command.run({words.begin() + 1, words.end()});
        names.emplace_back(command.name);
    }
    const std::string near = candor::nearest_name(words[0], names);
    throw candor::UsageError(
        "candor " + words[0],
        "no such command; " +
            (near.empty() ? "there are " + candor::join_text(names, ", ") : "did you mean " + near + "?"));
}

int fail(candor::ExitCode code, const std::string& text) {
    // Outside a session every rank fails alike, so one speaks for all; the others leave it the time to, since
    // mpirun ends all ranks as soon as the first is gone.
    if (candor::parallel::launched_rank() == 0) {
        std::fprintf(stderr, "candor: error: %s\n", text.c_str());
    } else {
        std::this_thread::sleep_for(std::chrono::seconds(5));
    }
    return static_cast<int>(code);
}

/// OpenMP's threads spin for milliseconds at the end of each loop and so keep the processors that other ranks
/// and programs wait for: beside two busy processes, a search by two threads took 4 to 7 s where it takes
/// 0.3. How to wait is read from the environment before main begins, so the program begins once more with
/// that said.
void let_threads_sleep(char** argv) {
    if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
    std::error_code fault;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", fault);
    if (fault || ::setenv("OMP_WAIT_POLICY", "passive", 0) != 0) return;
    ::execv(self.c_str(), argv);  // comes back only where it fails: then they spin
}

}  // namespace

int main(int argc, char** argv) {
    let_threads_sleep(argv);
    try {
        return dispatch({argv + 1, argv + argc});
    } catch (const candor::Error& error) {
        return fail(error.code(), error.what());
    } catch (const std::bad_alloc&) {
        return fail(candor::ExitCode::machine, "out of memory");
    } catch (const std::exception& error) {
        return fail(candor::ExitCode::internal, std::string("internal fault: ") + error.what() +
                                                    "; please report this with the command you ran");
    }
}
