// What of the room `session` needs no session of its own: the test program has opened MPI already.
#include <sched.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "candor/parallel/communicator.hpp"
#include "candor/parallel/session.hpp"

using namespace candor;

namespace {

parallel::Communicator world() {
    return parallel::Communicator::world();
}

int processors() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    sched_getaffinity(0, sizeof mask, &mask);
    return CPU_COUNT(&mask);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(parallel_session)

BOOST_AUTO_TEST_CASE(what_rank_0_made_reaches_all) {
    int calls = 0;
    const std::string bytes = parallel::on_root(world(), [&] {
        ++calls;
        return std::string("made\0once", 9);
    });
    BOOST_TEST(bytes == std::string("made\0once", 9));
    BOOST_TEST(calls == (world().rank() == 0 ? 1 : 0));
    BOOST_TEST(parallel::on_root(world(), [] { return std::string(); }) == "");
}

BOOST_AUTO_TEST_CASE(a_failure_on_rank_0_is_a_failure_of_all_and_told_by_it_alone) {
    const auto fail = [] {
        return parallel::on_root(world(), []() -> std::string { throw DataError({"t.csv", 3}, "spoiled"); });
    };
    if (world().rank() == 0) {
        BOOST_CHECK_EXCEPTION(fail(), DataError, [](const DataError& error) {
            return std::string(error.what()) == "t.csv, row 3: spoiled";
        });
    } else {
        BOOST_CHECK_EXCEPTION(fail(), parallel::Echo, [](const parallel::Echo& echo) {
            return echo.code() == ExitCode::data && std::string(echo.what()).empty();
        });
    }
    // Every rank is in step again.
    BOOST_TEST(parallel::on_root(world(), [] { return std::string("next"); }) == "next");
}

BOOST_AUTO_TEST_CASE(every_exit_code_is_echoed) {
    for (const ExitCode code :
         {ExitCode::usage, ExitCode::data, ExitCode::machine, ExitCode::internal, ExitCode::interrupted}) {
        try {
            parallel::on_root(world(), [&]() -> std::string { throw Error(code, "x"); });
            BOOST_ERROR("nothing was thrown");
        } catch (const Error& error) {
            BOOST_TEST((error.code() == code));
            BOOST_TEST((dynamic_cast<const parallel::Echo*>(&error) == nullptr) == (world().rank() == 0));
        }
    }
}

BOOST_AUTO_TEST_CASE(the_machine_is_described_alike_everywhere) {
    const parallel::Machine machine = parallel::describe_machine(world());
    BOOST_TEST(machine.ranks == world().size());
    BOOST_TEST(machine.ranks_here >= 1);
    BOOST_TEST(machine.ranks_here <= machine.ranks);
    BOOST_TEST(!machine.hosts.empty());
    BOOST_TEST(machine.mpi == parallel::mpi_version());
    BOOST_TEST(!machine.mpi.empty());
    BOOST_TEST(machine.mpi.find('\n') == std::string::npos);
    for (const std::string& other : world().all_gather(machine.hosts)) BOOST_TEST(other == machine.hosts);
    // Each host is named once: where all ranks share one, there is no comma.
    const auto hosts = std::ranges::count(machine.hosts, ',') + 1;
    BOOST_TEST((hosts == 1) == (machine.ranks_here == machine.ranks));
}

BOOST_AUTO_TEST_CASE(the_launchers_rank_is_ours) {
    BOOST_TEST(parallel::launched_rank() == world().rank());
}

BOOST_AUTO_TEST_CASE(the_ranks_of_a_node_share_its_processors) {
    const int threads = parallel::available_threads(world());
    BOOST_TEST(threads >= 1);
    BOOST_TEST(threads <= processors());
    // All ranks of this test are on one node and not bound: together they take no more than there is.
    const int ranks = world().size();
    BOOST_TEST(threads == std::max(1, processors() / ranks));
    BOOST_TEST(parallel::choose_threads(world(), 0) == threads);
}

BOOST_AUTO_TEST_CASE(threads_may_be_as_many_as_the_mask_and_no_more) {
    const int most = processors();
    BOOST_TEST(parallel::choose_threads(world(), 1) == 1);
    BOOST_TEST(parallel::choose_threads(world(), most) == most);
    BOOST_CHECK_EXCEPTION(parallel::choose_threads(world(), most + 1), UsageError,
                          [&](const UsageError& error) {
                              BOOST_TEST(error.subject() == "--threads " + std::to_string(most + 1));
                              return error.rule().starts_with("is more than the " + std::to_string(most) +
                                                              " processors this rank is bound to");
                          });
}

BOOST_AUTO_TEST_SUITE_END()
