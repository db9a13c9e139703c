// Random cases with other people's answers, written by reference.py and handed over by reference_test.py in
// the file that CANDOR_STATS_REFERENCE names; without it the suite is skipped.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "candor/stats/auroc.hpp"
#include "candor/stats/fdr.hpp"
#include "candor/stats/hypergeometric.hpp"
#include "candor/stats/interval.hpp"
#include "candor/stats/least_squares.hpp"
#include "candor/stats/platt.hpp"
#include "candor/stats/risk_coverage.hpp"
#include "candor/stats/spearman.hpp"
#include "candor/stats/weighted_spearman.hpp"
#include "testing/reference_cases.hpp"

using namespace candor;
using namespace candor::stats;
using namespace candor::testing;

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr const char* variable = "CANDOR_STATS_REFERENCE";

/// A block of weights from its rows one after the other.
Matrix<Weight> block_of(const std::vector<Weight>& rows, std::int64_t patients) {
    Matrix<Weight> weights(patients, std::ssize(rows) / patients);
    for (std::int64_t p = 0; p < patients; ++p)
        std::ranges::copy_n(rows.begin() + p * weights.cols(), weights.cols(), weights.row(p).begin());
    return weights;
}

/// Checks every line of `kind`.
template <class Check>
void compare(const std::string& kind, Check&& check) {
    compare_cases(variable, kind, check);
}

boost::test_tools::assertion_result reference_given(boost::unit_test::test_unit_id) {
    return std::getenv(variable) != nullptr;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stats_reference, *boost::unit_test::precondition(reference_given))

// statsmodels divides p by j/m where candor multiplies by m/j: two roundings each.
BOOST_AUTO_TEST_CASE(benjamini_hochberg_is_that_of_statsmodels) {
    compare("bh", [](Numbers& numbers) {
        const std::int64_t m = numbers.integer();
        const std::vector<double> p = numbers.list(m), expected = numbers.list(m), q = benjamini_hochberg(p);
        for (std::int64_t i = 0; i < m; ++i) check_near(q[i], expected[i], 4 * eps * expected[i]);
    });
}

// The counts are integers and must be equal; scikit-learn sums one trapezoid a row, each term rounded.
BOOST_AUTO_TEST_CASE(auroc_is_that_of_numpy_and_scikit_learn) {
    compare("auroc", [](Numbers& numbers) {
        const std::int64_t positives = numbers.integer(), negatives = numbers.integer();
        const std::int64_t patients = numbers.integer(), resamples = numbers.integer();
        const auto positive_score = numbers.list(positives);
        const auto positive_patient = numbers.list<std::int32_t>(positives);
        const auto negative_score = numbers.list(negatives);
        const auto negative_patient = numbers.list<std::int32_t>(negatives);
        const auto weights = block_of(numbers.list<Weight>(patients * resamples), patients);
        const double tolerance = 4 * eps * static_cast<double>(positives + negatives);

        const PairCounter counter(positive_score, positive_patient, negative_score, negative_patient);
        check_near(auroc(counter.twice_wins(), counter.pairs()), numbers.real(), tolerance);
        std::vector<std::int64_t> wins(resamples), pairs(resamples);
        counter.count(weights.view(), wins, pairs);
        for (std::int64_t b = 0; b < resamples; ++b) {
            BOOST_CHECK_EQUAL(wins[b], numbers.integer());
            BOOST_CHECK_EQUAL(pairs[b], numbers.integer());
            check_near(auroc(wins[b], pairs[b]), numbers.real(), tolerance);
        }
    });
}

// Both interpolate between the same two values at the same position: three roundings each.
BOOST_AUTO_TEST_CASE(quantiles_are_those_of_numpy) {
    compare("quantile", [](Numbers& numbers) {
        const std::int64_t n = numbers.integer();
        const double confidence = numbers.real();
        const std::vector<double> values = numbers.list(n);
        const Interval interval = percentile_interval(values, confidence);
        const Quartiles middle = quartiles(values);
        BOOST_CHECK_EQUAL(interval.valid, n);
        for (const double value : {interval.low, interval.high, middle.lower, middle.median, middle.upper}) {
            const double expected = numbers.real();
            check_near(value, expected, 6 * eps * std::max(1.0, std::abs(expected)));
        }
    });
}

// scipy, behind statsmodels, inverts the incomplete beta function by Boost too (interval_test.cpp has the
// independent check): a hundred eps of the bound or its complement, and one rounding of a bound near 1.
BOOST_AUTO_TEST_CASE(clopper_pearson_is_that_of_statsmodels) {
    compare("binomial", [](Numbers& numbers) {
        const std::int64_t k = numbers.integer(), n = numbers.integer();
        const double confidence = numbers.real();
        const Bounds bounds = clopper_pearson(k, n, confidence);
        for (const double value : {bounds.low, bounds.high}) {
            const double expected = numbers.real();
            check_near(value, expected, 100 * eps * std::min(expected, 1 - expected) + eps);
        }
    });
}

// scipy's terms are differences of log-gammas as large as N ln N, an eps or two each.
BOOST_AUTO_TEST_CASE(hypergeometric_tails_are_those_of_scipy) {
    compare("hypergeometric", [](Numbers& numbers) {
        const std::int64_t population = numbers.integer(), first = numbers.integer();
        const std::int64_t second = numbers.integer(), overlap = numbers.integer();
        const double n = static_cast<double>(population) + 2;
        check_near(log10_upper_tail({population, first, second}, overlap), numbers.real(),
                   16 * eps * n * std::log(n));
    });
}

// The answers are exact but for a few roundings; candor's sums have at most 120 terms a context, and six
// contexts.
BOOST_AUTO_TEST_CASE(overlaps_are_those_of_integers) {
    compare("overlap", [](Numbers& numbers) {
        std::vector<Hypergeometric> contexts(numbers.integer());
        for (Hypergeometric& h : contexts) {
            h.population = numbers.integer();
            h.first = numbers.integer();
            h.second = numbers.integer();
        }
        const std::int64_t overlap = numbers.integer();
        const double tail = numbers.real(), jaccard = numbers.real();
        const double tolerance = 720 * eps;
        check_near(log10_upper_tail(contexts, overlap), tail, tolerance * std::abs(tail));
        check_near(mean_jaccard(contexts), jaccard, tolerance * jaccard);
        if (contexts.size() == 1) {
            check_near(log10_upper_tail(contexts[0], overlap), tail, tolerance * std::abs(tail));
            check_near(mean_jaccard(contexts[0]), jaccard, tolerance * jaccard);
        }
    });
}

// scipy's rho is off by some eps, which its 1 - rho^2, and so p, has relative to 1 - rho^2 and to the power
// of half the degrees of freedom.
BOOST_AUTO_TEST_CASE(spearman_is_that_of_scipy) {
    compare("spearman", [](Numbers& numbers) {
        const std::int64_t n = numbers.integer();
        const std::vector<double> x = numbers.list(n), y = numbers.list(n);
        const double rho = numbers.real(), p = numbers.real();
        const Spearman s = spearman(x, y);
        BOOST_CHECK_EQUAL(s.n, n);
        check_near(s.rho, rho, 8 * eps);
        if (std::abs(s.rho) == 1)
            check_near(s.p, p, 1e-7);  // scipy has the root of an eps here
        else
            check_near(s.p, p, (100 + 8 * static_cast<double>(n) / (1 - rho * rho)) * eps * p);
    });
}

// The tolerance of the case above.
BOOST_AUTO_TEST_CASE(resampled_spearman_is_that_of_scipy) {
    compare("weighted", [](Numbers& numbers) {
        const std::int64_t n = numbers.integer(), patients = numbers.integer();
        const std::int64_t resamples = numbers.integer();
        const std::vector<double> x = numbers.list(n), y = numbers.list(n);
        const auto patient = numbers.list<std::int32_t>(n);
        const auto weights = block_of(numbers.list<Weight>(patients * resamples), patients);
        std::vector<double> rho(static_cast<std::size_t>(resamples));
        WeightedSpearman(x, y, patient).correlate(weights.view(), rho);
        for (const double value : rho) check_near(value, numbers.real(), 8 * eps);
    });
}

BOOST_AUTO_TEST_CASE(all_orders_are_those_of_itertools) {
    compare("permutation", [](Numbers& numbers) {
        const std::int64_t n = numbers.integer();
        const std::vector<double> x = numbers.list(n), y = numbers.list(n);
        check_near(spearman(x, y).exact_p, numbers.real(), eps);
    });
}

// scipy takes the residuals from 1 - r^2, with the consequence above; values are of the order of 1.
BOOST_AUTO_TEST_CASE(least_squares_is_that_of_scipy) {
    compare("straight", [](Numbers& numbers) {
        const std::int64_t n = numbers.integer();
        const std::vector<double> x = numbers.list(n), y = numbers.list(n);
        const double slope = numbers.real(), intercept = numbers.real();
        const double error = numbers.real(), p = numbers.real();
        const LeastSquares line = least_squares(x, y);
        BOOST_CHECK_EQUAL(line.n, n);
        const double t = slope / error, lost = 1 + t * t / static_cast<double>(n - 2);  // 1 / (1 - r^2)
        const double tolerance = 16 * static_cast<double>(n) * eps;
        check_near(line.slope, slope, tolerance * (1 + std::abs(slope)));
        check_near(line.intercept, intercept, tolerance * (1 + std::abs(intercept) + std::abs(slope)));
        if (error == 0) {
            BOOST_CHECK_SMALL(line.standard_error, 1e-7);  // the root of an eps
            return;
        }
        check_near(line.standard_error, error, tolerance * lost * error);
        check_near(line.p, p, tolerance * lost * static_cast<double>(n) * p);
    });
}

// Terms are at most 1, and as many as rows drawn; each is rounded a few times.
BOOST_AUTO_TEST_CASE(aurc_is_that_of_the_definition_in_fractions) {
    compare("aurc", [](Numbers& numbers) {
        const std::int64_t rows = numbers.integer(), patients = numbers.integer();
        const std::int64_t resamples = numbers.integer();
        const auto score = numbers.list(rows);
        const auto wrong = numbers.list<std::int8_t>(rows);
        const auto patient = numbers.list<std::int32_t>(rows);
        const Matrix<Weight> weights = block_of(numbers.list<Weight>(patients * resamples), patients);
        const RiskCoverage curve(score, wrong, patient);
        const double tolerance = 16 * static_cast<double>(rows) * eps;
        check_near(curve.observed(), numbers.real(), tolerance);
        std::vector<double> found(static_cast<std::size_t>(resamples));
        curve.count(weights.view(), found);
        for (const double value : found) check_near(value, numbers.real(), tolerance);
    });
}

// scikit-learn's search ends where the gradient is small: as far from the minimum as one of Newton's steps
// from there, and that step's own error is of a smaller order. After more steps the minimum is known to the
// rounding of the gradient, n terms of about 1, over the least curvature: 400 eps / 0.1 is below 1e-12.
BOOST_AUTO_TEST_CASE(platt_is_that_of_scikit_learn) {
    compare("platt", [](Numbers& numbers) {
        const std::int64_t n = numbers.integer();
        const auto score = numbers.list(n);
        const auto label = numbers.list<std::int8_t>(n);
        const double slope = numbers.real(), intercept = numbers.real(), stopped = numbers.real();
        const PlattScaling curve = fit_platt(score, label).value();
        BOOST_CHECK_SMALL(curve.slope - slope, 1.5 * stopped + 1e-12);
        BOOST_CHECK_SMALL(curve.intercept - intercept, 1.5 * stopped + 1e-12);
        check_near(curve.slope, numbers.real(), 1e-12);
        check_near(curve.intercept, numbers.real(), 1e-12);
    });
}

BOOST_AUTO_TEST_SUITE_END()
