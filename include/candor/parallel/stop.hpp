#pragma once

/// Stopping before the end, all ranks together: on a signal, or before a time limit.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "candor/base/error.hpp"
#include "candor/parallel/communicator.hpp"

namespace candor::parallel {

/// Thrown on every rank alike once they agree to stop; everything finished so far is kept by then.
class Stopped : public Error {
  public:
    Stopped(const std::string& why, bool time_was_up)
        : Error(ExitCode::interrupted, why), time_was_up_(time_was_up) {}
    /// Whether by itself, with all the time it was given.
    bool time_was_up() const noexcept { return time_was_up_; }

  private:
    bool time_was_up_;
};

/// Notes SIGUSR1, SIGTERM and SIGINT from here on for the StopRequest that is to come, which needs MPI: they
/// would else end the program while MPI starts. A second SIGINT still does.
void note_signals();

/// Watches for SIGUSR1, SIGTERM and SIGINT, which may reach one rank or all, and for the end of the time
/// allowed; a rank that sees one tells the others. A second SIGINT ends the program at once.
class StopRequest {
  public:
    using Clock = std::chrono::system_clock;

    /// Collective. @param at when to stop by itself, if ever. Signals noted before count.
    explicit StopRequest(const Communicator& world, std::optional<Clock::time_point> at = std::nullopt);
    /// A request that is never made: signals do what they do.
    StopRequest();
    ~StopRequest();
    StopRequest(const StopRequest&) = delete;
    StopRequest& operator=(const StopRequest&) = delete;

    /// Whether this rank should put down what it is doing and come to the next `rendezvous`. Asked often:
    /// once a piece of work that takes seconds at most.
    bool requested();
    /// Waits for all ranks, without keeping the processor busy. Collective. @throws Stopped on all of them
    /// where any was asked to stop.
    void rendezvous();
    /// Ends the watch: from here on signals are noted and no longer acted upon. Collective.
    void close();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace candor::parallel
