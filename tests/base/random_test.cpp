#include "candor/base/random.hpp"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "candor/base/hash.hpp"
#include "testing/vector_targets.hpp"

using namespace candor;

namespace {

using Block = std::array<std::uint32_t, 4>;
using Key = std::array<std::uint32_t, 2>;

/// Philox 4x32-10 as Salmon et al. 2011 define it, written out: what the stream is held against.
Block philox(Block c, Key k) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0], b = std::uint64_t{0xCD9E8D57} * c[2];
        c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(b),
             static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(a)};
        k[0] += 0x9E3779B9;
        k[1] += 0xBB67AE85;
    }
    return c;
}

std::uint32_t low(std::uint64_t v) {
    return static_cast<std::uint32_t>(v);
}
std::uint32_t high(std::uint64_t v) {
    return static_cast<std::uint32_t>(v >> 32);
}

/// Chi-square of counts against equal chances.
double chi_square(const std::vector<std::int64_t>& counts, double expected) {
    double sum = 0;
    for (const std::int64_t count : counts) {
        const double off = static_cast<double>(count) - expected;
        sum += off * off / expected;
    }
    return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(base_random)

// The known-answer vectors of Random123 (kat_vectors, "philox4x32 10").
BOOST_AUTO_TEST_CASE(the_written_out_philox_gives_the_known_answers) {
    constexpr std::uint32_t ones = 0xffffffff;
    BOOST_TEST((philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    BOOST_TEST((philox({ones, ones, ones, ones}, {ones, ones}) ==
                Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    BOOST_TEST((philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
                Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

BOOST_AUTO_TEST_CASE(a_stream_is_philox_keyed_by_its_purpose_and_counted_by_item_and_position) {
    const std::uint64_t seed = 42;
    for (const char* purpose : {"", "bootstrap/chest", "bootstrap/skin"}) {
        const std::uint64_t key = image_key(purpose, seed);
        for (const std::uint64_t item :
             {std::uint64_t{0}, std::uint64_t{999}, std::uint64_t{0x123456789abcdef0}}) {
            const Stream stream(seed, purpose, item);
            for (const std::uint64_t i : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2},
                                          std::uint64_t{12345}, std::uint64_t{0xfedcba9876543211}}) {
                const Block block =
                    philox({low(i >> 1), high(i >> 1), low(item), high(item)}, {low(key), high(key)});
                const std::size_t half = 2 * (i & 1);
                BOOST_TEST(stream.bits(i) == (block[half] | std::uint64_t{block[half + 1]} << 32));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(streams_of_other_seed_purpose_or_item_differ) {
    const std::set<std::uint64_t> first{Stream(1, "a", 0).bits(0), Stream(2, "a", 0).bits(0),
                                        Stream(1, "b", 0).bits(0), Stream(1, "a", 1).bits(0),
                                        Stream(1, "a", 0).bits(1)};
    BOOST_TEST(first.size() == 5);
}

BOOST_AUTO_TEST_CASE(numbers_below_a_bound_reach_every_value_equally) {
    constexpr std::uint64_t bound = 10, draws = 20000;
    const Stream stream(3, "below", 0);
    std::vector<std::int64_t> counts(bound);
    for (std::uint64_t i = 0; i < draws; ++i) ++counts.at(stream.below(i, bound));
    // Chi-square with 9 degrees of freedom passes 27.9 once in 1000 streams; this one is fixed.
    BOOST_TEST(chi_square(counts, static_cast<double>(draws) / bound) < 27.9);

    // Exactly the high word of bits x bound, also where bound is no power of two and large.
    constexpr std::uint64_t large = 3'000'000'000'000'000'000U;
    for (std::uint64_t i = 0; i < 100; ++i) {
        const std::uint64_t bits = stream.bits(i);
        const std::uint64_t middle =
            (bits & 0xffffffff) * high(large) + ((bits & 0xffffffff) * low(large) >> 32);
        const std::uint64_t top = (bits >> 32) * high(large) + (middle >> 32) +
                                  (((bits >> 32) * low(large) + (middle & 0xffffffff)) >> 32);
        BOOST_TEST(stream.below(i, large) == top);
        BOOST_TEST(stream.below(i, 1) == 0);
    }
}

// Draws about the vectors of every size, and bounds from one number up to more than 16 bits.
BOOST_AUTO_TEST_CASE(numbers_are_counted_as_they_are_drawn) {
    on_every_vector_target([] {
        for (const std::uint64_t item :
             {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{0x123456789abcdef0}}) {
            const Stream stream(5, "counted", item);
            for (const std::uint64_t draws : {0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200, 1000}) {
                for (const std::size_t bound : {2, 5, 8000, 100000}) {
                    std::vector<std::uint64_t> expected(bound);
                    for (std::uint64_t i = 0; i < draws; ++i) ++expected[stream.below(i, bound)];
                    std::vector<std::uint8_t> counts(bound, 77);
                    const bool fit = stream.count_below(draws, counts);
                    BOOST_TEST(fit == (std::ranges::max(expected) < 256));
                    if (fit) BOOST_TEST(std::ranges::equal(counts, expected));
                }
            }
        }
        std::vector<std::uint8_t> one(1);
        BOOST_TEST(Stream(5, "counted", 0).count_below(255, one));
        BOOST_TEST(one[0] == 255);
        BOOST_TEST(!Stream(5, "counted", 0).count_below(256, one));
        BOOST_TEST(Stream(5, "counted", 0).count_below(0, {}));
    });
}

// The low word of a number decides one draw in 2^32 / bound: some 90 of these.
BOOST_AUTO_TEST_CASE(numbers_are_counted_to_their_last_bit) {
    on_every_vector_target([] {
        constexpr std::uint64_t bound = 20'000'000, draws = 20'000;
        const Stream stream(6, "counted", 1);
        std::vector<std::uint8_t> expected(bound), counts(bound);
        for (std::uint64_t i = 0; i < draws; ++i) ++expected[stream.below(i, bound)];
        BOOST_TEST(stream.count_below(draws, counts));
        BOOST_TEST((counts == expected));
    });
}

BOOST_AUTO_TEST_CASE(uniform_numbers_lie_inside_and_are_spread) {
    constexpr std::uint64_t draws = 20000;
    const Stream stream(4, "uniform", 0);
    std::vector<std::int64_t> counts(20);
    double sum = 0, least = 1, most = 0;
    for (std::uint64_t i = 0; i < draws; ++i) {
        const double u = stream.uniform(i);
        BOOST_REQUIRE(u > 0 && u < 1);
        // The top 52 bits and a half: no rounding, so that even the smallest and the largest stay inside.
        BOOST_REQUIRE_EQUAL(std::ldexp(u, 53), static_cast<double>(stream.bits(i) >> 12 << 1 | 1));
        ++counts[static_cast<std::size_t>(u * 20)];
        sum += u;
        least = std::min(least, u);
        most = std::max(most, u);
    }
    BOOST_TEST(chi_square(counts, draws / 20.0) < 43.8);  // 19 degrees of freedom, 1 in 1000
    // The mean has standard error sqrt(1/12/draws) = 0.002; ends within 1e-3 miss with chance exp(-20).
    BOOST_TEST(std::abs(sum / draws - 0.5) < 4 * std::sqrt(1.0 / 12 / draws));
    BOOST_TEST(least < 1e-3);
    BOOST_TEST(most > 1 - 1e-3);
}

BOOST_AUTO_TEST_CASE(two_numbers_are_the_two_of_a_block) {
    const Stream stream(9, "two", 3);
    for (std::uint64_t i : {0ull, 1ull, 1ull << 40}) {
        BOOST_CHECK_EQUAL(stream.two_bits(i)[0], stream.bits(2 * i));
        BOOST_CHECK_EQUAL(stream.two_bits(i)[1], stream.bits(2 * i + 1));
    }
}

BOOST_AUTO_TEST_SUITE_END()
