#include "candor/stats/interval.hpp"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <functional>
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

/// The place of quantile `q` among `size` values in order; between two of them where it is no integer.
double place_of(double q, std::size_t size) {
    return static_cast<double>(size - 1) * q;
}

/// Sorts both ends as far as the quantiles `tail` and 1 - `tail` reach: of 1,000 values and tails of 2.5 % a
/// heap of each end is several times as fast as all of them, or as selecting one place after another.
void sort_tails(std::vector<double>& values, double tail) {
    if (values.empty()) return;
    const auto end = [&](std::size_t i) {
        return values.begin() + static_cast<std::ptrdiff_t>(std::min(i, values.size()));
    };
    const auto low = end(static_cast<std::size_t>(place_of(tail, values.size())) + 2);
    std::partial_sort(values.begin(), low, values.end());
    const auto high = std::max(low, end(static_cast<std::size_t>(place_of(1 - tail, values.size()))));
    std::partial_sort(values.rbegin(), std::make_reverse_iterator(high), std::make_reverse_iterator(low),
                      std::greater());
}

}  // namespace

double quantile(std::span<const double> sorted, double q) {
    CANDOR_REQUIRE(q >= 0 && q <= 1, "q " + format_real(q));
    if (sorted.empty()) return undefined;
    CANDOR_REQUIRE(std::isfinite(sorted.front()) && std::isfinite(sorted.back()),
                   "values from " + format_real(sorted.front()) + " to " + format_real(sorted.back()));
    const double position = place_of(q, sorted.size());
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
    sort_tails(sorted, tail);
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
