#include "candor/app/stop_at.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "candor/base/duration.hpp"
#include "candor/base/error.hpp"
#include "candor/base/text.hpp"

namespace candor::app {

namespace po = boost::program_options;

namespace {

using Clock = std::chrono::system_clock;

/// Stopping takes seconds; a tenth of a short time has to do.
Clock::time_point before_end_of(std::chrono::milliseconds left) {
    return Clock::now() + left - std::min<std::chrono::milliseconds>(std::chrono::seconds(60), left / 10);
}

Clock::time_point before_limit(const std::string& text) {
    const auto limit = parse_duration(text);
    if (!limit || limit->count() == 0) {
        throw UsageError("--time-limit " + text,
                         "must be a time with its unit, e.g. 90s, 30m, 2h or 1:30:00");
    }
    return before_end_of(*limit);
}

}  // namespace

StopTime before_slurm_ends() {
    const char* const end = std::getenv("SLURM_JOB_END_TIME");
    const auto seconds = end == nullptr ? std::nullopt : parse_integer(end);
    constexpr std::int64_t most = 9'000'000'000;  // what the clock can tell
    if (!seconds || *seconds > most) return std::nullopt;
    const auto left = Clock::time_point(std::chrono::seconds(*seconds)) - Clock::now();
    if (left <= left.zero()) return std::nullopt;
    return before_end_of(std::chrono::duration_cast<std::chrono::milliseconds>(left));
}

po::typed_value<std::string>* time_limit_value(StopTime& into) {
    return po::value<std::string>()->value_name("TIME")->notifier([&into](const std::string& text) {
        const Clock::time_point limit = before_limit(text);
        into = into ? std::min(*into, limit) : limit;
    });
}

}  // namespace candor::app
