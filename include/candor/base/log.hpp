#pragma once

/// Messages for people, on standard error; results go to standard output.

#include <chrono>
#include <cstdint>
#include <string>

namespace candor {

enum class Verbosity { quiet, normal, verbose };

/// Speaks on one rank only: the others hold a log that says nothing.
class Log {
  public:
    Log(Verbosity verbosity, bool speaks)
        : verbosity_(speaks ? verbosity : Verbosity::quiet), speaks_(speaks) {}

    /// What a user must know of: shown even under --quiet.
    void warning(const std::string& text) const;
    void info(const std::string& text) const;
    void detail(const std::string& text) const;
    Verbosity verbosity() const { return verbosity_; }

  private:
    Verbosity verbosity_;
    bool speaks_;
};

/// How far a long loop is: on a terminal one line that is rewritten, with the time left; elsewhere a line a
/// minute.
class Progress {
  public:
    /// @param total work in any unit, e.g. flops.
    /// @param unit where given, how many of them a second are shown, e.g. "images".
    Progress(const Log& log, std::string what, double total, std::string unit = {});
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void advance(double work);

  private:
    const Log& log_;
    std::string what_, unit_;
    double total_, done_ = 0;
    bool terminal_, drawn_ = false;
    std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace candor
