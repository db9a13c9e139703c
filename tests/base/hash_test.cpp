#include "candor/base/hash.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "candor/base/error.hpp"
#include "store/temporary.hpp"

using namespace candor;

namespace {

/// Bytes that every run of every length of the hash sees.
std::string pattern(std::size_t length) {
    std::string bytes(length, '\0');
    for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<char>((i * 37 + (i >> 8) * 5 + 11) % 256);
    return bytes;
}

Digest digest_of(const std::string& text) {
    return digest(std::as_bytes(std::span(text)));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(base_hash)

// Published vectors of XXH64 (the xxHash specification); those with a seed by python-xxhash 3.2.0.
BOOST_AUTO_TEST_CASE(the_key_of_an_image_is_xxh64_of_its_id) {
    BOOST_TEST(image_key("", 0) == 0xef46db3751d8e999U);
    BOOST_TEST(image_key("a", 0) == 0xd24ec4f1a98c6e5bU);
    BOOST_TEST(image_key("abc", 0) == 0x44bc2cf5ad770999U);
    BOOST_TEST(image_key("123456789012", 0) == 0xb5cee4c943d43c7eU);
    BOOST_TEST(image_key("", 42) == 0x98b1582b0977e704U);
    BOOST_TEST(image_key("a", 42) == 0x88e4fe59adf7b0ccU);
    BOOST_TEST(image_key("abc", 42) == 0x13c1d910702770e6U);
    BOOST_TEST(image_key("123456789012", 42) == 0x15813912797f86a9U);
    BOOST_TEST(image_key("\u00e9/1", 7) == 0x5d6e3133508fb86bU);  // the bytes of UTF-8
}

BOOST_AUTO_TEST_CASE(ids_differ_by_their_bytes_and_keys_by_the_seed) {
    BOOST_TEST(image_key("007", 42) != image_key("7", 42));
    BOOST_TEST(image_key(std::string("a\0", 2), 42) != image_key("a", 42));
    BOOST_TEST(image_key("a", 42) != image_key("a", 43));
}

// By xxh128sum 0.8.1.
BOOST_AUTO_TEST_CASE(a_digest_is_xxh3_128_as_xxh128sum_prints_it) {
    BOOST_TEST(digest_of("").hex() == "99aa06d3014798d86001c324468d497f");
    BOOST_TEST(digest_of("a").hex() == "a96faf705af16834e6c632b61e964e1f");
    BOOST_TEST(digest_of("abc").hex() == "06b05ab6733a618578af5f94892f3950");
    BOOST_TEST((Digest{1, 2}.hex()) == "00000000000000010000000000000002");
}

BOOST_AUTO_TEST_CASE(a_file_is_digested_in_blocks_as_in_one_piece) {
    const testing::TemporaryDirectory directory;
    const std::string bytes = pattern((std::size_t{1} << 23) + 17);  // two blocks of the reader and a bit
    const std::string path = directory.file("big", bytes);
    BOOST_TEST(digest_file(path).hex() == "9063744c0fa03a6868e152e4b2c97f8b");
    BOOST_TEST(digest_of(bytes).hex() == "9063744c0fa03a6868e152e4b2c97f8b");
    BOOST_TEST((digest_file(directory.file("empty", "")) == digest_of("")));
}

BOOST_AUTO_TEST_CASE(a_digest_in_steps_is_that_of_the_whole_file) {
    const testing::TemporaryDirectory directory;
    const std::string path = directory.file("big", pattern((std::size_t{1} << 23) + 17));
    for (const std::int64_t step : {std::int64_t{1} << 19, std::int64_t{3'000'000}, std::int64_t{1} << 40}) {
        FileDigest digest(path);
        for (std::int64_t offset = 0; offset < std::int64_t{1} << 24; offset += step)
            digest.advance_to(offset);
        BOOST_TEST(digest.finish().hex() == "9063744c0fa03a6868e152e4b2c97f8b");
    }
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_read_is_named) {
    const testing::TemporaryDirectory directory;
    const std::string missing = directory.file("none");
    BOOST_CHECK_EXCEPTION(digest_file(missing), MachineError, [&](const MachineError& error) {
        return error.subject() == missing &&
               error.what() == missing + ": cannot be opened: No such file or directory";
    });
    const std::string folder = std::filesystem::path(missing).parent_path().string();
    BOOST_CHECK_EXCEPTION(digest_file(folder), MachineError, [&](const MachineError& error) {
        return error.subject() == folder && error.what() == folder + ": cannot be read: Is a directory";
    });
}

BOOST_AUTO_TEST_SUITE_END()
