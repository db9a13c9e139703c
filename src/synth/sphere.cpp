#include "candor/synth/sphere.hpp"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <cmath>

#include "candor/base/error.hpp"

namespace candor::synth {

namespace {

// Tails from 1/2 down to where no bank of candidates reaches.
constexpr double log_half = -0.69314718055994530942;
constexpr double log_smallest = -30.0;  // 1e-13
constexpr int steps = 4096;

}  // namespace

SphereCoordinate::SphereCoordinate(std::int64_t m) {
    CANDOR_REQUIRE(m >= 3, std::to_string(m));
    const double half = static_cast<double>(m - 1) / 2;
    const boost::math::beta_distribution<double> beta(half, half);
    for (int i = 0; i <= steps; ++i) {
        const double tail = std::exp(log_half + (log_smallest - log_half) * i / steps);
        quantile_.push_back(2 * boost::math::quantile(boost::math::complement(beta, tail)) - 1);
    }
    quantile_[0] = 0;
}

double SphereCoordinate::exceeded_with(double tail) const {
    if (tail > 0.5) return -exceeded_with(1 - tail);
    const double at = (std::log(tail) - log_half) / (log_smallest - log_half) * steps;
    const double within = std::clamp(at, 0.0, static_cast<double>(steps));
    const auto below = std::min(static_cast<std::size_t>(within), std::size_t{steps - 1});
    const double share = within - static_cast<double>(below);
    return quantile_[below] + share * (quantile_[below + 1] - quantile_[below]);
}

double LargestFirst::next(Draws& draws) {
    minus_log_ += -std::log(draws.uniform()) / static_cast<double>(left_);
    --left_;
    // 1 - exp(-x): exact also where the tail is tiny.
    return coordinate_.exceeded_with(std::clamp(-std::expm1(-minus_log_), 1e-300, 1 - 1e-16));
}

}  // namespace candor::synth
