#include "candor/store/halves.hpp"

#include <hwy/highway.h>

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "candor/store/element.hpp"

using namespace candor::store;

namespace {

/// Every pattern, neighbours differing in all their bits, `shift` of them left out so that vectors begin
/// elsewhere.
std::vector<std::uint16_t> all_patterns(std::size_t shift) {
    std::vector<std::uint16_t> bits;
    for (std::uint32_t i = 0; i < 65536; ++i) bits.push_back(static_cast<std::uint16_t>(i * 40503u));
    bits.erase(bits.begin(), bits.begin() + static_cast<std::ptrdiff_t>(shift));
    return bits;
}

std::int64_t differences(std::size_t shift) {
    const auto halves = all_patterns(shift);
    std::vector<float> got(halves.size());
    halves_to_floats(std::as_bytes(std::span(halves)).data(), got);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < halves.size(); ++i) {
        // By their bits: NaNs keep their payload and stay quiet or signalling.
        wrong +=
            std::bit_cast<std::uint32_t>(got[i]) != std::bit_cast<std::uint32_t>(half_to_float(halves[i]));
    }
    return wrong;
}

/// Every finite half, the middle between it and the next, and the floats right beside these, of both signs.
std::int64_t roundings_that_differ(std::size_t shift) {
    std::vector<float> values;
    for (std::uint16_t bits = 0; bits < 0x7c00; ++bits) {
        const float at = half_to_float(bits);
        const float next = bits == 0x7bff ? 65536.0f : half_to_float(static_cast<std::uint16_t>(bits + 1));
        for (const float value : {at, (at + next) / 2}) {
            for (const float beside : {value, std::nextafter(value, 0.0f), std::nextafter(value, 1e6f)}) {
                if (beside < 65520.0f) values.insert(values.end(), {beside, -beside});
            }
        }
    }
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(shift));
    std::vector<std::uint16_t> got(values.size());
    floats_to_halves(values, got.data());
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) wrong += got[i] != float_to_half(values[i]);
    return wrong;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(store_halves)

BOOST_AUTO_TEST_CASE(every_pattern_converts_as_one_by_one_on_every_instruction_set_here) {
    const std::int64_t here = hwy::SupportedTargets();
    for (int bit = 0; bit < 62; ++bit) {
        const std::int64_t target = std::int64_t{1} << bit;
        if ((here & target) == 0) continue;
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        for (const std::size_t shift : {0u, 1u, 7u, 65530u})
            BOOST_TEST(differences(shift) == 0, hwy::TargetName(target));
        for (const std::size_t shift : {0u, 5u})
            BOOST_TEST(roundings_that_differ(shift) == 0, hwy::TargetName(target));
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    BOOST_TEST(differences(3) == 0);
}

BOOST_AUTO_TEST_CASE(halves_need_no_alignment_and_become_doubles_too) {
    const auto halves = all_patterns(1);
    std::vector<std::byte> stored(1);
    const auto bytes = std::as_bytes(std::span(halves));
    stored.insert(stored.end(), bytes.begin(), bytes.end());
    std::vector<float> singles(halves.size());
    halves_to_floats(stored.data() + 1, singles);
    std::vector<double> doubles(halves.size());
    decode(ElementType::float16, stored.data() + 1, std::span(doubles));
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < halves.size(); ++i) {
        const float value = half_to_float(halves[i]);
        wrong += std::bit_cast<std::uint32_t>(singles[i]) != std::bit_cast<std::uint32_t>(value);
        wrong += std::bit_cast<std::uint64_t>(doubles[i]) !=
                 std::bit_cast<std::uint64_t>(static_cast<double>(value));
    }
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_SUITE_END()
