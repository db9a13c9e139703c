#include "candor/instruments/logistic_loss.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/instruments/batches.hpp"

using namespace candor;
using namespace candor::instruments;

namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

double loss(const std::vector<double>& logits, const std::vector<std::int8_t>& labels) {
    return mean_loss(logits, labels);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_logistic_loss)

BOOST_AUTO_TEST_CASE(known_losses) {
    BOOST_CHECK_CLOSE(loss({0}, {1}), std::log(2.0), 1e-13);
    BOOST_CHECK_CLOSE(loss({std::log(3.0)}, {0}), std::log(4.0), 1e-13);
    BOOST_CHECK_CLOSE(loss({std::log(3.0), 5, 0}, {1, missing_label, 0}),
                      (std::log(4.0 / 3) + std::log(2.0)) / 2, 1e-12);
    // Where exp overflows or 1 + exp rounds to 1.
    BOOST_CHECK_EQUAL(loss({1000}, {0}), 1000);
    BOOST_CHECK_EQUAL(loss({-1000}, {1}), 1000);
    BOOST_CHECK_EQUAL(loss({1000}, {1}), 0);
    BOOST_CHECK_CLOSE(loss({50}, {1}), std::exp(-50.0), 1e-12);
    BOOST_TEST(std::isnan(loss({3, 4}, {missing_label, missing_label})));
    BOOST_TEST(std::isnan(loss({}, {})));
}

// Central differences of the loss itself: their error is below h^2/6 times a third derivative below 0.1, and
// the logits of the gradient are rounded to single precision.
BOOST_AUTO_TEST_CASE(the_gradient_is_the_derivative_of_the_mean_loss) {
    const std::vector<double> logits = {-9, -1.5, -0.25, 0, 0.5, 2, 11, 3};
    const std::vector<std::int8_t> labels = {1, 0, 1, 1, missing_label, 0, 1, 0};
    std::vector<float> gradient(logits.begin(), logits.end());
    BOOST_TEST(loss_gradient(gradient, labels, gradient) == 7);
    constexpr double h = 1e-4;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        std::vector<double> up = logits, down = logits;
        up[i] += h;
        down[i] -= h;
        const double slope = (loss(up, labels) - loss(down, labels)) / (2 * h);
        BOOST_TEST(std::abs(gradient[i] - slope) <= 1e-7 * std::abs(slope) + 1e-9, i);
    }
}

BOOST_AUTO_TEST_CASE(the_gradient_keeps_its_digits_where_a_sigmoid_saturates) {
    const std::vector<float> logits = {30, -30, 200, -200};
    std::vector<float> gradient(4);
    loss_gradient(logits, std::vector<std::int8_t>{1, 0, 0, 1}, gradient);
    BOOST_CHECK_CLOSE(gradient[0], -std::exp(-30.0) / 4, 1e-4);
    BOOST_CHECK_CLOSE(gradient[1], std::exp(-30.0) / 4, 1e-4);
    BOOST_CHECK_EQUAL(gradient[2], 0.25F);
    BOOST_CHECK_EQUAL(gradient[3], -0.25F);
}

BOOST_AUTO_TEST_CASE(rows_without_a_label_count_nowhere_and_labelled_ones_hide_nothing) {
    std::vector<float> gradient(2, 7);
    BOOST_TEST(loss_gradient(std::vector<float>{nan_value, 1},
                             std::vector<std::int8_t>{missing_label, missing_label}, gradient) == 0);
    BOOST_TEST(gradient[0] == 0);
    BOOST_TEST(gradient[1] == 0);
    for (const std::int8_t label : {std::int8_t{0}, std::int8_t{1}}) {
        BOOST_TEST(loss_gradient(std::vector<float>{nan_value, 1},
                                 std::vector<std::int8_t>{label, missing_label}, gradient) == 1);
        BOOST_TEST(std::isnan(gradient[0]));
        BOOST_CHECK_THROW(loss({nan_value}, {label}), InternalError);
        BOOST_CHECK_THROW(loss({HUGE_VAL}, {label}), InternalError);
    }
    BOOST_CHECK_EQUAL(loss({nan_value, 0}, {missing_label, 1}), std::log1p(1.0));
    BOOST_CHECK_THROW(loss({1, 2}, {1}), InternalError);
    BOOST_CHECK_THROW(loss_gradient(std::vector<float>{1}, std::vector<std::int8_t>{1}, gradient),
                      InternalError);
}

BOOST_AUTO_TEST_SUITE_END()
