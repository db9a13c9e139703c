#include "candor/campaign/stages.hpp"

#include <sys/resource.h>

#include <cmath>
#include <utility>

#include "candor/base/memory.hpp"
#include "candor/base/text.hpp"
#include "candor/campaign/lines.hpp"

namespace candor::campaign {

namespace {

// Whole numbers add up exactly, whatever the order of the ranks.
constexpr double per_second = 1e6;

std::int64_t microseconds(double seconds) {
    return std::llround(seconds * per_second);
}

}  // namespace

double processor_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

StageClock::StageClock() = default;

void StageClock::end() {
    const auto now = std::chrono::steady_clock::now();
    const double cpu = processor_seconds();
    stages_.push_back({std::move(name_), std::chrono::duration<double>(now - since_).count(),
                       cpu - cpu_since_, peak_resident_bytes()});
    since_ = now;
    cpu_since_ = cpu;
}

void StageClock::begin(std::string name) {
    end();
    name_ = std::move(name);
}

store::ResultTable StageClock::table_mpi(const parallel::Communicator& world, const Log& log) {
    end();
    std::vector<std::int64_t> slowest, together, most;
    for (const Stage& stage : stages_) {
        slowest.push_back(microseconds(stage.seconds));
        together.push_back(microseconds(stage.cpu_seconds));
        most.push_back(stage.peak_memory);
    }
    world.maximum(slowest);
    world.sum(together);
    world.maximum(most);
    if (world.rank() != 0) return {};
    for (std::size_t s = 0; s < stages_.size(); ++s) {
        stages_[s].seconds = static_cast<double>(slowest[s]) / per_second;
        stages_[s].cpu_seconds = static_cast<double>(together[s]) / per_second;
        stages_[s].peak_memory = most[s];
        log.detail("stage " + stages_[s].name + ": " + format_fixed(stages_[s].seconds, 2) + " s, " +
                   format_fixed(stages_[s].cpu_seconds, 2) + " s of processors, at most " +
                   std::to_string(stages_[s].peak_memory >> 20) + " MiB a rank so far");
    }
    return table_of("stages", stages_, [](Rows& rows, const Stage& stage) {
        rows.put("name", stage.name);
        rows.put("seconds", stage.seconds);
        rows.put("cpu_seconds", stage.cpu_seconds);
        rows.put("peak_memory", stage.peak_memory);
    });
}

}  // namespace candor::campaign
