#include "candor/parallel/stop.hpp"

#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"

namespace candor::parallel {

namespace {

volatile std::sig_atomic_t signalled = 0;

extern "C" void note_signal(int number) {
    signalled = number;
    if (number == SIGINT) std::signal(SIGINT, SIG_DFL);
}

constexpr std::array<int, 3> signals = {SIGUSR1, SIGTERM, SIGINT};
using Actions = std::array<struct sigaction, signals.size()>;

/// @returns what the signals did before.
Actions note_from_here() {
    struct sigaction action {};
    action.sa_handler = note_signal;
    action.sa_flags = SA_RESTART;  // reads and writes of the libraries below go on
    Actions before{};
    for (std::size_t s = 0; s < signals.size(); ++s) sigaction(signals[s], &action, &before[s]);
    return before;
}

/// Reasons as numbers, so that ranks can agree on one: a signal's own number, or this.
constexpr std::int64_t time_is_up = 1000;

std::string text_of(std::int64_t reason) {
    switch (reason) {
        case SIGUSR1:
            return "on SIGUSR1";
        case SIGTERM:
            return "on SIGTERM";
        case SIGINT:
            return "on SIGINT";
        default:
            return "before the time limit";
    }
}

void pause_briefly(std::int64_t microseconds) {
    const timespec time{0, static_cast<long>(microseconds * 1000)};
    nanosleep(&time, nullptr);
}

}  // namespace

struct StopRequest::State {
    State(const Communicator& ranks, std::optional<Clock::time_point> when) : world(ranks), at(when) {
        MPI_Comm all;
        std::memcpy(&all, world.native(), sizeof all);
        check(MPI_Comm_dup(all, &comm), "MPI_Comm_dup");
        listen();
        before = note_from_here();
    }

    void listen() { check(MPI_Irecv(nullptr, 0, MPI_CHAR, MPI_ANY_SOURCE, 0, comm, &incoming), "MPI_Irecv"); }

    /// Notes a reason of this rank's own and tells the others, once.
    void ask(std::int64_t why) {
        reason = std::max(reason, why);
        if (told) return;
        told = true;
        outgoing.resize(static_cast<std::size_t>(world.size()), MPI_REQUEST_NULL);
        for (int rank = 0; rank < world.size(); ++rank) {
            if (rank == world.rank()) continue;
            check(MPI_Isend(nullptr, 0, MPI_CHAR, rank, 0, comm, &outgoing[static_cast<std::size_t>(rank)]),
                  "MPI_Isend");
        }
    }

    void look() {
        if (signalled != 0) {
            ask(signalled);
        } else if (at && Clock::now() >= *at) {
            ask(time_is_up);
        }
        int here = 0;
        check(MPI_Test(&incoming, &here, MPI_STATUS_IGNORE), "MPI_Test");
        if (here == 0) return;
        ++received;
        listen();
    }

    const Communicator world;
    std::optional<Clock::time_point> at;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request incoming = MPI_REQUEST_NULL;
    std::vector<MPI_Request> outgoing;
    Actions before{};
    std::int64_t reason = 0;
    std::int64_t received = 0;
    bool told = false;
};

void note_signals() {
    note_from_here();
}

StopRequest::StopRequest(const Communicator& world, std::optional<Clock::time_point> at)
    : state_(std::make_unique<State>(world, at)) {}

StopRequest::StopRequest() = default;

StopRequest::~StopRequest() {
    if (!state_) return;
    for (std::size_t s = 0; s < signals.size(); ++s) sigaction(signals[s], &state_->before[s], nullptr);
    signalled = 0;
}

bool StopRequest::requested() {
    if (!state_ || state_->comm == MPI_COMM_NULL) return false;
    state_->look();
    return state_->told || state_->received > 0;
}

void StopRequest::rendezvous() {
    if (!state_ || state_->comm == MPI_COMM_NULL) return;
    // Ranks wait here while others work: they go on listening, and leave the processor to those.
    MPI_Request all = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(state_->comm, &all), "MPI_Ibarrier");
    constexpr std::int64_t longest = 2000;
    for (std::int64_t wait = 20;; wait = std::min(longest, 2 * wait)) {
        int done = 0;
        check(MPI_Test(&all, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done != 0) break;
        state_->look();
        pause_briefly(wait);
    }
    std::int64_t reason[] = {state_->reason};
    state_->world.maximum(reason);
    if (reason[0] == 0) return;
    close();
    throw Stopped("stopped " + text_of(reason[0]), reason[0] == time_is_up);
}

void StopRequest::close() {
    if (!state_ || state_->comm == MPI_COMM_NULL) return;
    // Messages that are still under way belong to this watch.
    std::int64_t senders[] = {state_->told ? 1 : 0};
    state_->world.sum(senders);
    const std::int64_t expected = senders[0] - (state_->told ? 1 : 0);
    while (state_->received < expected) {
        check(MPI_Wait(&state_->incoming, MPI_STATUS_IGNORE), "MPI_Wait");
        ++state_->received;
        if (state_->received < expected) state_->listen();
    }
    if (state_->incoming != MPI_REQUEST_NULL) {
        check(MPI_Cancel(&state_->incoming), "MPI_Cancel");
        check(MPI_Wait(&state_->incoming, MPI_STATUS_IGNORE), "MPI_Wait");
    }
    check(
        MPI_Waitall(static_cast<int>(state_->outgoing.size()), state_->outgoing.data(), MPI_STATUSES_IGNORE),
        "MPI_Waitall");
    check(MPI_Comm_free(&state_->comm), "MPI_Comm_free");
}

}  // namespace candor::parallel
