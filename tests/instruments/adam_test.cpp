#include "candor/instruments/adam.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "testing/vector_targets.hpp"

using namespace candor;
using namespace candor::instruments;

namespace {

struct Weights {
    std::vector<float> w, m, v;

    explicit Weights(std::size_t count, float value = 0) : w(count, value), m(count), v(count) {}
    void step(const std::vector<float>& gradient, std::int64_t t) { adam_step(w, m, v, gradient, t); }
    bool operator==(const Weights&) const = default;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_adam)

// Weight decay alone: the first step is rate x g / (g + epsilon) with g = 1e-4, since both moments are
// corrected to g. Tolerance: half a unit in the last place of a weight below 1, a step.
BOOST_AUTO_TEST_CASE(a_weight_without_gradient_decays_by_the_known_steps) {
    Weights weights(1, 1);
    const double expected[] = {0.99900009999, 0.99800022623, 0.99700039615};
    for (std::int64_t t = 1; t <= 3; ++t) {
        weights.step({0}, t);
        BOOST_TEST(std::abs(weights.w[0] - expected[t - 1]) <= static_cast<double>(t) * 0x1p-25 + 5e-12);
    }
}

// Faults 21: with a gradient of 0.1 the decay disappears in it; decoupled it would not, and end at
// 0.9989999001.
BOOST_AUTO_TEST_CASE(the_decay_is_part_of_the_gradient) {
    Weights weights(1, 1);
    weights.step({0.1F}, 1);
    BOOST_TEST(std::abs(weights.w[0] - 0.9990000000999) <= 0x1p-25 + 1e-12);
}

// Where the gradient is as small as epsilon, it matters where that stands: after the first step, which both
// moments enter as g, rate x g / (g + epsilon) is gone. A weight of 2^-10 is held to 2^-34, the step of 0.001
// to a few roundings: all below 1e-9. Decoupled decay would leave 2^-10 (1 - 1e-7).
BOOST_AUTO_TEST_CASE(epsilon_stands_outside_the_root) {
    Weights weights(1, 0x1p-10F);
    weights.step({0}, 1);
    const double g = 1e-4 * 0x1p-10;
    BOOST_TEST(std::abs(weights.w[0] - (0x1p-10 - 0.001 * g / (g + 1e-8))) <= 0x1p-34 + 6 * 0.001 * 0x1p-24);
}

// Against the formula in double; a step of about 0.001 is computed with a few roundings of 2^-24 each.
BOOST_AUTO_TEST_CASE(many_steps_follow_the_formula) {
    const Stream stream(9, "adam", 0);
    constexpr std::size_t count = 37;
    Weights weights(count, 0.25F);
    std::vector<double> w(count, 0.25), m(count), v(count);
    std::uint64_t next = 0;
    for (std::int64_t t = 1; t <= 200; ++t) {
        std::vector<float> gradient(count);
        for (std::size_t i = 0; i < count; ++i) {
            gradient[i] = static_cast<float>((stream.uniform(next++) - 0.4) *
                                             std::pow(10.0, static_cast<double>(i % 7) - 5));
            const double g = gradient[i] + 1e-4 * w[i];
            m[i] = 0.9 * m[i] + 0.1 * g;
            v[i] = 0.999 * v[i] + 0.001 * g * g;
            const double first = m[i] / (1 - std::pow(0.9, t)), second = v[i] / (1 - std::pow(0.999, t));
            w[i] -= 0.001 * first / (std::sqrt(second) + 1e-8);
        }
        weights.step(gradient, t);
        for (std::size_t i = 0; i < count; ++i)
            BOOST_REQUIRE_SMALL(weights.w[i] - w[i], static_cast<double>(t) * 0x1p-24 * 0.3);
    }
}

BOOST_AUTO_TEST_CASE(every_vector_width_gives_the_same_bits_and_touches_nothing_else) {
    const Stream stream(9, "adam", 1);
    for (const std::size_t count : {1UL, 7UL, 16UL, 67UL}) {
        std::vector<Weights> results;
        on_every_vector_target([&] {
            Weights weights(count + 1, 0.1F);
            std::uint64_t next = 0;
            for (std::int64_t t = 1; t <= 5; ++t) {
                std::vector<float> gradient(count);
                for (float& g : gradient) g = static_cast<float>(stream.uniform(next++) - 0.5);
                adam_step(std::span(weights.w).first(count), std::span(weights.m).first(count),
                          std::span(weights.v).first(count), gradient, t);
            }
            BOOST_TEST(weights.w.back() == 0.1F);
            BOOST_TEST(weights.v.back() == 0);
            results.push_back(weights);
        });
        for (const Weights& other : results) BOOST_TEST((other == results.front()), count);
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_stays_visible) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        on_every_vector_target([&] {
            Weights weights(40, 1);
            std::vector<float> gradient(40);
            gradient[3] = gradient[39] = bad;
            weights.step(gradient, 1);
            for (std::size_t i = 0; i < 40; ++i)
                BOOST_TEST(std::isfinite(weights.w[i]) == (i != 3 && i != 39));
        });
    }
}

BOOST_AUTO_TEST_CASE(sizes_that_differ_and_a_step_before_the_first) {
    Weights weights(4);
    BOOST_CHECK_THROW(weights.step({1, 2, 3}, 1), InternalError);
    BOOST_CHECK_THROW(weights.step({1, 2, 3, 4}, 0), InternalError);
    weights.m.pop_back();
    BOOST_CHECK_THROW(weights.step({1, 2, 3, 4}, 1), InternalError);
}

BOOST_AUTO_TEST_SUITE_END()
