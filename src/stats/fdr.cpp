#include "candor/stats/fdr.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"

namespace candor::stats {

namespace {

/// What the j-th smallest p of m is multiplied by: one rounding for j = 1, none for j = m, so that the
/// largest p of a family is its own q.
double factor(std::int64_t m, std::int64_t j) {
    return static_cast<double>(m) / static_cast<double>(j);
}

bool is_probability(double p) {
    return p >= 0 && p <= 1;
}

}  // namespace

std::vector<double> benjamini_hochberg(std::span<const double> p) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < p.size(); ++i) {
        if (std::isnan(p[i])) continue;
        CANDOR_REQUIRE(is_probability(p[i]), "p of test " + std::to_string(i) + " is " + format_real(p[i]));
        order.push_back(i);
    }
    std::ranges::sort(order, {}, [&](std::size_t i) { return p[i]; });

    std::vector<double> q(p.size(), std::numeric_limits<double>::quiet_NaN());
    const auto m = static_cast<std::int64_t>(order.size());
    double running = 1;
    for (std::int64_t j = m; j >= 1; --j) {
        const std::size_t i = order[j - 1];
        running = std::min(running, p[i] * factor(m, j));
        q[i] = running;
    }
    return q;
}

Family summarise_family(std::span<const double> p, double alpha, double smallest_p) {
    CANDOR_REQUIRE(is_probability(alpha) && is_probability(smallest_p),
                   "alpha " + format_real(alpha) + ", smallest p " + format_real(smallest_p));
    Family family{0, 0, 0, smallest_p, 0, std::nullopt};
    family.undefined = std::ranges::count_if(p, [](double v) { return std::isnan(v); });
    family.tests = static_cast<std::int64_t>(p.size()) - family.undefined;
    family.rejected = std::ranges::count_if(benjamini_hochberg(p), [&](double q) { return q <= alpha; });
    family.at_smallest = std::ranges::count_if(p, [&](double v) { return v <= smallest_p; });
    for (std::int64_t j = 1; j <= family.tests && !family.needed; ++j)
        if (smallest_p * factor(family.tests, j) <= alpha) family.needed = j;
    return family;
}

}  // namespace candor::stats
