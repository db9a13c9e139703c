#include "candor/base/threads.hpp"

#include <omp.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "candor/base/error.hpp"

using namespace candor;

BOOST_AUTO_TEST_SUITE(base_threads)

BOOST_AUTO_TEST_CASE(every_index_is_called_once) {
    for (const int threads : {1, 2, 5}) {
        for (const std::int64_t count : {0, 1, 3, 1000}) {
            std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
            for_each_on_threads(threads, count,
                                [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
            for (const auto& n : calls) BOOST_REQUIRE(n == 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(as_many_threads_work_as_were_asked_for) {
    std::atomic<int> most = 0;
    for_each_on_threads(2, 2, [&](std::int64_t) { most = omp_get_num_threads(); });
    BOOST_TEST(most == 2);
}

BOOST_AUTO_TEST_CASE(an_exception_of_a_body_comes_through_after_all_have_stopped) {
    for (const int threads : {1, 2, 5}) {
        std::atomic<int> calls = 0, running = 0;
        BOOST_CHECK_EXCEPTION(
            for_each_on_threads(threads, 20,
                                [&](std::int64_t i) {
                                    ++running;
                                    ++calls;
                                    if (i == 7) {
                                        --running;
                                        throw DataError({"f", i}, "spoiled");
                                    }
                                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                    --running;
                                }),
            DataError, [](const DataError& error) { return error.place().row == 7; });
        BOOST_TEST(running == 0);
        BOOST_TEST(calls == 20);
    }
}

BOOST_AUTO_TEST_CASE(of_many_exceptions_one_comes_through) {
    BOOST_CHECK_THROW(
        for_each_on_threads(2, 50, [](std::int64_t i) { throw std::runtime_error(std::to_string(i)); }),
        std::runtime_error);
    BOOST_CHECK_THROW(for_each_on_threads(2, 3, [](std::int64_t) { throw 5; }), int);
}

BOOST_AUTO_TEST_SUITE_END()
