#include "candor/instruments/confidence.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "candor/base/error.hpp"

namespace candor::instruments {

namespace {

double finite(double z) {
    CANDOR_REQUIRE(std::isfinite(z), "a logit is " + std::to_string(z));
    return z;
}

double logistic(double z) {
    return z >= 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z));
}

}  // namespace

bool head_errs(double z, double threshold, std::int8_t label) {
    CANDOR_REQUIRE(std::isfinite(threshold), "the threshold is " + std::to_string(threshold));
    CANDOR_REQUIRE(label == 0 || label == 1, "label " + std::to_string(label));
    return (finite(z) >= threshold) != (label == 1);
}

double msp_score(double z) {
    const double size = std::abs(finite(z));
    return -size - std::log1p(std::exp(-size));
}

double max_logit_score(double z) {
    return -std::abs(finite(z));
}

double energy_score(double z) {
    const double size = std::abs(finite(z));
    return -(size / 2 + std::log1p(std::exp(-size)));
}

double threshold_distance_score(double z, double threshold) {
    CANDOR_REQUIRE(std::isfinite(threshold), "the threshold is " + std::to_string(threshold));
    return -std::abs(finite(z) - threshold);
}

double ensemble_score(std::span<const double> z) {
    CANDOR_REQUIRE(!z.empty(), "an ensemble without members");
    double sum = 0;
    for (const double one : z) sum += finite(one);
    const double side = sum > 0 ? -1 : 1;
    // Measured from the first, so that equal members differ by nothing, and in units of the largest
    // difference, so that no square vanishes.
    const double first = logistic(side * z.front());
    const auto away = [&](double one) { return logistic(side * one) - first; };
    double largest = 0;
    for (const double one : z) largest = std::max(largest, std::abs(away(one)));
    if (largest == 0) return 0;
    const auto members = static_cast<double>(z.size());
    double mean = 0, squares = 0;
    for (const double one : z) mean += away(one) / largest / members;
    for (const double one : z) squares += (away(one) / largest - mean) * (away(one) / largest - mean);
    return largest * std::sqrt(squares / members);
}

}  // namespace candor::instruments
