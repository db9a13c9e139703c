#include "candor/stats/spearman.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/stats/student_t.hpp"

namespace candor::stats {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t most_pairs = 2'000'000;

/// Twice the mid-rank of each value less twice the mean rank: integers that sum to 0, ties and all.
std::vector<std::int64_t> centred_ranks(std::span<const double> values) {
    const std::size_t n = values.size();
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
    std::vector<std::int64_t> ranks(n);
    for (std::size_t begin = 0, end = 0; begin < n; begin = end) {
        while (end < n && values[order[end]] == values[order[begin]]) ++end;
        // Ranks begin + 1 .. end have the mean (begin + 1 + end) / 2.
        for (std::size_t i = begin; i < end; ++i)
            ranks[order[i]] = static_cast<std::int64_t>(begin + end) - static_cast<std::int64_t>(n);
    }
    return ranks;
}

std::int64_t product(std::span<const std::int64_t> x, std::span<const std::int64_t> y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), std::int64_t{0});
}

/// Share of all orders of y in which |sum of products| is at least the observed one, by Heap's algorithm:
/// each order differs from the one before by one exchange.
double permutation_p(std::span<const std::int64_t> x, std::vector<std::int64_t> y) {
    const std::size_t n = x.size();
    std::int64_t sum = product(x, y);
    const std::int64_t observed = std::abs(sum);
    std::int64_t orders = 1, reached = 1;  // the order as it is
    std::array<std::size_t, most_permuted> exchanges{};
    for (std::size_t i = 1; i < n;) {
        if (exchanges[i] == i) {
            exchanges[i++] = 0;
            continue;
        }
        const std::size_t j = i % 2 == 0 ? 0 : exchanges[i];
        sum += (x[i] - x[j]) * (y[j] - y[i]);
        std::swap(y[i], y[j]);
        ++orders;
        reached += std::abs(sum) >= observed;
        ++exchanges[i];
        i = 1;
    }
    return static_cast<double>(reached) / static_cast<double>(orders);
}

/// t of a correlation xy / sqrt(xx yy). 1 - rho^2 is made of the exact sums in long double, since rho close
/// to 1 has lost it.
double t_statistic(std::int64_t xy, std::int64_t xx, std::int64_t yy, std::int64_t n) {
    if (xx == yy && std::abs(xy) == xx) return std::numeric_limits<double>::infinity();
    const long double root =
        std::sqrt(static_cast<long double>(xx)) * std::sqrt(static_cast<long double>(yy));
    const long double r = static_cast<long double>(xy);
    return static_cast<double>(r * std::sqrt(static_cast<long double>(n - 2) / ((root - r) * (root + r))));
}

}  // namespace

Spearman spearman(std::span<const double> x, std::span<const double> y) {
    CANDOR_REQUIRE(x.size() == y.size(),
                   std::to_string(x.size()) + " values against " + std::to_string(y.size()));
    std::vector<double> known_x, known_y;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x[i]) || std::isnan(y[i])) continue;
        known_x.push_back(x[i]);
        known_y.push_back(y[i]);
    }
    const auto n = static_cast<std::int64_t>(known_x.size());
    CANDOR_REQUIRE(n <= most_pairs, std::to_string(n) + " pairs");
    Spearman result{n, not_a_number, not_a_number, not_a_number, {}};
    if (n < 3) {
        result.undefined = "fewer than 3 pairs";
        return result;
    }

    const std::vector<std::int64_t> ranks_x = centred_ranks(known_x), ranks_y = centred_ranks(known_y);
    const std::int64_t xx = product(ranks_x, ranks_x), yy = product(ranks_y, ranks_y);
    if (xx == 0 || yy == 0) {
        result.undefined = xx == 0 ? "the first values are all equal" : "the second values are all equal";
        return result;
    }
    const std::int64_t xy = product(ranks_x, ranks_y);
    // Ranks on a line are the same ranks, or the same reversed: then xx = yy, and the square root is exact.
    result.rho = static_cast<double>(xy) / std::sqrt(static_cast<double>(xx) * static_cast<double>(yy));
    result.p = two_sided_t(t_statistic(xy, xx, yy, n), static_cast<double>(n - 2));
    if (n <= most_permuted) result.exact_p = permutation_p(ranks_x, ranks_y);
    return result;
}

}  // namespace candor::stats
