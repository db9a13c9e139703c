#include "candor/base/bytes.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace candor;

namespace {

struct Pair {
    std::int32_t a;
    double b;
};

std::string count_and(std::int64_t count, const std::string& rest) {
    ByteWriter writer;
    writer.put(count);
    return writer.take() + rest;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(base_bytes)

BOOST_AUTO_TEST_CASE(what_is_written_is_read_in_the_same_order) {
    ByteWriter writer;
    writer.put('c');
    writer.put(Pair{3, 0.25});
    writer.put(std::string("text with \0 inside", 18));
    writer.put(std::string());
    writer.put(std::span<const double>(std::vector<double>{1.5, -2.5}));
    writer.put(std::span<const std::int8_t>());
    writer.put(std::int64_t{-9});
    const std::string bytes = writer.take();

    ByteReader reader(bytes);
    BOOST_TEST(!reader.done());
    BOOST_TEST(reader.get<char>() == 'c');
    const Pair pair = reader.get<Pair>();  // unaligned in the bytes
    BOOST_TEST(pair.a == 3);
    BOOST_TEST(pair.b == 0.25);
    BOOST_TEST(reader.get_text() == std::string("text with \0 inside", 18));
    BOOST_TEST(reader.get_text() == "");
    BOOST_TEST(reader.get_many<double>() == (std::vector<double>{1.5, -2.5}),
               boost::test_tools::per_element());
    BOOST_TEST(reader.get_many<std::int8_t>().empty());
    BOOST_TEST(reader.get<std::int64_t>() == -9);
    BOOST_TEST(reader.done());
    BOOST_TEST(ByteReader("").done());
}

BOOST_AUTO_TEST_CASE(reading_past_the_end_is_a_fault_of_ours_and_takes_no_memory) {
    BOOST_CHECK_THROW(ByteReader("123").get<std::int64_t>(), InternalError);
    const std::string many = count_and(3, std::string(16, 'x'));  // three doubles announced, two there
    BOOST_CHECK_EXCEPTION(ByteReader(many).get_many<double>(), InternalError, [](const InternalError& error) {
        return std::string(error.what()).find("3 values in 16 bytes") != std::string::npos;
    });
    for (const std::int64_t count : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
                                     std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 61}) {
        const std::string bytes = count_and(count, "12345678");
        BOOST_CHECK_THROW(ByteReader(bytes).get_many<double>(), InternalError);
        BOOST_CHECK_THROW(ByteReader(bytes).get_text(), InternalError);
    }
}

BOOST_AUTO_TEST_SUITE_END()
