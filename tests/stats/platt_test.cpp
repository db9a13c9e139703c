#include "candor/stats/platt.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "says.hpp"

using namespace candor;
using namespace candor::stats;

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

}  // namespace

BOOST_AUTO_TEST_SUITE(stats_platt)

// Two places only: the curve goes through the mean target at either, so that it is known in closed form.
// At -1 one of 4 rows is positive, at +3 five of 6; n+ = 6, n- = 4, so targets are 7/8 and 1/6.
BOOST_AUTO_TEST_CASE(a_curve_through_two_places_is_known) {
    const std::vector<double> score{-1, -1, -1, -1, 3, 3, 3, 3, 3, 3};
    const std::vector<std::int8_t> label{0, 0, 1, 0, 1, 1, 0, 1, 1, 1};
    const PlattScaling curve = fit_platt(score, label).value();
    const double left = (7.0 / 8 + 3.0 / 6) / 4, right = (5 * 7.0 / 8 + 1.0 / 6) / 6;
    // Newton's last step leaves the gradient's rounding, 10 terms of at most 1, over a curvature of 0.7.
    BOOST_CHECK_SMALL(curve(-1) - left, 64 * eps);
    BOOST_CHECK_SMALL(curve(3) - right, 64 * eps);
    const double rise = std::log(right / (1 - right)) - std::log(left / (1 - left));
    BOOST_CHECK_CLOSE(curve.slope, rise / 4, 1e-12);
    BOOST_CHECK_CLOSE(curve.intercept, std::log(right / (1 - right)) - 3 * rise / 4, 1e-12);
}

// One positive far from 10,000 negatives: whole Newton steps run away from here.
BOOST_AUTO_TEST_CASE(rare_positives_are_found_by_shorter_steps) {
    std::vector<double> score(10'000, -1);
    std::vector<std::int8_t> label(10'000, 0);
    score.push_back(1);
    label.push_back(1);
    const PlattScaling curve = fit_platt(score, label).value();
    BOOST_CHECK_CLOSE(curve(-1), 1.0 / 10'002, 1e-10);
    BOOST_CHECK_CLOSE(curve(1), 2.0 / 3, 1e-10);
}

// Labels that no score confuses: 1 and 0 as targets would have no finite curve.
BOOST_AUTO_TEST_CASE(separated_labels_keep_a_finite_curve_at_any_scale) {
    for (const double scale : {1e-300, 1e-5, 1.0, 800.0, 1e300}) {
        std::vector<double> score;
        std::vector<std::int8_t> label;
        for (int i = -50; i < 50; ++i) {
            score.push_back((i + 0.5) / 50 * scale);
            label.push_back(i >= 0);
        }
        const PlattScaling curve = fit_platt(score, label).value();
        BOOST_CHECK(std::isfinite(curve.slope));
        BOOST_CHECK_GT(curve.slope, 0);
        BOOST_CHECK_SMALL(curve(0) - 0.5, 1e-13);
        // The targets are 51/52 and 1/52; the curve may pass them at the ends, but not by much.
        BOOST_CHECK_GT(curve(scale), 0.97);
        BOOST_CHECK_LT(curve(-scale), 0.03);
    }
}

BOOST_AUTO_TEST_CASE(a_constant_score_gives_the_mean_target) {
    const std::vector<double> score(5, 2.5);
    const std::vector<std::int8_t> label{1, 0, 0, 0, 0};
    const PlattScaling curve = fit_platt(score, label).value();
    BOOST_CHECK_EQUAL(curve.slope, 0);
    BOOST_CHECK_CLOSE(curve(2.5), (2.0 / 3 + 4 * 1.0 / 6) / 5, 1e-12);
    // A head that is worse than none is turned round.
    const std::vector<double> falling{1, 2, 3, 4, 5};
    BOOST_CHECK_LT(fit_platt(falling, label).value().slope, 0);
}

BOOST_AUTO_TEST_CASE(probabilities_keep_to_their_range_far_out) {
    const PlattScaling curve{1, 0};
    BOOST_CHECK_EQUAL(curve(800), 1);
    BOOST_CHECK_EQUAL(curve(-800), 0);
    BOOST_CHECK_CLOSE(curve(-700), std::exp(-700.0), 1e-12);
    BOOST_CHECK_EQUAL(curve(0), 0.5);
}

BOOST_AUTO_TEST_CASE(one_label_alone_has_no_curve_and_bad_input_is_refused) {
    const std::vector<double> score{1, 2}, nan{1, std::nan("")}, infinite{1, HUGE_VAL};
    const std::vector<std::int8_t> both{0, 1}, ones{1, 1}, zeros{0, 0}, other{0, -1}, one{1};
    BOOST_CHECK(!fit_platt(score, ones).has_value());
    BOOST_CHECK(!fit_platt(score, zeros).has_value());
    BOOST_CHECK(!fit_platt({}, {}).has_value());
    BOOST_CHECK_EXCEPTION(fit_platt(nan, both), InternalError, says("row 1 has score"));
    BOOST_CHECK_EXCEPTION(fit_platt(infinite, both), InternalError, says("row 1 has score inf"));
    BOOST_CHECK_EXCEPTION(fit_platt(score, other), InternalError, says("row 1 has label -1"));
    BOOST_CHECK_EXCEPTION(fit_platt(score, one), InternalError, says("2 scores, 1 labels"));
}

BOOST_AUTO_TEST_SUITE_END()
