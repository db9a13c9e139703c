#pragma once

/// The MPI session of the program: opened once in `main`, closed once, or ended for all ranks by a failure.

#include <string>

#include "candor/base/error.hpp"
#include "candor/parallel/communicator.hpp"

namespace candor::parallel {

/// Opens MPI (MPI_THREAD_FUNNELED) and closes it when destroyed, unless an exception is unwinding the stack:
/// the other ranks may then wait in a collective for ever, so only `fail` may end the program.
class Session {
  public:
    /// @throws MachineError where MPI does not start, or where a launcher started several copies of the
    /// program
    ///         that do not see each other.
    Session(int& argc, char**& argv);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const Communicator& world() const { return world_; }

    /// Ends every rank with `code` after `line` went to standard error once. Of several ranks that fail
    /// together the first prints: ranks of a node settle it by a flag in shared memory; nodes by waiting
    /// their turn, so that the first one's abort reaches the others before they speak.
    [[noreturn]] void fail(ExitCode code, const std::string& line) noexcept;

    /// Ends this rank while another one, whose failure was told to this one, speaks and ends all.
    [[noreturn]] void follow(ExitCode code) noexcept;

  private:
    Communicator world_;
    struct Turn;
    Turn* turn_;
};

/// What the results file records of the machine. Collective.
struct Machine {
    std::string mpi;    ///< library version, one line
    std::string hosts;  ///< distinct host names in rank order, joined by commas
    int ranks = 0;
    int ranks_here = 0;  ///< on this rank's node
};
Machine describe_machine(const Communicator& world);

/// The rank that the launcher (mpirun, srun) gave this process, before and without a session; 0 where there
/// is none.
int launched_rank();

/// Version of the MPI library, one line; needs no session.
std::string mpi_version();

/// Threads a rank may use: its affinity mask, at most its share of the processors that the node's ranks may
/// use together, so that ranks that are not bound do not crowd each other. Collective.
int available_threads(const Communicator& world);

/// `requested` (0: as many as available). @throws UsageError where it exceeds the affinity mask. Collective.
int choose_threads(const Communicator& world, int requested);

/// Runs `work` on rank 0 alone and hands its result to all; where it throws, every rank throws the same
/// failure, which only rank 0 is to print (`Echo`). Collective.
class Echo : public Error {
  public:
    explicit Echo(ExitCode code) : Error(code, "") {}
};

template <class Work>
std::string on_root(const Communicator& world, Work work) {
    std::string bytes;
    std::int64_t code = 0;
    if (world.rank() == 0) {
        try {
            bytes = work();
        } catch (const Error& error) {
            code = static_cast<std::int64_t>(error.code());
            world.broadcast(std::string(1, static_cast<char>(code)));
            throw;
        }
    }
    const std::string status = world.broadcast(std::string(1, '\0'));
    if (status[0] != '\0') throw Echo(static_cast<ExitCode>(status[0]));
    return world.broadcast(std::move(bytes));
}

}  // namespace candor::parallel
