#include "candor/store/element.hpp"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "candor/base/error.hpp"

using namespace candor::store;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// IEEE 754-2008, 3.4: sign, 5 bits of exponent with bias 15, 10 bits of fraction.
double half_by_definition(unsigned bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31u);
    const int fraction = static_cast<int>(bits & 1023u);
    double magnitude = 0;
    if (exponent == 0) {
        magnitude = std::ldexp(fraction, -24);
    } else if (exponent < 31) {
        magnitude = std::ldexp(1024 + fraction, exponent - 25);
    } else {
        magnitude = fraction == 0 ? infinity : std::nan("");
    }
    return std::copysign(magnitude, bits & 0x8000u ? -1.0 : 1.0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(store_element)

BOOST_AUTO_TEST_CASE(every_half_pattern_converts_exactly_and_back) {
    for (unsigned bits = 0; bits < 65536; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const double wanted = half_by_definition(bits);
        const float got = half_to_float(half);
        if (std::isnan(wanted)) {
            BOOST_TEST(std::isnan(got), bits);
        } else {
            BOOST_TEST(
                std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(static_cast<float>(wanted)),
                bits);
            BOOST_TEST(float_to_half(wanted) == half, bits);
        }
    }
}

BOOST_AUTO_TEST_CASE(halves_round_to_nearest_with_ties_to_even) {
    // Between any two neighbours: just below the middle goes down, just above goes up, the middle to the even
    // one.
    for (unsigned bits = 0; bits < 0x7bff; ++bits) {
        const double below = half_by_definition(bits), above = half_by_definition(bits + 1);
        const double middle = (below + above) / 2;  // exact: 12 bits
        BOOST_TEST(float_to_half(std::nextafter(middle, 0.0)) == bits);
        BOOST_TEST(float_to_half(std::nextafter(middle, 1e9)) == bits + 1);
        BOOST_TEST(float_to_half(middle) == bits + (bits & 1u));
        BOOST_TEST(float_to_half(-middle) == (0x8000u | (bits + (bits & 1u))));
    }
    BOOST_TEST(float_to_half(65519.999) == 0x7bff);
    BOOST_TEST(float_to_half(65520.0) == 0x7c00);
    BOOST_TEST(float_to_half(-1e300) == 0xfc00);
    BOOST_TEST(float_to_half(5e-324) == 0);
    // Rounding by way of float would lose the last bit and then tie to even, down to 1.
    BOOST_TEST(float_to_half(1 + 0x1p-11 + 0x1p-40) == 0x3c01);
    BOOST_TEST((float_to_half(std::nan("")) & 0x7fff) > 0x7c00);
}

BOOST_AUTO_TEST_CASE(encoding_reports_the_first_overflow_and_keeps_infinity) {
    const std::vector<double> values{1, infinity, 70000, -1e39};
    std::vector<std::byte> stored(32);
    BOOST_TEST(encode(ElementType::float16, values, stored.data()) == 2);
    BOOST_TEST(encode(ElementType::float32, values, stored.data()) == 3);
    BOOST_TEST(encode(ElementType::float64, values, stored.data()) == -1);
    std::vector<double> back(4);
    decode(ElementType::float64, stored.data(), std::span(back));
    BOOST_TEST(back == values);
}

BOOST_AUTO_TEST_CASE(doubles_are_not_narrowed_to_floats) {
    std::vector<std::byte> stored(8);
    std::vector<float> out(1);
    BOOST_CHECK_THROW(decode(ElementType::float64, stored.data(), std::span(out)), candor::InternalError);
}

BOOST_AUTO_TEST_CASE(types_have_names) {
    for (const ElementType type : {ElementType::float16, ElementType::float32, ElementType::float64}) {
        BOOST_TEST((element_type_of(name_of(type)) == type));
    }
    BOOST_TEST(!element_type_of("float").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
