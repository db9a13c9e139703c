#include "candor/base/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "candor/base/text.hpp"

namespace candor {

namespace {

void say(const std::string& text) {
    const std::string line = text + "\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void Log::warning(const std::string& text) const {
    if (speaks_) say("candor: warning: " + text);
}

void Log::info(const std::string& text) const {
    if (verbosity_ != Verbosity::quiet) say("candor: " + text);
}

void Log::detail(const std::string& text) const {
    if (verbosity_ == Verbosity::verbose) say("candor: " + text);
}

Progress::Progress(const Log& log, std::string what, double total, std::string unit)
    : log_(log),
      what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Progress::~Progress() {
    if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::advance(double work) {
    done_ += work;
    if (log_.verbosity() == Verbosity::quiet || total_ <= 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(60000))) return;
    last_ = now;
    const double share = std::min(1.0, done_ / total_);
    const double spent = std::chrono::duration<double>(now - start_).count();
    const std::string rate =
        unit_.empty() || spent <= 0
            ? ""
            : format_fixed(done_ / spent, done_ < 100 * spent ? 1 : 0) + ' ' + unit_ + " a second, ";
    const std::string text = what_ + ": " + format_fixed(100 * share, 1) + " %, " + rate + "about " +
                             format_fixed(share > 0 ? spent * (1 - share) / share : 0, 0) + " s left";
    if (terminal_) {
        std::fprintf(stderr, "\r\033[Kcandor: %s", text.c_str());
        std::fflush(stderr);
        drawn_ = true;
    } else {
        log_.info(text);
    }
}

}  // namespace candor
