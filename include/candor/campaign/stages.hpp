#pragma once

/// Where the time of a run goes: what each of its stages took on every rank.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/table.hpp"

namespace candor::campaign {

/// Processor seconds of this process so far, all its threads, user and system together.
double processor_seconds();

/// Times one stage after the other on this rank. All ranks begin the same stages in the same order.
class StageClock {
  public:
    /// Begins the stage "start": the processor seconds of the process so far are its own too.
    StageClock();

    /// Ends the stage before.
    void begin(std::string name);

    /// Ends the last stage. @returns rank 0's table `stages`, a row a stage: name, seconds (of the slowest
    /// rank, waiting for others included), cpu_seconds (all ranks together), peak_memory (bytes, the most
    /// that any rank had held by its end); empty on other ranks. --verbose prints it too. Collective.
    store::ResultTable table_mpi(const parallel::Communicator& world, const Log& log);

  private:
    struct Stage {
        std::string name;
        double seconds = 0, cpu_seconds = 0;
        std::int64_t peak_memory = 0;
    };
    void end();

    std::vector<Stage> stages_;
    std::string name_ = "start";
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
    double cpu_since_ = 0;
};

}  // namespace candor::campaign
