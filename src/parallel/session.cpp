#include "candor/parallel/session.hpp"

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <set>
#include <thread>

#include "candor/base/text.hpp"
#include "check.hpp"

namespace candor::parallel {

/// Who may speak when ranks fail together: one flag a node in shared memory, and the node's place in the
/// queue.
struct Session::Turn {
    MPI_Win window = MPI_WIN_NULL;
    std::atomic<int>* spoken = nullptr;
    int node = 0;
    int ranks_here = 1;
};

namespace {

/// The first of the environment variables that is set to a number, or `otherwise`.
int from_environment(std::initializer_list<const char*> variables, int otherwise) {
    for (const char* variable : variables) {
        const char* value = std::getenv(variable);
        if (value == nullptr) continue;
        if (const auto number = parse_integer(value)) return static_cast<int>(*number);
    }
    return otherwise;
}

bool is_set(const char* variable) {
    return std::getenv(variable) != nullptr;
}

int launched_ranks() {
    return from_environment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}, 1);
}

void say(const std::string& line) {
    const std::string text = line + "\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
}

/// Without a session only the rank that the launcher gave settles who speaks. The others leave it the time
/// to: a launcher may end all copies as soon as the first is gone, and would then give the signal's code.
[[noreturn]] void fail_alone(int launched_as, const std::string& line) {
    std::signal(SIGTERM, SIG_IGN);
    if (launched_as == 0) {
        say(line);
    } else {
        std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    std::_Exit(static_cast<int>(ExitCode::machine));
}

/// A step of srun without PMIx: Open MPI would end every copy by itself, with a page of text each and a code
/// that says nothing. A build of it with Slurm's older interfaces names the one to use in OMPI_MCA_pmix.
void refuse_step_without_pmix([[maybe_unused]] int launched_as) {
#ifdef OPEN_MPI
    if (!is_set("SLURM_STEPID")) return;
    for (const char* other : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_FD", "OMPI_MCA_pmix"}) {
        if (is_set(other)) return;
    }
    fail_alone(
        launched_as,
        "candor: error: srun started " + std::to_string(launched_ranks()) +
            " x candor without PMIx, by which ranks find each other; use srun --mpi=pmix (srun --mpi=list "
            "shows whether there is one), else mpirun");
#endif
}

Communicator open_world(int& argc, char**& argv) {
    const int launched_as = launched_rank();  // before MPI has its own say
    refuse_step_without_pmix(launched_as);
    int provided = 0;
    check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    int ranks = 0;
    check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
    if (ranks == 1 && launched_ranks() > 1) {
        fail_alone(launched_as,
                   "candor: error: the launcher started " + std::to_string(launched_ranks()) +
                       " copies that do not see each other; use the mpirun of the MPI that candor "
                       "was built with, or srun --mpi=pmix");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return Communicator::world();
}

cpu_set_t affinity() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    sched_getaffinity(0, sizeof mask, &mask);
    return mask;
}

}  // namespace

Session::Session(int& argc, char**& argv) : world_(open_world(argc, argv)), turn_(new Turn) {
    MPI_Comm node = MPI_COMM_NULL;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
          "MPI_Comm_split_type");
    int here = 0;
    check(MPI_Comm_rank(node, &here), "MPI_Comm_rank");
    check(MPI_Comm_size(node, &turn_->ranks_here), "MPI_Comm_size");

    void* base = nullptr;
    check(MPI_Win_allocate_shared(here == 0 ? sizeof(std::atomic<int>) : 0, 1, MPI_INFO_NULL, node, &base,
                                  &turn_->window),
          "MPI_Win_allocate_shared");
    MPI_Aint size = 0;
    int unit = 0;
    check(MPI_Win_shared_query(turn_->window, 0, &size, &unit, &base), "MPI_Win_shared_query");
    if (here == 0) new (base) std::atomic<int>(0);
    turn_->spoken = static_cast<std::atomic<int>*>(base);

    int leaders_before = 0;
    const int leader = here == 0 ? 1 : 0;
    check(MPI_Exscan(&leader, &leaders_before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), "MPI_Exscan");
    turn_->node = world_.rank() == 0 ? 0 : leaders_before;
    check(MPI_Bcast(&turn_->node, 1, MPI_INT, 0, node), "MPI_Bcast");
    check(MPI_Comm_free(&node), "MPI_Comm_free");
}

Session::~Session() {
    if (std::uncaught_exceptions() > 0) return;
    MPI_Win_free(&turn_->window);
    delete turn_;
    MPI_Finalize();
}

void Session::fail(ExitCode code, const std::string& line) noexcept {
    const bool first_here = turn_->spoken == nullptr || turn_->spoken->exchange(1) == 0;
    if (first_here) {
        const auto turn = std::chrono::milliseconds(200) * std::min(turn_->node, 25);
        std::this_thread::sleep_for(turn);
        say(line);
    } else {
        follow(code);
    }
    // Alone there is nobody to end, and an abort would add its own lines. Nothing is finalized: libraries
    // that hold half-written files would try to complete them.
    if (world_.size() > 1) MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
    std::_Exit(static_cast<int>(code));
}

void Session::follow(ExitCode code) noexcept {
    // The abort of the rank that speaks ends this one too.
    std::this_thread::sleep_for(std::chrono::seconds(10));
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
    std::_Exit(static_cast<int>(code));
}

int launched_rank() {
    return from_environment({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}, 0);
}

std::string mpi_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    check(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
    const std::string whole(trim(std::string_view(text, static_cast<std::size_t>(length))));
    return whole.substr(0, whole.find(", package"));
}

Machine describe_machine(const Communicator& world) {
    Machine machine;
    machine.mpi = mpi_version();

    int length = 0;
    char name[MPI_MAX_PROCESSOR_NAME];
    check(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
    const std::string host(name, static_cast<std::size_t>(length));
    std::vector<std::string> hosts;
    for (const std::string& other : world.all_gather(host)) {
        machine.ranks_here += other == host;
        if (std::find(hosts.begin(), hosts.end(), other) == hosts.end()) hosts.push_back(other);
    }
    machine.hosts = join_text(hosts, ",");
    machine.ranks = world.size();
    return machine;
}

int available_threads(const Communicator& world) {
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    check(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
    const cpu_set_t mask = affinity();
    const std::string host(name, static_cast<std::size_t>(length));
    const std::string mine = host + '\n' + std::string(reinterpret_cast<const char*>(&mask), sizeof mask);

    cpu_set_t together;
    CPU_ZERO(&together);
    int ranks_here = 0;
    for (const std::string& other : world.all_gather(mine)) {
        if (other.substr(0, other.find('\n')) != host) continue;
        cpu_set_t theirs;
        std::copy_n(other.data() + other.find('\n') + 1, sizeof theirs, reinterpret_cast<char*>(&theirs));
        CPU_OR(&together, &together, &theirs);
        ++ranks_here;
    }
    return std::max(1, std::min(CPU_COUNT(&mask), CPU_COUNT(&together) / std::max(1, ranks_here)));
}

int choose_threads(const Communicator& world, int requested) {
    const int available = available_threads(world);
    if (requested == 0) return available;
    const cpu_set_t mask = affinity();
    const int most = CPU_COUNT(&mask);
    if (requested > most) {
        throw UsageError("--threads " + std::to_string(requested),
                         "is more than the " + std::to_string(most) +
                             " processors this rank is bound to; under mpirun use --map-by slot:PE=" +
                             std::to_string(requested) +
                             " --bind-to core, under srun --cpus-per-task=" + std::to_string(requested));
    }
    return requested;
}

}  // namespace candor::parallel
