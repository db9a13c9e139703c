#include "candor/report/draw.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "candor/report/escape.hpp"

extern char** environ;

namespace candor::report {

namespace {

/// First line of `path` that says something.
std::string first_line(const std::string& path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.find_first_not_of(" \t^\r") != std::string::npos) return plain_text(line);
    }
    return "no message";
}

/// The environment with the C locale, so that a decimal comma is nobody's default.
std::vector<std::string> environment() {
    std::vector<std::string> out;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        if (!text.starts_with("LC_") && !text.starts_with("LANG") && !text.starts_with("GNUPLOT"))
            out.emplace_back(text);
    }
    out.emplace_back("LC_ALL=C");
    return out;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> out;
    for (std::string& word : words) out.push_back(word.data());
    out.push_back(nullptr);
    return out;
}

}  // namespace

std::string draw_figures(const std::string& folder, const std::vector<std::string>& names) {
    if (names.empty()) return {};
    // gnuplot reads a name that begins with '-' as an option; ours never do (file_part).
    std::vector<std::string> words{"gnuplot", "-d"};  // -d: no start-up file of the user's
    for (const std::string& name : names) words.push_back(name + ".gp");
    std::vector<std::string> variables = environment();
    const std::string log = folder + "/gnuplot.log";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0644);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    auto arguments = pointers(words);
    auto environment_pointers = pointers(variables);
    pid_t child = 0;
    const int failed =
        ::posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments.data(), environment_pointers.data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
        std::filesystem::remove(log);
        const std::string why = failed == ENOENT
                                    ? "gnuplot is not installed"
                                    : std::string("gnuplot cannot be run: ") + std::strerror(failed);
        return why +
               "; install it (Debian: apt install gnuplot-nox) and run this again, or run gnuplot on the "
               "files *.gp";
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    const std::string said = first_line(log);
    std::filesystem::remove(log);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        return "gnuplot cannot be run; install it (Debian: apt install gnuplot-nox) and run this again";
    }
    bool pdf = true;
    for (const std::string& name : names) {
        const std::string path = folder + '/' + name;
        std::error_code error;
        if (std::filesystem::file_size(path + ".svg", error) == 0 || error) {
            return "gnuplot did not draw " + name + ".svg (" + said + "); is it older than version 5.2?";
        }
        pdf = pdf && std::filesystem::exists(path + ".pdf", error);
    }
    if (status != 0) return "gnuplot ended with a fault (" + said + ")";
    return pdf ? "" : "this gnuplot makes no PDF files; Debian's gnuplot-nox does";
}

}  // namespace candor::report
