#include "candor/stats/normal.hpp"

#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numbers>

namespace candor::stats {

double normal_score(double log10_p) {
    constexpr double smallest = -300;
    if (log10_p > smallest) {
        return boost::math::quantile(
            boost::math::complement(boost::math::normal_distribution<double>(), std::pow(10, log10_p)));
    }
    // P(Z >= z) is about exp(-z^2/2) / (z sqrt(2 pi)); the fixed point comes in a few steps.
    const double minus_log = -log10_p * std::numbers::ln10;
    double z = std::sqrt(2 * minus_log);
    for (int step = 0; step < 5; ++step)
        z = std::sqrt(2 * (minus_log - std::log(z * std::sqrt(2 * std::numbers::pi))));
    return z;
}

}  // namespace candor::stats
