#include "candor/stats/platt.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "candor/base/error.hpp"

namespace candor::stats {

namespace {

double logistic(double u) {
    return u >= 0 ? 1 / (1 + std::exp(-u)) : std::exp(u) / (1 + std::exp(u));
}

/// Scores in units in which they are about 1 in size, with their targets.
struct Points {
    std::vector<double> x, target;

    /// Cross-entropy at u = a x + b: sum of log(1 + e^u) - t u.
    double loss(double a, double b) const {
        double sum = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double u = a * x[i] + b;
            sum += std::max(u, 0.0) - target[i] * u + std::log1p(std::exp(-std::abs(u)));
        }
        return sum;
    }
};

/// Newton's step from (a, b), and half the square of the decrement: what the quadratic model promises.
struct Step {
    double a, b, promised;
};

Step newton_step(const Points& points, double a, double b) {
    double ga = 0, gb = 0, haa = 0, hab = 0, hbb = 0;
    for (std::size_t i = 0; i < points.x.size(); ++i) {
        const double x = points.x[i], u = a * x + b, p = logistic(u), q = logistic(-u);
        const double residual = p - points.target[i], weight = p * q;
        ga += residual * x;
        gb += residual;
        haa += weight * x * x;
        hab += weight * x;
        hbb += weight;
    }
    // A trace of a ridge, so that the system can be solved where the curve is all but a step.
    const double ridge = 1e-14 * (haa + hbb);
    haa += ridge;
    hbb += ridge;
    const double determinant = haa * hbb - hab * hab;
    const Step step{(hab * gb - hbb * ga) / determinant, (hab * ga - haa * gb) / determinant, 0};
    return {step.a, step.b, -(ga * step.a + gb * step.b) / 2};
}

/// The minimum by damped Newton steps; the loss is strictly convex where x is not constant.
PlattScaling minimise(const Points& points, double b) {
    // Below this the loss cannot tell two points apart, but Newton's step still doubles the digits.
    constexpr double near = 1e-10, there = 1e-22;
    double a = 0, loss = points.loss(a, b);
    for (int iteration = 0; iteration < 200; ++iteration) {
        const Step step = newton_step(points, a, b);
        CANDOR_REQUIRE(std::isfinite(step.promised),
                       "no step from " + std::to_string(a) + ", " + std::to_string(b));
        double size = 1, next = points.loss(a + step.a, b + step.b);
        while (step.promised > near && next > loss - 1e-4 * size * step.promised) {
            size /= 2;
            CANDOR_REQUIRE(size > 1e-12, "no descent from " + std::to_string(a) + ", " + std::to_string(b));
            next = points.loss(a + size * step.a, b + size * step.b);
        }
        a += size * step.a;
        b += size * step.b;
        loss = next;
        if (step.promised < there) break;
    }
    return {a, b};
}

}  // namespace

double PlattScaling::operator()(double score) const {
    return logistic(slope * score + intercept);
}

std::optional<PlattScaling> fit_platt(std::span<const double> score, std::span<const std::int8_t> label) {
    CANDOR_REQUIRE(score.size() == label.size(),
                   std::to_string(score.size()) + " scores, " + std::to_string(label.size()) + " labels");
    double positives = 0, negatives = 0;
    for (std::size_t i = 0; i < score.size(); ++i) {
        CANDOR_REQUIRE(std::isfinite(score[i]),
                       "row " + std::to_string(i) + " has score " + std::to_string(score[i]));
        CANDOR_REQUIRE(label[i] == 0 || label[i] == 1,
                       "row " + std::to_string(i) + " has label " + std::to_string(label[i]));
        ++(label[i] == 1 ? positives : negatives);
    }
    if (positives == 0 || negatives == 0) return std::nullopt;

    const double high = (positives + 1) / (positives + 2), low = 1 / (negatives + 2);
    const auto [least, most] = std::ranges::minmax(score);
    if (least == most) {
        const double mean = (positives * high + negatives * low) / (positives + negatives);
        return PlattScaling{0, std::log(mean / (1 - mean))};
    }
    const double middle = least / 2 + most / 2, half = most / 2 - least / 2;
    Points points;
    for (std::size_t i = 0; i < score.size(); ++i) {
        points.x.push_back((score[i] - middle) / half);
        points.target.push_back(label[i] == 1 ? high : low);
    }
    const PlattScaling scaled = minimise(points, std::log((positives + 1) / (negatives + 1)));
    return PlattScaling{scaled.slope / half, scaled.intercept - scaled.slope * (middle / half)};
}

}  // namespace candor::stats
