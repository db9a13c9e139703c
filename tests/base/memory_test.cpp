#include "candor/base/memory.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace candor;

BOOST_AUTO_TEST_SUITE(base_memory)

BOOST_AUTO_TEST_CASE(sizes_as_people_write_them) {
    BOOST_TEST(parse_bytes("512M") == 512LL << 20);
    BOOST_TEST(parse_bytes("512m") == 512LL << 20);
    BOOST_TEST(parse_bytes("2G") == 2LL << 30);
    BOOST_TEST(parse_bytes("1.5GiB") == 3LL << 29);
    BOOST_TEST(parse_bytes("64KB") == 64 << 10);
    BOOST_TEST(parse_bytes("1T") == 1LL << 40);
    BOOST_TEST(parse_bytes("4096") == 4096);
    BOOST_TEST(parse_bytes("12B") == 12);
    for (const char* wrong :
         {"", "M", "-1M", "1X", "1Mx", "1 M", "nan", "inf", "1e3M", "99999999999T", "0x10"})
        BOOST_TEST(parse_bytes(wrong) == -1, wrong);
}

BOOST_AUTO_TEST_CASE(what_is_touched_is_resident) {
    const std::int64_t before = resident_bytes();
    BOOST_TEST(before > 0);
    std::vector<char> touched(64 << 20, 1);
    BOOST_TEST(resident_bytes() >= before + (60 << 20));
    BOOST_TEST(peak_resident_bytes() >= before + (60 << 20));
    BOOST_TEST(touched.back() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
