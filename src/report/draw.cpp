#include "candor/report/draw.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

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

/// Draws one figure. @returns "" or what is wrong.
std::string draw(const std::string& folder, const std::string& name, const std::string& log,
                 std::vector<std::string>& variables) {
    std::vector<std::string> words{"gnuplot", "-d", name + ".gp"};  // -d: no start-up file of the user's
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
    constexpr const char* remedy =
        "; install it (Debian: apt install gnuplot-nox) and run this again, or run gnuplot on the files *.gp";
    if (failed == ENOENT) return std::string("gnuplot is not installed") + remedy;
    if (failed != 0) return std::string("gnuplot cannot be run: ") + std::strerror(failed) + remedy;
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return std::string("gnuplot cannot be run") + remedy;
    std::error_code error;
    const auto bytes = std::filesystem::file_size(folder + '/' + name + ".svg", error);
    if (status != 0 || error || bytes == 0) {
        return "gnuplot did not draw " + name + ".svg (" + first_line(log) +
               "); is it older than version 5.2?";
    }
    return {};
}

/// cairo writes into a PDF when it was made; the same figure is to be the same bytes. A time of as many
/// digits leaves all else where it is.
void forget_time(const std::string& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    constexpr std::string_view key = "/CreationDate (D:", never = "19700101000000";
    const std::size_t at = bytes.rfind(key);
    if (at == std::string::npos || at + key.size() + never.size() > bytes.size()) return;
    file.seekp(static_cast<std::streamoff>(at + key.size()));
    file.write(never.data(), std::ssize(never));
}

}  // namespace

std::string draw_figures(const std::string& folder, const std::vector<std::string>& names) {
    const std::string log = folder + "/gnuplot.log";
    std::vector<std::string> variables = environment();
    bool pdf = true;
    // A process a figure: what one script leaves behind would colour the next.
    for (const std::string& name : names) {
        const std::string fault = draw(folder, name, log, variables);
        std::error_code error;
        if (fault.empty()) {
            const std::string path = folder + '/' + name + ".pdf";
            pdf = pdf && std::filesystem::exists(path, error);
            if (pdf) forget_time(path);
        }
        if (!fault.empty()) {
            std::filesystem::remove(log, error);
            return fault;
        }
    }
    std::error_code error;
    std::filesystem::remove(log, error);
    return pdf ? "" : "this gnuplot makes no PDF files; Debian's gnuplot-nox does";
}

}  // namespace candor::report
