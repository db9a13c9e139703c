#include "candor/base/duration.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

using candor::parse_duration;

BOOST_AUTO_TEST_SUITE(duration)

BOOST_AUTO_TEST_CASE(what_people_and_slurm_write) {
    const std::vector<std::pair<std::string, std::int64_t>> known = {
        {"90s", 90},
        {"30m", 1800},
        {"2h", 7200},
        {"1.5d", 129600},
        {"0s", 0},
        {"0:00:05", 5},
        {"1:30:00", 5400},
        {"100:00:00", 360000},
        {"1-0:00:01", 86401},
        {"2-03:04:05", 2 * 86400 + 3 * 3600 + 4 * 60 + 5}};
    for (const auto& [text, seconds] : known) {
        BOOST_TEST_REQUIRE(parse_duration(text).has_value(), text);
        BOOST_TEST(parse_duration(text)->count() == seconds, text);
    }
}

BOOST_AUTO_TEST_CASE(anything_else_is_none) {
    for (const std::string text : {"", "90", "s", "-5s", "5x", "nans", "infs", "1:2", "1:60:00", "0:00:60",
                                   "x:00:00", "-1-0:00:00", "1e30d", "1:2:3:4", "5 s ", ":::"})
        BOOST_TEST(!parse_duration(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()
