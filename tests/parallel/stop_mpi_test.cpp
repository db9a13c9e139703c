#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "candor/parallel/stop.hpp"

using namespace candor;
using parallel::Stopped;
using parallel::StopRequest;

namespace {

parallel::Communicator world() {
    return parallel::Communicator::world();
}

/// Works until asked to stop, for ten seconds at most. @returns whether it was asked.
bool work(StopRequest& stop) {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < std::chrono::seconds(10)) {
        if (stop.requested()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stop)

BOOST_AUTO_TEST_CASE(unasked_nobody_stops) {
    StopRequest stop(world());
    BOOST_TEST(!stop.requested());
    BOOST_CHECK_NO_THROW(stop.rendezvous());
    BOOST_CHECK_NO_THROW(stop.rendezvous());
    stop.close();
    BOOST_TEST(!stop.requested());
}

// A signal to one rank stops them all, also those that are at work, and each kind is named.
BOOST_AUTO_TEST_CASE(a_signal_to_one_rank_stops_all) {
    int turn = 0;
    for (const auto& [number, name] :
         {std::pair(SIGUSR1, "SIGUSR1"), {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}}) {
        StopRequest stop(world());
        if (world().rank() == turn++ % world().size()) std::raise(number);
        BOOST_TEST(work(stop));
        const std::string said = std::string("stopped on ") + name;
        BOOST_CHECK_EXCEPTION(stop.rendezvous(), Stopped, [&said](const Stopped& stopped) {
            return stopped.what() == said && stopped.code() == ExitCode::interrupted &&
                   !stopped.time_was_up();
        });
    }
}

// All at once, and one that came to the meeting before it was asked.
BOOST_AUTO_TEST_CASE(signals_to_several_ranks_are_one_stop) {
    for (const bool all : {true, false}) {
        StopRequest stop(world());
        const bool last = world().rank() == world().size() - 1;
        if (all || last) std::raise(SIGUSR1);
        if (last) BOOST_TEST(work(stop));
        BOOST_CHECK_THROW(stop.rendezvous(), Stopped);
    }
    StopRequest again(world());  // the messages of earlier stops are gone
    BOOST_CHECK_NO_THROW(again.rendezvous());
    again.close();
}

// As while MPI starts.
BOOST_AUTO_TEST_CASE(signals_noted_before_the_watch_count_and_no_longer_after_it) {
    parallel::note_signals();
    if (world().rank() == 0) std::raise(SIGTERM);
    {
        StopRequest stop(world());
        BOOST_TEST(work(stop));
        BOOST_CHECK_THROW(stop.rendezvous(), Stopped);
    }
    StopRequest again(world());
    BOOST_CHECK_NO_THROW(again.rendezvous());
    again.close();
    for (const int number : {SIGUSR1, SIGTERM, SIGINT}) std::signal(number, SIG_DFL);
}

BOOST_AUTO_TEST_CASE(time_runs_out) {
    StopRequest stop(world(), StopRequest::Clock::now() + std::chrono::milliseconds(30));
    BOOST_TEST(work(stop));
    BOOST_CHECK_EXCEPTION(stop.rendezvous(), Stopped, [](const Stopped& stopped) {
        return std::string(stopped.what()) == "stopped before the time limit" && stopped.time_was_up();
    });
}

BOOST_AUTO_TEST_CASE(a_watch_that_is_none_asks_nothing) {
    StopRequest never;
    BOOST_TEST(!never.requested());
    BOOST_CHECK_NO_THROW(never.rendezvous());
    never.close();
}

BOOST_AUTO_TEST_SUITE_END()
