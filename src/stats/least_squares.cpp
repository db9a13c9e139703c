#include "candor/stats/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/stats/student_t.hpp"

namespace candor::stats {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

struct Point {
    double x, y;
};

bool all_equal(const std::vector<Point>& points, double Point::*coordinate) {
    return std::ranges::all_of(points,
                               [&](const Point& p) { return p.*coordinate == points.front().*coordinate; });
}

/// From the first value on, so that equal values have exactly their own mean.
long double mean(const std::vector<Point>& points, double Point::*coordinate) {
    const long double first = points.front().*coordinate;
    long double sum = 0;
    for (const Point& p : points) sum += p.*coordinate - first;
    return first + sum / static_cast<long double>(points.size());
}

}  // namespace

LeastSquares least_squares(std::span<const double> x, std::span<const double> y) {
    CANDOR_REQUIRE(x.size() == y.size(),
                   std::to_string(x.size()) + " values against " + std::to_string(y.size()));
    std::vector<Point> points;
    for (std::size_t i = 0; i < x.size(); ++i) {
        CANDOR_REQUIRE(
            !std::isinf(x[i]) && !std::isinf(y[i]),
            "point " + std::to_string(i) + " is (" + format_real(x[i]) + ", " + format_real(y[i]) + ")");
        if (!std::isnan(x[i]) && !std::isnan(y[i])) points.push_back({x[i], y[i]});
    }
    const auto n = static_cast<std::int64_t>(points.size());
    LeastSquares line{n, not_a_number, not_a_number, not_a_number, not_a_number, {}};
    if (n < 2) {
        line.undefined = "fewer than 2 points";
        return line;
    }
    if (all_equal(points, &Point::x)) {
        line.undefined = "the x are all equal";
        return line;
    }

    // About the means, and in long double, so that a common offset of x or y costs no digits.
    const long double mean_x = mean(points, &Point::x), mean_y = mean(points, &Point::y);
    long double xx = 0, xy = 0;
    for (const Point& p : points) {
        xx += (p.x - mean_x) * (p.x - mean_x);
        xy += (p.x - mean_x) * (p.y - mean_y);
    }
    const long double slope = xy / xx;
    line.slope = static_cast<double>(slope);
    line.intercept = static_cast<double>(mean_y - slope * mean_x);
    if (n == 2) {
        line.undefined = "no test with 2 points";
        return line;
    }

    long double residuals = 0;
    for (const Point& p : points) {
        const long double residual = (p.y - mean_y) - slope * (p.x - mean_x);
        residuals += residual * residual;
    }
    const auto degrees = static_cast<double>(n - 2);
    const long double error = std::sqrt(residuals / degrees / xx);
    line.standard_error = static_cast<double>(error);
    if (all_equal(points, &Point::y)) {
        line.undefined = "no test with all y equal";
        return line;
    }
    line.p = two_sided_t(static_cast<double>(slope / error), degrees);
    return line;
}

}  // namespace candor::stats
