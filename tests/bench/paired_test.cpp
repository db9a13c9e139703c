#include "candor/bench/paired.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace candor;

BOOST_AUTO_TEST_SUITE(bench_paired)

BOOST_AUTO_TEST_CASE(median_of_odd_and_even_counts) {
    BOOST_TEST(bench::median({3}) == 3);
    BOOST_TEST(bench::median({5, 1, 2}) == 2);
    BOOST_TEST(bench::median({8, 1, 2, 4}) == 3);
}

BOOST_AUTO_TEST_CASE(ratio_is_of_the_medians_and_its_range_of_rounds) {
    const bench::Measurement measured{"name", "work", "peer", {1, 4, 2}, {2, 2, 8}};
    BOOST_TEST(measured.ratio() == 1);
    BOOST_TEST(measured.lowest() == 0.25);
    BOOST_TEST(measured.highest() == 2);
}

BOOST_AUTO_TEST_CASE(rounds_change_who_is_first) {
    bench::Measurement measured;
    std::string order;
    bench::measure(
        measured, 3, [&] { order += 'w'; }, [&] { order += 'p'; });
    BOOST_TEST(order == "wppwwp");
    BOOST_TEST(measured.seconds.size() == 3U);
    BOOST_TEST(measured.peer_seconds.size() == 3U);
}

BOOST_AUTO_TEST_CASE(processor_time_counts_work_and_not_waiting) {
    volatile double sum = 0;
    const auto work = [&] {
        for (int i = 0; i < 20'000'000; ++i) sum = sum + i;
    };
    BOOST_TEST(bench::processor_seconds(work) > 0.001);
    BOOST_TEST(bench::wall_seconds(work) > 0.001);
    BOOST_TEST(bench::processor_seconds([] {}) < 0.001);
}

BOOST_AUTO_TEST_SUITE_END()
