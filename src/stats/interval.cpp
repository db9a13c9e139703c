#include "candor/stats/interval.hpp"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"

namespace candor::stats {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

void require_confidence(double confidence) {
    CANDOR_REQUIRE(confidence > 0 && confidence < 1, "confidence " + format_real(confidence));
}

/// Sorts as far as the quantiles `q`, ascending, need it: their neighbours and both ends come to their
/// places.
void sort_around(std::vector<double>& values, std::initializer_list<double> q) {
    if (values.empty()) return;
    auto done = values.begin();
    const auto place = [&](std::size_t i) {
        const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::min(i, values.size() - 1));
        if (at < done) return;
        if (at == done) {
            std::iter_swap(at, std::min_element(done, values.end()));
        } else {
            std::nth_element(done, at, values.end());
        }
        done = at + 1;
    };
    place(0);
    for (const double one : q) {
        const auto i = static_cast<std::size_t>(static_cast<double>(values.size() - 1) * one);
        place(i);
        place(i + 1);
    }
    place(values.size() - 1);
}

}  // namespace

double quantile(std::span<const double> sorted, double q) {
    CANDOR_REQUIRE(q >= 0 && q <= 1, "q " + format_real(q));
    if (sorted.empty()) return undefined;
    CANDOR_REQUIRE(std::isfinite(sorted.front()) && std::isfinite(sorted.back()),
                   "values from " + format_real(sorted.front()) + " to " + format_real(sorted.back()));
    const double position = static_cast<double>(sorted.size() - 1) * q;
    const auto i = static_cast<std::size_t>(position);
    if (i + 1 >= sorted.size()) return sorted.back();
    return std::lerp(sorted[i], sorted[i + 1], position - std::floor(position));
}

Interval percentile_interval(std::span<const double> replicates, double confidence) {
    require_confidence(confidence);
    std::vector<double> sorted;
    sorted.reserve(replicates.size());
    std::ranges::copy_if(replicates, std::back_inserter(sorted), [](double v) { return !std::isnan(v); });
    const double tail = (1 - confidence) / 2;
    sort_around(sorted, {tail, 1 - tail});
    return {quantile(sorted, tail), quantile(sorted, 1 - tail), static_cast<std::int64_t>(sorted.size()),
            !sorted.empty() && sorted.front() == sorted.back()};
}

Bounds clopper_pearson(std::int64_t k, std::int64_t n, double confidence) {
    require_confidence(confidence);
    CANDOR_REQUIRE(0 <= k && k <= n, std::to_string(k) + " of " + std::to_string(n));
    if (n == 0) return {undefined, undefined};
    const double tail = (1 - confidence) / 2;
    const auto hits = static_cast<double>(k), misses = static_cast<double>(n - k);
    return {k == 0 ? 0.0 : boost::math::ibeta_inv(hits, misses + 1, tail),
            k == n ? 1.0 : boost::math::ibetac_inv(hits + 1, misses, tail)};
}

Quartiles quartiles(std::span<const double> values) {
    for (std::size_t i = 0; i < values.size(); ++i)
        CANDOR_REQUIRE(std::isfinite(values[i]),
                       "value " + std::to_string(i) + " is " + format_real(values[i]));
    std::vector<double> sorted(values.begin(), values.end());
    std::ranges::sort(sorted);
    return {quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75)};
}

}  // namespace candor::stats
