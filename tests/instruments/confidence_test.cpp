#include "candor/instruments/confidence.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/stats/auroc.hpp"

using namespace candor;
using namespace candor::instruments;

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

double ensemble(const std::vector<double>& z) {
    return ensemble_score(z);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_confidence)

BOOST_AUTO_TEST_CASE(closed_forms_near_zero_and_far_out) {
    constexpr double log2 = std::numbers::ln2;
    BOOST_CHECK_EQUAL(msp_score(0), -log2);
    BOOST_CHECK_EQUAL(max_logit_score(0), 0);
    BOOST_CHECK_EQUAL(energy_score(0), -log2);
    for (const double sign : {-1.0, 1.0}) {
        // exp(-800) is below every double: what is left is exact.
        BOOST_CHECK_EQUAL(msp_score(sign * 800), -800);
        BOOST_CHECK_EQUAL(max_logit_score(sign * 800), -800);
        BOOST_CHECK_EQUAL(energy_score(sign * 800), -400);
        // p = 3/4 at log 3: the smaller class has 1/4; e^(z/2) + e^(-z/2) = 4 / sqrt 3.
        BOOST_CHECK_CLOSE(msp_score(sign * std::log(3)), std::log(0.25), 400 * eps);
        BOOST_CHECK_CLOSE(energy_score(sign * std::log(3)), -std::log(4 / std::sqrt(3)), 400 * eps);
    }
}

// METHODS 9's confidences are blind to where a head decides; this one is not.
BOOST_AUTO_TEST_CASE(the_distance_to_the_threshold_is_measured_from_it) {
    BOOST_CHECK_EQUAL(threshold_distance_score(-2.5, -2.5), 0);
    BOOST_CHECK_EQUAL(threshold_distance_score(0, -2.5), -2.5);
    BOOST_CHECK_EQUAL(threshold_distance_score(-5, -2.5), -2.5);
    for (const double z : {-800.0, -1.5, 0.0, 3.25})
        BOOST_CHECK_EQUAL(threshold_distance_score(z, 0), max_logit_score(z));
    BOOST_CHECK_THROW(threshold_distance_score(0, std::numeric_limits<double>::infinity()), InternalError);
    BOOST_CHECK_THROW(threshold_distance_score(std::nan(""), 0), InternalError);
}

// Faults 20: the only error has the smallest logit of 38, -39, 41, 50; a plain probability is 1 for all four.
BOOST_AUTO_TEST_CASE(confidence_does_not_saturate) {
    const std::vector<double> logits{38, -39, 41, 50};
    const std::vector<std::int32_t> patient{0, 1, 2, 3};
    const auto failure_auroc = [&](double (*score)(double)) {
        std::vector<double> scores;
        for (const double z : logits) scores.push_back(score(z));
        const std::span<const double> all(scores);
        const std::span<const std::int32_t> who(patient);
        const stats::PairCounter pairs(all.first(1), who.first(1), all.subspan(1), who.subspan(1));
        return stats::auroc(pairs.twice_wins(), pairs.pairs());
    };
    BOOST_CHECK_EQUAL(failure_auroc(msp_score), 1);
    BOOST_CHECK_EQUAL(failure_auroc(max_logit_score), 1);
    BOOST_CHECK_EQUAL(failure_auroc(energy_score), 1);
    BOOST_CHECK_EQUAL(failure_auroc([](double z) { return -1 / (1 + std::exp(-std::abs(z))); }), 0.5);
}

// From 1/64 to 1,000 in steps of 1/64 no two logits tie and none change places.
BOOST_AUTO_TEST_CASE(the_three_are_copies_of_one_order) {
    for (double (*score)(double) : {msp_score, max_logit_score, energy_score}) {
        for (int i = 1; i < 64'000; ++i) BOOST_REQUIRE_GT(score(-i / 64.0), score((i + 1) / 64.0));
    }
}

BOOST_AUTO_TEST_CASE(members_that_agree_have_no_spread) {
    BOOST_CHECK_EQUAL(ensemble({0.1, 0.1, 0.1, 0.1, 0.1}), 0);
    BOOST_CHECK_EQUAL(ensemble({-3.7}), 0);
    // Probabilities 1/4 and 3/4.
    BOOST_CHECK_CLOSE(ensemble({std::log(3), -std::log(3)}), 0.25, 400 * eps);
    // 1/2, 1/2, 1/2, 1/2, 3/4: a deviation of 0.4 x 1/4.
    BOOST_CHECK_CLOSE(ensemble({0, 0, 0, 0, std::log(3)}), 0.1, 400 * eps);
    // 1 and 1, less e^-40 and e^-41: as doubles both are 1.
    const double spread = (std::exp(-40) - std::exp(-41)) / 2;
    BOOST_CHECK_CLOSE(ensemble({40, 41}), spread, 1e-12);
    BOOST_CHECK_CLOSE(ensemble({-40, -41}), spread, 1e-12);
    // Squares of these would be 0.
    BOOST_CHECK_CLOSE(ensemble({-500, -501}), (std::exp(-500) - std::exp(-501)) / 2, 1e-12);
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_the_operating_point) {
    BOOST_CHECK(!head_errs(0.5, 0.5, 1));  // at the threshold: called positive
    BOOST_CHECK(head_errs(0.5, 0.5, 0));
    BOOST_CHECK(head_errs(std::nextafter(0.5, 0), 0.5, 1));
    BOOST_CHECK(!head_errs(-3, -2, 0));
    BOOST_CHECK(head_errs(-1, -2, 0));
}

BOOST_AUTO_TEST_CASE(what_is_no_logit_is_refused) {
    for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        BOOST_CHECK_THROW(msp_score(bad), InternalError);
        BOOST_CHECK_THROW(max_logit_score(bad), InternalError);
        BOOST_CHECK_THROW(energy_score(bad), InternalError);
        BOOST_CHECK_THROW(ensemble({1, bad}), InternalError);
        BOOST_CHECK_THROW(head_errs(bad, 0, 1), InternalError);
        BOOST_CHECK_THROW(head_errs(0, bad, 1), InternalError);
    }
    BOOST_CHECK_THROW(head_errs(0, 0, -1), InternalError);
    BOOST_CHECK_THROW(ensemble({}), InternalError);
}

BOOST_AUTO_TEST_SUITE_END()
