#include "candor/stats/hypergeometric.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "candor/base/error.hpp"

namespace candor::stats {

namespace {

/// Probabilities are made in it: it holds a product of two counts exactly, and a tail of 10^5 terms keeps 14
/// digits and more.
using Real = long double;
static_assert(std::numeric_limits<Real>::digits >= 64 && std::numeric_limits<Real>::min_exponent < -16000);

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr double impossible = -std::numeric_limits<double>::infinity();

void require(const Hypergeometric& h) {
    CANDOR_REQUIRE(h.population >= 0 && h.population <= 3'000'000'000 && h.first >= 0 &&
                       h.first <= h.population && h.second >= 0 && h.second <= h.population,
                   "sets of " + std::to_string(h.first) + " and " + std::to_string(h.second) + " among " +
                       std::to_string(h.population));
}

void require_overlap(std::int64_t overlap) {
    CANDOR_REQUIRE(overlap >= 0, "overlap " + std::to_string(overlap));
}

/// Members of neither set, were the sets disjoint.
std::int64_t spare(const Hypergeometric& h) {
    return h.population - h.first - h.second;
}

std::int64_t lowest(const Hypergeometric& h) {
    return std::max<std::int64_t>(0, -spare(h));
}

std::int64_t highest(const Hypergeometric& h) {
    return std::min(h.first, h.second);
}

Real mean(const Hypergeometric& h) {
    return h.population == 0 ? 0 : Real(h.first) * Real(h.second) / Real(h.population);
}

/// P(X = k + 1) / P(X = k); 0 at the end.
Real step_up(const Hypergeometric& h, std::int64_t k) {
    return Real(h.first - k) * Real(h.second - k) / (Real(k + 1) * Real(spare(h) + k + 1));
}

/// P(X = k - 1) / P(X = k); 0 at the end.
Real step_down(const Hypergeometric& h, std::int64_t k) {
    return Real(k) * Real(spare(h) + k) / (Real(h.first - k + 1) * Real(h.second - k + 1));
}

/// ln n! - n ln n + n, by the factorial itself where 64 bits hold it and by Stirling's series above (the term
/// left out, the seventh, is below 1e-19).
Real stirling(std::int64_t n) {
    if (n == 0) return 0;
    const Real x = static_cast<Real>(n);
    if (n <= 20) {
        Real factorial = 1;
        for (std::int64_t i = 2; i <= n; ++i) factorial *= static_cast<Real>(i);
        return std::log(factorial) - x * std::log(x) + x;
    }
    constexpr Real two_pi = 6.28318530717958647692528676655900577L;
    const Real y = 1 / (x * x);
    const Real series =
        (1 / 12.0L -
         y * (1 / 360.0L - y * (1 / 1260.0L - y * (1 / 1680.0L - y * (1 / 1188.0L - y * 691 / 360360.0L))))) /
        x;
    return std::log(two_pi * x) / 2 + series;
}

/// cell ln(cell / expected) - distance, never negative, with cell = expected + distance. The logarithm is of
/// 1 + distance / expected because the distance is known to the last bit: the error is 2^-62 times the
/// distance however large the cells are.
Real deviance(std::int64_t cell, Real expected, Real distance) {
    return cell == 0 ? expected : Real(cell) * std::log1p(distance / expected) - distance;
}

/// ln P(X = k) for lowest <= k <= highest. With n! = n^n e^-n e^stirling(n), the powers make the deviances of
/// the 2 x 2 table, whose four cells are equally far from their expectations; nothing large cancels.
Real log_probability(const Hypergeometric& h, std::int64_t k) {
    if (h.population == 0) return 0;
    const Real n = static_cast<Real>(h.population);
    const std::int64_t a = h.first, b = h.second, not_a = h.population - a, not_b = h.population - b;
    const Real distance = static_cast<Real>(k * h.population - a * b) / n;
    const auto cell = [&](std::int64_t count, std::int64_t row, std::int64_t column, Real sign) {
        return stirling(count) + deviance(count, Real(row) * Real(column) / n, sign * distance);
    };
    const Real cells = cell(k, a, b, 1) + cell(a - k, a, not_b, -1) + cell(b - k, not_a, b, -1) +
                       cell(spare(h) + k, not_a, not_b, 1);
    return stirling(a) + stirling(not_a) + stirling(b) + stirling(not_b) - stirling(h.population) - cells;
}

/// Sum over j = 0, 1, ... of P(X = k +- j) / P(X = k), `step` giving the ratio of a term to the one before,
/// for terms that fall. The ratios fall too: what is left out is below 2^-64 of the sum.
template <class Step>
Real falling_sum(Step&& step) {
    Real sum = 1, term = 1;
    for (std::int64_t j = 0;; ++j) {
        const Real ratio = step(j);
        term *= ratio;
        sum += term;
        if (term <= 0x1p-64L * (1 - ratio) * sum) return sum;
    }
}

/// log10 of p, or of 1 - p, from a natural logarithm; never a negative zero.
double log10_of(Real log_p) {
    return static_cast<double>(log_p / std::log(10.0L)) + 0.0;
}

double log10_of_complement(Real log_p) {
    return log10_of(std::log1p(-std::exp(log_p)));
}

/// The probabilities of first, first + 1, ..., summing to 1.
struct Probabilities {
    std::int64_t first;
    std::vector<double> p;
};

/// One context tilted: `of` has P(X = k) e^(theta k), divided by its sum, where that exceeds 2^-80.
struct Tilted {
    Probabilities of;
    std::int64_t centre;
    Real log_sum;  ///< ln sum_k P(X = k) e^(theta (k - centre))
};

/// Where the tilted probabilities, weight = e^theta, are largest, to within 1: the positive root of
/// x (N - a - b + x) = weight (a - x) (b - x).
std::int64_t peak(const Hypergeometric& h, Real weight) {
    const Real product = weight * Real(h.first) * Real(h.second);
    if (product == 0) return lowest(h);
    const Real linear = Real(spare(h)) + weight * Real(h.first + h.second);
    const Real root = std::sqrt(std::max<Real>(0, linear * linear + 4 * (1 - weight) * product));
    const Real x = linear >= 0 ? 2 * product / (linear + root) : (root - linear) / (2 * (1 - weight));
    return std::clamp(static_cast<std::int64_t>(x), lowest(h), highest(h));
}

Tilted tilt(const Hypergeometric& h, Real theta) {
    const Real weight = std::exp(theta);
    const std::int64_t centre = peak(h, weight);
    std::vector<Real> below, above;
    Real sum = 1;
    // Away from the peak, until what is left out is below 2^-80 of the sum.
    const auto walk = [&](std::vector<Real>& terms, auto&& step) {
        Real term = 1;
        for (std::int64_t j = 0;; ++j) {
            const Real ratio = step(j);
            term *= ratio;
            if (term == 0 || (ratio < 1 && term <= 0x1p-80L * (1 - ratio) * sum)) return;
            terms.push_back(term);
            sum += term;
        }
    };
    walk(above, [&](std::int64_t j) { return step_up(h, centre + j) * weight; });
    walk(below, [&](std::int64_t j) { return step_down(h, centre - j) / weight; });

    Tilted tilted{{centre - static_cast<std::int64_t>(below.size()), {}},
                  centre,
                  log_probability(h, centre) + std::log(sum)};
    std::vector<double>& p = tilted.of.p;
    p.reserve(below.size() + 1 + above.size());
    std::transform(below.rbegin(), below.rend(), std::back_inserter(p),
                   [&](Real term) { return static_cast<double>(term / sum); });
    p.push_back(static_cast<double>(1 / sum));
    std::ranges::transform(above, std::back_inserter(p),
                           [&](Real term) { return static_cast<double>(term / sum); });
    return tilted;
}

std::vector<Tilted> tilt(std::span<const Hypergeometric> contexts, Real theta) {
    std::vector<Tilted> tilted;
    tilted.reserve(contexts.size());
    for (const Hypergeometric& h : contexts) tilted.push_back(tilt(h, theta));
    return tilted;
}

struct Moments {
    double mean, variance;
};

Moments moments(std::span<const Tilted> tilted) {
    Moments sum{0, 0};
    for (const Tilted& context : tilted) {
        double first = 0, second = 0;  // about the centre, a standard deviation or so away
        for (std::size_t i = 0; i < context.of.p.size(); ++i) {
            const double x = static_cast<double>(context.of.first + std::int64_t(i) - context.centre);
            first += x * context.of.p[i];
            second += x * x * context.of.p[i];
        }
        sum.mean += static_cast<double>(context.centre) + first;
        sum.variance += std::max(0.0, second - first * first);
    }
    return sum;
}

/// The distribution of the sum. All terms are positive: each value keeps its own relative accuracy.
Probabilities convolve(std::span<const Tilted> tilted) {
    Probabilities sum{0, {1.0}};
    for (const Tilted& context : tilted) {
        const std::vector<double>& p = context.of.p;
        std::vector<double> next(sum.p.size() + p.size() - 1, 0.0);
        // The inner loop is the longer one.
        const std::vector<double>&outer = p.size() < sum.p.size() ? p : sum.p,
              &inner = p.size() < sum.p.size() ? sum.p : p;
        for (std::size_t i = 0; i < outer.size(); ++i)
            for (std::size_t j = 0; j < inner.size(); ++j) next[i + j] += outer[i] * inner[j];
        const auto counts = [](double q) { return q > 0x1p-80; };
        const auto begin = std::ranges::find_if(next, counts);
        const auto end = std::find_if(next.rbegin(), next.rend(), counts).base();
        sum.first += context.of.first + (begin - next.begin());
        sum.p.assign(begin, end);
    }
    return sum;
}

/// ln P(X >= overlap) for the sum over contexts, mean <= overlap <= highest. The contexts are tilted until
/// the overlap is where their sum usually falls, so that no probability of interest underflows or is left
/// out:
///
///     P(X >= o) = prod_s M_s e^(-theta o) sum_{k >= o} T(k) e^(-theta (k - o)),
///
/// M_s = sum_k P_s(k) e^(theta k), T the distribution of the tilted sum.
Real log_upper_tail(std::span<const Hypergeometric> contexts, std::int64_t overlap) {
    std::int64_t largest = 0;
    Real log_largest = 0;
    for (const Hypergeometric& h : contexts) {
        largest += highest(h);
        log_largest += log_probability(h, highest(h));
    }
    if (overlap == largest) return log_largest;  // by a tilt without end

    // Newton's method for the tilt, bisecting where it leaves the bracket. Weights of e^64 put everything
    // that 3e9 members allow at the upper end.
    double theta = 0, low = 0, high = 64;
    std::vector<Tilted> tilted = tilt(contexts, theta);
    for (;;) {
        const auto [mean, variance] = moments(tilted);
        const double missing = static_cast<double>(overlap) - mean;
        if (std::abs(missing) <= 0.5 + std::sqrt(variance)) break;
        (missing > 0 ? low : high) = theta;
        theta += missing / variance;
        if (!(theta > low && theta < high)) theta = (low + high) / 2;
        tilted = tilt(contexts, theta);
    }

    Real log_scale = 0;
    std::int64_t centre = 0;
    for (const Tilted& context : tilted) {
        log_scale += context.log_sum;
        centre += context.centre;
    }
    const Probabilities sum = convolve(tilted);
    double tail = 0;
    for (std::size_t i = 0; i < sum.p.size(); ++i) {
        const std::int64_t beyond = sum.first + static_cast<std::int64_t>(i) - overlap;
        if (beyond >= 0) tail += sum.p[i] * std::exp(-theta * static_cast<double>(beyond));
    }
    return log_scale + Real(theta) * Real(centre - overlap) + std::log(Real(tail));
}

}  // namespace

double log10_upper_tail(const Hypergeometric& null, std::int64_t overlap) {
    require(null);
    require_overlap(overlap);
    if (overlap <= lowest(null)) return 0;
    if (overlap > highest(null)) return impossible;
    // Either tail is summed from its largest term, down from the mode.
    const std::int64_t mode = (null.first + 1) * (null.second + 1) / (null.population + 2);
    if (overlap > mode) {
        const Real terms = falling_sum([&](std::int64_t j) { return step_up(null, overlap + j); });
        return log10_of(log_probability(null, overlap) + std::log(terms));
    }
    const std::int64_t below = overlap - 1;
    const Real terms = falling_sum([&](std::int64_t j) { return step_down(null, below - j); });
    return log10_of_complement(log_probability(null, below) + std::log(terms));
}

double log10_upper_tail(std::span<const Hypergeometric> contexts, std::int64_t overlap) {
    require_overlap(overlap);
    std::int64_t first = 0, least = 0, most = 0;
    Real expected = 0;
    for (const Hypergeometric& h : contexts) {
        require(h);
        first += h.first;
        least += lowest(h);
        most += highest(h);
        expected += mean(h);
    }
    if (overlap <= least) return 0;
    if (overlap > most) return impossible;
    if (static_cast<Real>(overlap) > expected) {
        const Real log_p = log_upper_tail(contexts, overlap);
        if (log_p < -std::log(2.0L)) return log10_of(log_p);
        // A p near 1 keeps its digits in its complement. Being a sum of independent indicators, X has its
        // median below its mean + 1: overlap - 1 is below the mean.
    }
    // The members of the first set that are not in the second are hypergeometric too, with the complement of
    // the second: the lower tail is an upper tail of theirs.
    std::vector<Hypergeometric> others(contexts.begin(), contexts.end());
    for (Hypergeometric& h : others) h.second = h.population - h.second;
    return log10_of_complement(log_upper_tail(others, first - overlap + 1));
}

double mean_jaccard(const Hypergeometric& null) {
    return mean_jaccard(std::span(&null, 1));
}

double mean_jaccard(std::span<const Hypergeometric> contexts) {
    std::int64_t sizes = 0;
    for (const Hypergeometric& h : contexts) {
        require(h);
        sizes += h.first + h.second;
    }
    if (sizes == 0) return undefined;
    const Probabilities sum = convolve(tilt(contexts, 0));
    double mean = 0;
    for (std::size_t i = 0; i < sum.p.size(); ++i) {
        const std::int64_t overlap = sum.first + static_cast<std::int64_t>(i);
        mean += sum.p[i] * static_cast<double>(overlap) / static_cast<double>(sizes - overlap);
    }
    return mean;
}

}  // namespace candor::stats
