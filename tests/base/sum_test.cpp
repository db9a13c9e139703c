#include "candor/base/sum.hpp"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "candor/base/random.hpp"

using namespace candor;

namespace {

/// The fold of METHODS 3 written out, one operation at a time: `volatile` keeps the compiler from vectorising
/// or fusing any of it.
template <class A, class B>
double written_out(const std::vector<A>& a, const std::vector<B>& b) {
    volatile double lane[16] = {};
    for (std::size_t i = 0; i < a.size(); ++i) {
        const volatile double product = static_cast<double>(a[i]) * static_cast<double>(b[i]);
        lane[i % 16] = lane[i % 16] + product;
    }
    for (int l = 0; l < 8; ++l) lane[l] = lane[l] + lane[l + 8];
    for (int l = 0; l < 4; ++l) lane[l] = lane[l] + lane[l + 4];
    for (int l = 0; l < 2; ++l) lane[l] = lane[l] + lane[l + 2];
    return lane[0] + lane[1];
}

/// Rows over 20 orders of magnitude, so that any other order of the sum shows in its last bits.
template <class T>
std::vector<T> wild(std::size_t length, std::uint64_t item) {
    const Stream stream(5, "sum", item);
    std::vector<T> values(length);
    for (std::size_t i = 0; i < length; ++i) {
        const int exponent = static_cast<int>(stream.below(2 * i + 1, 40)) - 20;
        values[i] = static_cast<T>(std::ldexp(2 * stream.uniform(2 * i) - 1, exponent));
    }
    return values;
}

std::uint64_t bits(double v) {
    return std::bit_cast<std::uint64_t>(v);
}

const std::vector<std::size_t> lengths{0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 100, 768, 1023, 4096};

// The same source compiled for other vector widths, FMA units among them.
#if defined(__x86_64__)
using Span = std::span<const float>;
[[gnu::target("sse2"), gnu::flatten, gnu::noinline]] double dot_sse2(Span a, Span b) {
    return dot(a, b);
}
[[gnu::target("avx2,fma"), gnu::flatten, gnu::noinline]] double dot_avx2(Span a, Span b) {
    return dot(a, b);
}
[[gnu::target("avx512f,fma"), gnu::flatten, gnu::noinline]] double dot_avx512(Span a, Span b) {
    return dot(a, b);
}
#endif

}  // namespace

BOOST_AUTO_TEST_SUITE(base_sum)

BOOST_AUTO_TEST_CASE(dot_is_the_written_out_fold_to_the_bit) {
    for (const std::size_t length : lengths) {
        const auto a = wild<float>(length, 1), b = wild<float>(length, 2);
        const auto c = wild<double>(length, 3), d = wild<double>(length, 4);
        BOOST_TEST(bits(dot(std::span<const float>(a), std::span<const float>(b))) ==
                   bits(written_out(a, b)));
        BOOST_TEST(bits(dot(std::span<const double>(c), std::span<const double>(d))) ==
                   bits(written_out(c, d)));
    }
}

BOOST_AUTO_TEST_CASE(the_order_of_the_data_shows_so_the_test_above_can_fail) {
    const auto c = wild<double>(4096, 3), d = wild<double>(4096, 4);
    double plain = 0;
    for (std::size_t i = 0; i < c.size(); ++i) plain += c[i] * d[i];
    BOOST_TEST(bits(plain) != bits(dot(std::span<const double>(c), std::span<const double>(d))));
}

BOOST_AUTO_TEST_CASE(every_vector_width_gives_the_same_bits) {
#if defined(__x86_64__)
    for (const std::size_t length : lengths) {
        const auto a = wild<float>(length, 5), b = wild<float>(length, 6);
        const std::uint64_t expected = bits(written_out(a, b));
        BOOST_TEST(bits(dot_sse2(a, b)) == expected);
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
            BOOST_TEST(bits(dot_avx2(a, b)) == expected);
        if (__builtin_cpu_supports("avx512f")) BOOST_TEST(bits(dot_avx512(a, b)) == expected);
    }
#endif
}

BOOST_AUTO_TEST_CASE(equal_rows_commute_and_small_integers_are_exact) {
    const auto a = wild<float>(100, 7), b = wild<float>(100, 8);
    BOOST_TEST(bits(dot(std::span<const float>(a), std::span<const float>(b))) ==
               bits(dot(std::span(b), std::span(a))));
    std::vector<float> counting(1000);
    for (std::size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<float>(i);
    // Sum of squares below 1000; whole numbers below 2^53 add without rounding.
    BOOST_TEST(dot(std::span<const float>(counting), std::span<const float>(counting)) ==
               999.0 * 1000 * 1999 / 6);
}

BOOST_AUTO_TEST_CASE(a_norm_is_accumulated_in_double) {
    // Faults 3: in half precision 768 squares of 100 overflow. sqrt(768) * 100 = 2771.28129211...
    const std::vector<float> hundreds(768, 100.0F);
    BOOST_TEST(norm(std::span<const float>(hundreds)) == std::sqrt(7680000.0));
    const std::vector<float> huge{3e38F, 3e38F};
    BOOST_TEST(std::isfinite(norm(std::span<const float>(huge))));
    const std::vector<float> tiny{1e-45F};
    BOOST_TEST(norm(std::span<const float>(tiny)) == static_cast<double>(1e-45F));
}

BOOST_AUTO_TEST_CASE(a_norm_of_doubles_is_as_exact_at_any_scale) {
    // Powers of two are exact: the norm scales as its numbers do, to the bit.
    std::vector<double> values;
    for (int i = 1; i <= 700; ++i) values.push_back(std::sin(i) / i);
    const double unit = norm(std::span<const double>(values));
    for (const int exponent : {-1000, -700, -540, -460, -440, 300, 500, 520, 1000}) {
        std::vector<double> scaled;
        for (const double value : values) scaled.push_back(std::scalbn(value, exponent));
        BOOST_TEST(norm(std::span<const double>(scaled)) == std::scalbn(unit, exponent), exponent);
    }
    BOOST_TEST(norm(std::span<const double>()) == 0);
    BOOST_TEST(norm(std::span<const double>(std::vector<double>{0, 0})) == 0);
    BOOST_TEST(std::isnan(norm(std::span<const double>(std::vector<double>{1e300, NAN}))));
    BOOST_TEST(std::isinf(norm(std::span<const double>(std::vector<double>{1, INFINITY}))));
}

BOOST_AUTO_TEST_SUITE_END()
