#include "candor/stats/weighted_sums.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

#include "candor/stats/resampling.hpp"
#include "says.hpp"

using namespace candor;
using namespace candor::stats;

namespace {

constexpr std::int64_t rows = 300;
constexpr std::int64_t largest = std::int64_t{1} << 62;

Matrix<std::uint16_t> formula_weights(std::int64_t patients, std::int64_t resamples) {
    Matrix<std::uint16_t> weights(patients, resamples);
    for (std::int64_t p = 0; p < patients; ++p)
        for (std::int64_t b = 0; b < resamples; ++b)
            weights.row(p)[b] = static_cast<std::uint16_t>((p * 7919 + b * 104729) % 65536);
    return weights;
}

/// The definition, for values by a formula of the row, starting from sums that are not zero.
template <class Value>
void check_against_definition(std::int64_t resamples, Value&& value_of) {
    const Matrix<std::uint16_t> weights = formula_weights(13, resamples);
    std::vector<std::int32_t> patient;
    std::vector<std::int64_t> value, out, expected;
    for (std::int64_t i = 0; i < rows; ++i) {
        patient.push_back(static_cast<std::int32_t>(i * i % 13));
        value.push_back(value_of(i));
    }
    for (std::int64_t b = 0; b < resamples; ++b) {
        out.push_back(1000 - b);
        expected.push_back(1000 - b);
        for (std::int64_t i = 0; i < rows; ++i) expected[b] += value[i] * weights.row(patient[i])[b];
    }
    weighted_sums(weights.view(), patient, value, out);
    BOOST_CHECK_EQUAL_COLLECTIONS(out.begin(), out.end(), expected.begin(), expected.end());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stats_weighted_sums)

// Values below, around and beyond the 32767 up to which 32-bit partial sums serve; either sign.
BOOST_AUTO_TEST_CASE(sums_are_the_definition) {
    for (const std::int64_t resamples : {1, 3, 63, 64}) {
        check_against_definition(resamples, [](std::int64_t i) { return i % 2; });
        check_against_definition(resamples, [](std::int64_t i) { return i % 5 - 2; });
        check_against_definition(resamples, [](std::int64_t i) { return 10000 - 97 * i; });
        check_against_definition(resamples, [](std::int64_t i) { return 32766 + i % 3; });
        check_against_definition(resamples, [](std::int64_t i) { return -32766 - i % 3; });
        check_against_definition(resamples, [](std::int64_t i) { return (i - 150) * 2'000'000'000; });
    }
}

// 40,000 rows of weight 65535: 2,621,400,000 passes 2^31, so that partial sums must have been emptied.
BOOST_AUTO_TEST_CASE(many_rows_of_the_largest_weight) {
    std::vector<std::uint16_t> weights(64, 65535);
    std::vector<std::int64_t> out(64);
    weighted_sums({weights.data(), 1, 64, 64}, std::vector<std::int32_t>(40000),
                  std::vector<std::int64_t>(40000, 1), out);
    BOOST_CHECK(out == std::vector<std::int64_t>(64, 2'621'400'000));
}

BOOST_AUTO_TEST_CASE(no_rows_add_nothing) {
    std::vector<std::int64_t> out = {5, 6};
    weighted_sums(formula_weights(1, 2).view(), {}, {}, out);
    BOOST_CHECK(out == (std::vector<std::int64_t>{5, 6}));
}

BOOST_AUTO_TEST_CASE(a_sum_that_could_pass_two_to_the_62_is_refused) {
    const Matrix<std::uint16_t> weights = formula_weights(2, 1);
    const std::vector<std::int32_t> patient = {0, 1};
    const std::int64_t most = largest / 65535;
    std::vector<std::int64_t> out = {0};
    BOOST_CHECK_NO_THROW(
        weighted_sums(weights.view(), patient, std::vector{most - 1, std::int64_t{-1}}, out));
    out = {0};
    BOOST_CHECK_EXCEPTION(weighted_sums(weights.view(), patient, std::vector{most, std::int64_t{-1}}, out),
                          InternalError, says("row 1: the weighted sum could pass 2^62"));
    out = {-largest + 65534};
    BOOST_CHECK_EXCEPTION(weighted_sums(weights.view(), patient, std::vector<std::int64_t>{1, 1}, out),
                          InternalError, says("row 0: the weighted sum could pass 2^62"));
    BOOST_CHECK_EQUAL(out[0], -largest + 65534);
    out = {0};
    const std::vector<std::int64_t> lowest(2, std::numeric_limits<std::int64_t>::min());
    BOOST_CHECK_EXCEPTION(weighted_sums(weights.view(), patient, lowest, out), InternalError, says("row 0"));
}

BOOST_AUTO_TEST_CASE(wrong_shapes_are_refused) {
    const Matrix<std::uint16_t> weights = formula_weights(3, 4), wide = formula_weights(3, 65);
    std::vector<std::int64_t> out(4), wide_out(65);
    const std::vector<std::int64_t> one = {1}, two = {1, 1};
    const std::vector<std::int32_t> first = {0}, beyond = {0, 3}, negative = {-1};
    BOOST_CHECK_EXCEPTION(weighted_sums(weights.view(), first, two, out), InternalError,
                          says("1 patients, 2 values"));
    BOOST_CHECK_EXCEPTION(weighted_sums(weights.view(), first, one, wide_out), InternalError,
                          says("4 resamples, 65 sums"));
    BOOST_CHECK_EXCEPTION(weighted_sums(wide.view(), first, one, wide_out), InternalError,
                          says("65 resamples"));
    BOOST_CHECK_EXCEPTION(weighted_sums(weights.view(), beyond, two, out), InternalError,
                          says("row 1: patient 3 of 3"));
    BOOST_CHECK_EXCEPTION(weighted_sums(weights.view(), negative, one, out), InternalError,
                          says("row 0: patient -1 of 3"));
    BOOST_CHECK(out == std::vector<std::int64_t>(4));
}

BOOST_AUTO_TEST_SUITE_END()
