// Random cases with other people's answers, written by reference.py and handed over by reference_test.py in
// the file that CANDOR_INSTRUMENTS_REFERENCE names; without it the suite is skipped.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "candor/instruments/class_distances.hpp"
#include "candor/instruments/confidence.hpp"
#include "candor/instruments/detection.hpp"
#include "candor/instruments/selection.hpp"
#include "candor/instruments/training_neighbors.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/neighbors/row_set.hpp"
#include "testing/reference_cases.hpp"

using namespace candor;
using namespace candor::instruments;
using namespace candor::testing;
using stats::Weight;

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr const char* variable = "CANDOR_INSTRUMENTS_REFERENCE";

template <class Check>
void compare(const std::string& kind, Check&& check) {
    linalg::open_blas();
    compare_cases(variable, kind, check);
}

boost::test_tools::assertion_result reference_given(boost::unit_test::test_unit_id) {
    return std::getenv(variable) != nullptr;
}

template <class T>
Matrix<T> matrix_from(Numbers& numbers, std::int64_t rows, std::int64_t cols) {
    Matrix<T> out(rows, cols);
    for (std::int64_t i = 0; i < rows; ++i)
        for (T& v : out.row(i)) v = static_cast<T>(numbers.real());
    return out;
}

std::vector<ContextRow> rows_from(std::int64_t first, std::int64_t end) {
    std::vector<ContextRow> rows;
    for (std::int64_t i = first; i < end; ++i) rows.emplace_back(i);
    return rows;
}

/// Training and test rows of one cohort.
struct Cohort {
    std::int64_t training, test, d;

    explicit Cohort(Numbers& numbers)
        : training(numbers.integer()), test(numbers.integer()), d(numbers.integer()) {}
    std::int64_t rows() const { return training + test; }
    std::vector<ContextRow> tested() const { return rows_from(training, rows()); }
};

void check_estimate(const Estimate& found, Numbers& numbers, double tolerance) {
    check_near(found.value, numbers.real(), tolerance);
    check_near(found.low, numbers.real(), tolerance);
    check_near(found.high, numbers.real(), tolerance);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_reference, *boost::unit_test::precondition(reference_given))

// A few roundings of numbers of the logit's size; the deviation of numbers up to 1, which numpy rounds.
BOOST_AUTO_TEST_CASE(confidence_is_that_of_scipy) {
    compare("confidence", [](Numbers& numbers) {
        const std::vector<double> logits = numbers.list(numbers.integer());
        for (const double z : logits) {
            const double tolerance = 8 * eps * (1 + std::abs(z));
            check_near(msp_score(z), numbers.real(), tolerance);
            check_near(energy_score(z), numbers.real(), tolerance);
        }
        check_near(ensemble_score(logits), numbers.real(), 16 * eps);
    });
}

// No ties in these cases: impurity is one rounding of numpy's mean away; a cosine is d products of unit rows.
BOOST_AUTO_TEST_CASE(neighbors_are_those_of_scikit_learn) {
    compare("neighbors", [](Numbers& numbers) {
        const Cohort cohort(numbers);
        const auto k = static_cast<int>(numbers.integer());
        const neighbors::RowSet rows(matrix_from<double>(numbers, cohort.rows(), cohort.d));
        const TrainingRows finding{rows_from(0, cohort.training), numbers.list<std::int8_t>(cohort.training),
                                   cohort.tested()};
        const NeighborScores found = training_neighbors(rows, std::span(&finding, 1), k, {}).front();
        for (std::size_t i = 0; i < finding.test.size(); ++i) {
            check_near(found.impurity[i], numbers.real(), 4 * eps);
            check_near(found.distance[i], numbers.real(), 4 * static_cast<double>(cohort.d + 4) * eps);
        }
    });
}

// Factor and inverse of S, and its scatter, are those of a matrix a few d eps |S| away, which moves a
// distance by that times the condition (Higham 2002, sections 10.1 and 14.3). A unit row less a mean is wrong
// by a few eps, which is a distance of eps over the root of the least eigenvalue.
BOOST_AUTO_TEST_CASE(mahalanobis_is_that_of_scikit_learn_and_scipy) {
    compare("mahalanobis", [](Numbers& numbers) {
        const Cohort cohort(numbers);
        const neighbors::RowSet rows(matrix_from<double>(numbers, cohort.rows(), cohort.d));
        const auto label = numbers.list<std::int8_t>(cohort.training);
        const auto d = static_cast<double>(cohort.d), condition = numbers.real();
        const double least = numbers.real();
        // One finding by itself; of so many alike, on the axes that they share.
        const std::vector<std::int8_t> asks(cohort.tested().size(), 0);
        const std::vector<FindingLabels> alike(100, FindingLabels{label, asks});
        if (cohort.d > 4)  // fewer numbers are turned for more than they are solved for
            BOOST_TEST((plan_distances(alike, cohort.d).ways.front() == DistancePlan::Way::the_axes));
        BOOST_TEST(
            (plan_distances(std::span(alike).first(1), cohort.d).ways.front() == DistancePlan::Way::own));
        const auto distances = [&](std::size_t findings) {
            return class_distances(rows, rows_from(0, cohort.training), cohort.tested(),
                                   std::span(alike).first(findings), 2, [] { return false; })
                .value();
        };
        const Matrix<double> own = distances(1), on_axes = distances(alike.size());
        for (std::size_t i = 0; i < asks.size(); ++i) {
            const double expected = numbers.real(),
                         off = 8 * d * condition * eps * expected + 8 * eps / std::sqrt(least);
            check_near(own.row(0)[i], expected, off);
            for (const std::int64_t f : {0, 99}) check_near(on_axes.row(f)[i], expected, off);
        }
    });
}

// Counts are exact; what is left are the roundings of two quotients and of an interpolation.
BOOST_AUTO_TEST_CASE(detection_is_that_of_the_definition) {
    compare("detection", [](Numbers& numbers) {
        const std::int64_t contexts = numbers.integer(), n = numbers.integer();
        const std::int64_t patients = numbers.integer(), resamples = numbers.integer();
        const auto context = numbers.list<std::int64_t>(n);
        const auto errs = numbers.list<std::int8_t>(n);
        const auto patient = numbers.list<std::int32_t>(n);
        const Matrix<double> scores = matrix_from<double>(numbers, detection_scores, n);
        const Matrix<Weight> weights = matrix_from<Weight>(numbers, patients, resamples);
        DetectionTally tally;
        for (std::int64_t c = 0; c < contexts; ++c) {
            std::vector<std::size_t> here;
            for (std::size_t i = 0; i < context.size(); ++i)
                if (context[i] == c) here.push_back(i);
            Matrix<double> part(detection_scores, std::ssize(here));
            std::vector<std::int8_t> part_errs;
            std::vector<std::int32_t> part_patient;
            for (std::size_t i = 0; i < here.size(); ++i) {
                for (std::int64_t s = 0; s < part.rows(); ++s) part.row(s)[i] = scores.row(s)[here[i]];
                part_errs.push_back(errs[here[i]]);
                part_patient.push_back(patient[here[i]]);
            }
            const DetectionCounter counter(part.view(), part_errs, part_patient);
            DetectionTally one = counter.observed();
            one.resampled.resize(static_cast<std::size_t>(resamples));
            counter.count(weights.view(), one.resampled);
            tally += one;
        }
        const DetectionSummary summary = summarise(tally, patients, 0.95);
        BOOST_CHECK_EQUAL(summary.rows, n);
        BOOST_CHECK_EQUAL(summary.errors, std::accumulate(errs.begin(), errs.end(), std::int64_t{0}));
        for (std::size_t s = 0; s < detection_scores; ++s) {
            check_estimate(summary.auroc[s], numbers, 8 * eps);
            check_estimate(summary.gap[s].estimate, numbers, 8 * eps);
            check_near(summary.gap[s].p, numbers.real(), 4 * eps);
        }
        for (std::size_t s = 0; s < detection_scores; ++s) {
            const double expected = numbers.real();
            std::vector<double> resampled(static_cast<std::size_t>(resamples));
            if (summary.auroc[s].valid == 0 && tally.undefined[s]) {
                BOOST_CHECK(std::isnan(expected));
                for (std::int64_t b = 0; b < resamples; ++b) BOOST_CHECK(std::isnan(numbers.real()));
                continue;
            }
            const stats::RiskCoverage curve(scores.row(static_cast<std::int64_t>(s)), errs, patient);
            check_near(curve.observed(), expected, 16 * static_cast<double>(n) * eps);
            curve.count(weights.view(), resampled);
            for (const double value : resampled)
                check_near(value, numbers.real(), 16 * static_cast<double>(n) * eps);
        }
    });
}

BOOST_AUTO_TEST_CASE(selection_is_that_of_the_definition) {
    compare("selection", [](Numbers& numbers) {
        const std::int64_t findings = numbers.integer(), encoders = numbers.integer();
        const std::int64_t patients = numbers.integer(), resamples = numbers.integer();
        const Matrix<Weight> weights = matrix_from<Weight>(numbers, patients, resamples);
        std::vector<SelectionTally> tallies;
        for (std::int64_t f = 0; f < findings; ++f) {
            const std::int64_t n = numbers.integer();
            const Matrix<double> logit = matrix_from<double>(numbers, encoders, n);
            const auto threshold = numbers.list(encoders);
            const auto label = numbers.list<std::int8_t>(n);
            const auto patient = numbers.list<std::int32_t>(n);
            const Matrix<double> probability = matrix_from<double>(numbers, encoders, n);
            const auto at_threshold = numbers.list(encoders);
            const double mean_threshold = numbers.real();
            const auto d = numbers.list(encoders);
            const Matrix<double> impurity = matrix_from<double>(numbers, encoders, n);
            const SelectionCounter counter({logit.view(), threshold, label, patient, probability.view(),
                                            at_threshold, mean_threshold, d, impurity.view()});
            tallies.push_back(counter.observed());
            tallies.back().resampled.assign(static_cast<std::size_t>(resamples), SelectionCounts(encoders));
            counter.count(weights.view(), tallies.back().resampled);
        }
        for (const Pooling pooling : {Pooling::micro, Pooling::macro}) {
            for (std::int64_t b = -1; b < resamples; ++b) {
                std::vector<const SelectionCounts*> counts;
                for (const SelectionTally& tally : tallies)
                    counts.push_back(b < 0 ? &tally.observed : &tally.resampled[static_cast<std::size_t>(b)]);
                const SelectionRates rates = selection_rates(counts, pooling);
                // Sums of up to 90 rows, each rounded; the gap closed is a quotient of differences, the lower
                // one of which is at least 1 / (2 x 90 x 5).
                const double tolerance = 128 * eps;
                for (const double rate : rates.miss) check_near(rate, numbers.real(), tolerance);
                for (const double rate : rates.false_alarm) check_near(rate, numbers.real(), tolerance);
                for (const double rate : rates.balanced) check_near(rate, numbers.real(), tolerance);
                for (const double share : rates.gap_closed)
                    check_near(share, numbers.real(), 1000 * tolerance);
            }
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()
