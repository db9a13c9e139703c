#include "candor/stats/weighted_sums.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <vector>

#include "candor/stats/resampling.hpp"
#include "says.hpp"
#include "testing/vector_targets.hpp"

using namespace candor;
using namespace candor::stats;

namespace {

constexpr std::int64_t rows = 300;
constexpr std::int64_t largest = std::int64_t{1} << 62;

Matrix<Weight> formula_weights(std::int64_t patients, std::int64_t resamples) {
    Matrix<Weight> weights(patients, resamples);
    for (std::int64_t p = 0; p < patients; ++p)
        for (std::int64_t b = 0; b < resamples; ++b)
            weights.row(p)[b] = static_cast<Weight>((p * 7919 + b * 104729) % 256);
    return weights;
}

WeightedSums sums_of(const std::vector<std::int32_t>& patient, const std::vector<std::int64_t>& value) {
    return {RowPatients(patient), value};
}

/// The definition, for values by a formula of the row, starting from sums that are not zero.
template <class Value>
void check_against_definition(std::int64_t resamples, Value&& value_of) {
    const Matrix<Weight> weights = formula_weights(13, resamples);
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
    const WeightedSums sums = sums_of(patient, value);
    sums.add(weights.view(), out);
    BOOST_CHECK_EQUAL(sums.observed(), std::accumulate(value.begin(), value.end(), std::int64_t{0}));
    BOOST_CHECK_EQUAL_COLLECTIONS(out.begin(), out.end(), expected.begin(), expected.end());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stats_weighted_sums)

// Values below, around and beyond the 255 up to which a patient's sum is counted with those of its equals,
// and values that need 64 bits; either sign.
BOOST_AUTO_TEST_CASE(sums_are_the_definition) {
    on_every_vector_target([] {
        for (const std::int64_t resamples : {1, 3, 17, 40, 63, 64}) {
            check_against_definition(resamples, [](std::int64_t i) { return i % 2; });
            check_against_definition(resamples, [](std::int64_t i) { return i % 5 - 2; });
            check_against_definition(resamples, [](std::int64_t i) { return 10000 - 97 * i; });
            check_against_definition(resamples, [](std::int64_t i) { return i < 13 ? 254 + i % 3 : 0; });
            check_against_definition(resamples, [](std::int64_t i) { return i < 13 ? -254 - i % 3 : 0; });
            check_against_definition(resamples, [](std::int64_t i) { return 32766 + i % 3; });
            check_against_definition(resamples, [](std::int64_t i) { return -32766 - i % 3; });
            check_against_definition(resamples, [](std::int64_t i) { return (i - 150) * 2'000'000'000; });
        }
    });
}

// Sums of 64 patients that fill 8 bits just not, exactly and too far; 257 patients of the largest weight,
// which pass 2^16; 40,000 of them with 40,000 rows each, which pass 2^32. Partial sums must have been emptied
// before.
BOOST_AUTO_TEST_CASE(many_patients_of_one_weight) {
    on_every_vector_target([] {
        for (const std::int64_t patients : {51, 63, 64, 65, 256, 257, 40000}) {
            Matrix<Weight> weights(patients, 64);
            std::vector<std::int32_t> patient(static_cast<std::size_t>(patients));
            std::iota(patient.begin(), patient.end(), 0);
            for (const int weight : {0, 1, 3, 4, 5, 255}) {
                for (std::int64_t p = 0; p < patients; ++p)
                    std::ranges::fill(weights.row(p), static_cast<Weight>(weight));
                for (const std::int64_t value : {1, 200, 40000}) {
                    std::vector<std::int64_t> out(64);
                    sums_of(patient, std::vector(patient.size(), value)).add(weights.view(), out);
                    BOOST_CHECK(out == std::vector<std::int64_t>(64, weight * patients * value));
                }
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(patients_are_placed_in_ascending_order) {
    const RowPatients rows(std::vector<std::int32_t>{7, 2, 7, 0, 2});
    BOOST_CHECK(std::ranges::equal(rows.patients(), std::vector<std::int32_t>{0, 2, 7}));
    BOOST_CHECK(std::ranges::equal(rows.place(), std::vector<std::int32_t>{2, 1, 2, 0, 1}));
}

BOOST_AUTO_TEST_CASE(no_rows_add_nothing) {
    std::vector<std::int64_t> out = {5, 6};
    sums_of({}, {}).add(formula_weights(1, 2).view(), out);
    BOOST_CHECK(out == (std::vector<std::int64_t>{5, 6}));
}

BOOST_AUTO_TEST_CASE(a_sum_that_could_pass_two_to_the_62_is_refused) {
    const Matrix<Weight> weights = formula_weights(2, 1);
    const std::vector<std::int32_t> patient = {0, 1};
    const std::int64_t most = largest / 255;
    std::vector<std::int64_t> out = {0};
    BOOST_CHECK_NO_THROW(sums_of(patient, {most - 1, -1}).add(weights.view(), out));
    out = {0};
    BOOST_CHECK_EXCEPTION(sums_of(patient, {most, -1}), InternalError,
                          says("row 1: the weighted sum could pass 2^62"));
    out = {-largest + 510};
    BOOST_CHECK_NO_THROW(sums_of(patient, {1, 1}).add(weights.view(), out));
    out = {-largest + 509};
    BOOST_CHECK_EXCEPTION(sums_of(patient, {1, 1}).add(weights.view(), out), InternalError,
                          says("resample 0 of the block: the weighted sum could pass 2^62"));
    BOOST_CHECK_EQUAL(out[0], -largest + 509);
    const std::vector<std::int64_t> lowest(2, std::numeric_limits<std::int64_t>::min());
    BOOST_CHECK_EXCEPTION(sums_of(patient, lowest), InternalError, says("row 0"));
}

BOOST_AUTO_TEST_CASE(wrong_shapes_are_refused) {
    const Matrix<Weight> weights = formula_weights(3, 4), wide = formula_weights(3, 65);
    std::vector<std::int64_t> out(4), wide_out(65);
    const std::vector<std::int64_t> one = {1}, two = {1, 1};
    const std::vector<std::int32_t> first = {0}, beyond = {0, 3}, negative = {-1};
    BOOST_CHECK_EXCEPTION(sums_of(first, two), InternalError, says("1 patients, 2 values"));
    BOOST_CHECK_EXCEPTION(sums_of(negative, one), InternalError, says("row 0 has patient -1"));
    BOOST_CHECK_EXCEPTION(sums_of(first, one).add(weights.view(), wide_out), InternalError,
                          says("4 resamples, 65 sums"));
    BOOST_CHECK_EXCEPTION(sums_of(first, one).add(wide.view(), wide_out), InternalError,
                          says("65 resamples"));
    BOOST_CHECK_EXCEPTION(sums_of(beyond, two).add(weights.view(), out), InternalError,
                          says("patient 3 of 3"));
    BOOST_CHECK_EXCEPTION(sums_of(first, one).add({weights.view().data, 3, 4, 63}, out), InternalError,
                          says("stride 63"));
    BOOST_CHECK(out == std::vector<std::int64_t>(4));
}

BOOST_AUTO_TEST_SUITE_END()
