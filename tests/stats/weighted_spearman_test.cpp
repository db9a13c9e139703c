#include "candor/stats/weighted_spearman.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "candor/base/random.hpp"
#include "candor/stats/resampling.hpp"
#include "candor/stats/spearman.hpp"
#include "says.hpp"

using namespace candor;
using namespace candor::stats;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

struct Pairs {
    std::vector<double> x, y;
    std::vector<std::int32_t> patient;
};

/// `n` pairs of `patients`, values of at most `distinct` kinds.
Pairs made_pairs(std::uint64_t seed, std::size_t n, std::uint64_t patients, std::uint64_t distinct) {
    const Stream stream(seed, "weighted spearman", n);
    Pairs pairs;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t x = stream.below(3 * i, distinct), other = stream.below(3 * i + 1, distinct);
        pairs.x.push_back(static_cast<double>(x) / 7);
        pairs.y.push_back(static_cast<double>(i % 2 == 0 ? x : other));
        pairs.patient.push_back(static_cast<std::int32_t>(stream.below(3 * i + 2, patients)));
    }
    return pairs;
}

/// spearman of the pairs, each as often as `weights` of column b says.
double by_expansion(const Pairs& pairs, MatrixView<const Weight> weights, std::int64_t b) {
    std::vector<double> x, y;
    for (std::size_t i = 0; i < pairs.x.size(); ++i) {
        for (int w = 0; w < weights.row(pairs.patient[i])[b]; ++w) {
            x.push_back(pairs.x[i]);
            y.push_back(pairs.y[i]);
        }
    }
    return spearman(x, y).rho;
}

std::vector<double> correlated(const Pairs& pairs, MatrixView<const Weight> weights) {
    std::vector<double> rho(static_cast<std::size_t>(weights.cols));
    WeightedSpearman(pairs.x, pairs.y, pairs.patient).correlate(weights, rho);
    return rho;
}

bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stats_weighted_spearman)

// Equal to the bit: the whole numbers are the same and so is the last step.
BOOST_AUTO_TEST_CASE(it_is_spearman_of_the_drawn_pairs) {
    std::size_t undefined = 0, cases = 0;
    for (const std::size_t n : {0, 1, 2, 3, 5, 40, 300}) {
        for (const std::uint64_t distinct : {1, 2, 4, 1000}) {
            for (const std::uint64_t patients : {1, 3, 50}) {
                const Pairs pairs = made_pairs(distinct + patients, n, patients, distinct);
                const Resampling resampling(1, "t", static_cast<std::int64_t>(patients), 37);
                Matrix<Weight> weights(resampling.patients(), 37);
                resampling.weights(0, 37, weights.view());
                const std::vector<double> rho = correlated(pairs, weights.view());
                for (std::size_t b = 0; b < rho.size(); ++b) {
                    const double expected = by_expansion(pairs, weights.view(), static_cast<std::int64_t>(b));
                    BOOST_REQUIRE(same(rho[b], expected));
                    undefined += std::isnan(expected);
                    ++cases;
                }
            }
        }
    }
    BOOST_CHECK(undefined > 100 && cases - undefined > 1000);
}

BOOST_AUTO_TEST_CASE(drawn_once_each_it_is_the_observed_one) {
    for (const std::uint64_t distinct : {3, 100000}) {
        const Pairs pairs = made_pairs(5, 2000, 400, distinct);
        Matrix<Weight> once(400, 1);
        for (std::int64_t p = 0; p < 400; ++p) once.row(p)[0] = 1;
        BOOST_CHECK_EQUAL(correlated(pairs, once.view())[0], spearman(pairs.x, pairs.y).rho);
    }
}

BOOST_AUTO_TEST_CASE(only_the_order_matters) {
    const Pairs pairs{{-infinite, 0, 1e-300, infinite}, {1, 2, 3, 4}, {0, 1, 2, 3}};
    const Pairs tied{{infinite, infinite, -0.0, 0.0}, {2, 2, 1, 1}, {0, 1, 2, 3}};
    Matrix<Weight> weights(4, 2);
    for (std::int64_t p = 0; p < 4; ++p) {
        weights.row(p)[0] = static_cast<Weight>(p + 1);
        weights.row(p)[1] = p == 3 ? 255 : 0;  // one pair, however often
    }
    for (const Pairs& one : {pairs, tied}) {
        const std::vector<double> rho = correlated(one, weights.view());
        BOOST_CHECK_EQUAL(rho[0], 1);
        BOOST_CHECK(std::isnan(rho[1]));
    }
}

// The largest sums that are let through: 2,000,000 pairs, x against itself.
BOOST_AUTO_TEST_CASE(the_largest_sums_fit) {
    constexpr std::int64_t patients = 8000, each = 250;
    Pairs pairs;
    for (std::int32_t p = 0; p < patients; ++p) {
        pairs.x.push_back(p);
        pairs.y.push_back(-p);
        pairs.patient.push_back(p);
    }
    Matrix<Weight> weights(patients, 1);
    for (std::int64_t p = 0; p < patients; ++p) weights.row(p)[0] = each;
    BOOST_CHECK_EQUAL(correlated(pairs, weights.view())[0], -1);
    weights.row(7)[0] = each + 1;
    BOOST_CHECK_EXCEPTION(correlated(pairs, weights.view()), InternalError,
                          says("2000001 pairs in a resample"));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_correlated_is_refused) {
    const std::vector<double> two{1, 2};
    const std::vector<std::int32_t> who{0, 3};
    const auto make = [](std::vector<double> x, std::vector<double> y, std::vector<std::int32_t> patient) {
        return WeightedSpearman(x, y, patient);
    };
    BOOST_CHECK_EXCEPTION(make(two, {1}, who), InternalError, says("2 values, 1 values, 2 patients"));
    BOOST_CHECK_EXCEPTION(make(two, two, {0}), InternalError, says("2 values, 2 values, 1 patients"));
    BOOST_CHECK_EXCEPTION(make({1, std::nan("")}, two, who), InternalError, says("pair 1 has a NaN"));
    BOOST_CHECK_EXCEPTION(make(two, two, {0, -2}), InternalError, says("pair 1 has patient -2"));
    const WeightedSpearman spearman(two, two, who);
    Matrix<Weight> weights(3, 1);
    std::vector<double> rho(1), more(2);
    BOOST_CHECK_EXCEPTION(spearman.correlate(weights.view(), rho), InternalError, says("patient 3 of 3"));
    BOOST_CHECK_EXCEPTION(spearman.correlate(weights.view(), more), InternalError,
                          says("1 resamples, 2 results"));
}

BOOST_AUTO_TEST_SUITE_END()
