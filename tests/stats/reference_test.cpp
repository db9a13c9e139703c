// Random cases with other people's answers, written by reference.py and handed over by reference_test.py in
// the file that CANDOR_STATS_REFERENCE names; without it the suite is skipped.

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "candor/base/text.hpp"
#include "candor/stats/auroc.hpp"
#include "candor/stats/fdr.hpp"
#include "candor/stats/interval.hpp"

using namespace candor;
using namespace candor::stats;

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

/// The numbers of one line, taken from the left.
class Numbers {
  public:
    explicit Numbers(const std::vector<std::string>& fields) : fields_(fields) {}

    double real() { return parse_real(fields_.at(next_++)).value(); }
    std::int64_t integer() { return static_cast<std::int64_t>(real()); }
    template <class T = double>
    std::vector<T> list(std::int64_t n) {
        std::vector<T> values;
        for (std::int64_t i = 0; i < n; ++i) values.push_back(static_cast<T>(real()));
        return values;
    }
    bool done() const { return next_ == fields_.size(); }

  private:
    const std::vector<std::string>& fields_;
    std::size_t next_ = 1;  // the kind comes first
};

/// Checks every line of `kind` and says how many there were.
template <class Check>
void compare(const std::string& kind, Check&& check) {
    std::ifstream file(std::getenv("CANDOR_STATS_REFERENCE"));
    int cases = 0;
    for (std::string text; std::getline(file, text);) {
        const std::vector<std::string> fields = split_text(text, ',');
        if (fields[0] != kind) continue;
        Numbers numbers(fields);
        check(numbers);
        BOOST_REQUIRE(numbers.done());
        ++cases;
    }
    BOOST_TEST_MESSAGE("compared " << cases << " cases of " << kind);
}

void check_near(double value, double expected, double tolerance) {
    BOOST_CHECK_EQUAL(std::isnan(value), std::isnan(expected));
    if (!std::isnan(expected)) BOOST_CHECK_SMALL(value - expected, tolerance);
}

boost::test_tools::assertion_result reference_given(boost::unit_test::test_unit_id) {
    return std::getenv("CANDOR_STATS_REFERENCE") != nullptr;
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
        const auto weights = numbers.list<std::uint16_t>(patients * resamples);
        const double tolerance = 4 * eps * static_cast<double>(positives + negatives);

        const PairCounter counter(positive_score, positive_patient, negative_score, negative_patient);
        check_near(auroc(counter.twice_wins(), counter.pairs()), numbers.real(), tolerance);
        std::vector<std::int64_t> wins(resamples), pairs(resamples);
        counter.count({weights.data(), patients, resamples, resamples}, wins, pairs);
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

BOOST_AUTO_TEST_SUITE_END()
