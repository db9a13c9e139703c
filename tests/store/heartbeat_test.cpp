#include "candor/store/heartbeat.hpp"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "candor/base/error.hpp"
#include "temporary.hpp"

using candor::store::Heartbeat;
using namespace std::chrono_literals;

namespace {

constexpr Heartbeat::Beat quick{20ms, 400ms};

}  // namespace

BOOST_AUTO_TEST_SUITE(heartbeat)

BOOST_AUTO_TEST_CASE(one_that_beats_keeps_others_out_however_long) {
    const candor::testing::TemporaryDirectory folder;
    const std::string path = folder.file("heartbeat");
    {
        const Heartbeat alive(path, "out.h5", quick);
        for (int i = 0; i < 3; ++i) {
            std::this_thread::sleep_for(quick.stale_after / 2);
            BOOST_CHECK_THROW(Heartbeat(path, "out.h5", quick), candor::UsageError);
            BOOST_CHECK_THROW(Heartbeat::require_none(path, "out.h5", quick.stale_after), candor::UsageError);
        }
    }
    BOOST_TEST(std::filesystem::is_empty(folder.file("")));
    const Heartbeat next(path, "out.h5", quick);
}

// What a killed process left: another's until it is stale.
BOOST_AUTO_TEST_CASE(one_that_is_left_behind_is_replaced_when_stale) {
    const candor::testing::TemporaryDirectory folder;
    const std::string path = folder.file("heartbeat");
    std::ofstream(path) << "";
    BOOST_CHECK_EXCEPTION(Heartbeat(path, "out.h5", quick), candor::UsageError, [](const auto& error) {
        const std::string text = error.what();
        return text.find("out.h5") != text.npos &&
               text.find("another run, which was alive 0 s ago") != text.npos;
    });
    std::this_thread::sleep_for(quick.stale_after + 50ms);
    { const Heartbeat next(path, "out.h5", quick); }
    BOOST_TEST(std::filesystem::is_empty(folder.file("")));
    std::ofstream(path) << "";
    std::this_thread::sleep_for(quick.stale_after + 50ms);
    Heartbeat::require_none(path, "out.h5", quick.stale_after);
    BOOST_TEST(std::filesystem::is_empty(folder.file("")));
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_not_there) {
    BOOST_CHECK_THROW(Heartbeat("/nowhere/at/all/heartbeat", "out.h5", quick), candor::MachineError);
}

BOOST_AUTO_TEST_SUITE_END()
