#include "candor/stats/risk_coverage.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "candor/base/random.hpp"
#include "says.hpp"

using namespace candor;
using namespace candor::stats;

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

struct Rows {
    std::vector<double> score;
    std::vector<std::int8_t> wrong;
    std::vector<std::int32_t> patient;
};

RiskCoverage curve(const Rows& rows) {
    return {rows.score, rows.wrong, rows.patient};
}

/// The definition: the mean over all orders that the scores allow of the mean risk over the coverages.
double by_all_orders(const Rows& rows) {
    std::vector<std::size_t> order(rows.score.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    double sum = 0, orders = 0;
    do {
        const auto score = [&](std::size_t i) { return rows.score[i]; };
        if (!std::ranges::is_sorted(order, {}, score)) continue;
        double errors = 0;
        for (std::size_t i = 0; i < order.size(); ++i) {
            errors += rows.wrong[order[i]];
            sum += errors / static_cast<double>(i + 1) / static_cast<double>(order.size());
        }
        ++orders;
    } while (std::ranges::next_permutation(order).found);
    return sum / orders;
}

Rows without_patients(std::vector<double> score, std::vector<std::int8_t> wrong) {
    Rows rows{std::move(score), std::move(wrong), {}};
    rows.patient.assign(rows.score.size(), 0);
    return rows;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stats_risk_coverage)

BOOST_AUTO_TEST_CASE(curves_known_beforehand) {
    // Risks 0, 0, 1/3, 2/4; and the worst order 1, 1, 2/3, 2/4.
    BOOST_CHECK_CLOSE(curve(without_patients({1, 2, 3, 4}, {0, 0, 1, 1})).observed(), 5.0 / 24, 1e-12);
    BOOST_CHECK_CLOSE(curve(without_patients({4, 3, 2, 1}, {0, 0, 1, 1})).observed(), 19.0 / 24, 1e-12);
    BOOST_CHECK_EQUAL(curve(without_patients({1, 2, 3}, {0, 0, 0})).observed(), 0);
    BOOST_CHECK_EQUAL(curve(without_patients({1, 2, 3}, {1, 1, 1})).observed(), 1);
    BOOST_CHECK(std::isnan(curve({}).observed()));
    BOOST_CHECK_EQUAL(curve(without_patients({HUGE_VAL}, {1})).observed(), 1);
}

// A constant score covers errors at their own rate, to the bit.
BOOST_AUTO_TEST_CASE(a_constant_score_has_the_error_rate) {
    for (std::size_t n = 1; n < 200; ++n) {
        std::vector<std::int8_t> wrong(n);
        for (std::size_t i = 0; i < n; i += 3) wrong[i] = 1;
        const double errors = std::accumulate(wrong.begin(), wrong.end(), 0.0);
        BOOST_REQUIRE_EQUAL(curve(without_patients(std::vector<double>(n, 0.3), wrong)).observed(),
                            errors / static_cast<double>(n));
    }
}

BOOST_AUTO_TEST_CASE(ties_are_the_mean_of_all_orders) {
    const Stream stream(11, "orders", 0);
    for (std::uint64_t c = 0; c < 60; ++c) {
        const std::uint64_t n = 1 + c % 7, values = 1 + stream.below(100 * c, 4);
        Rows rows;
        for (std::uint64_t i = 0; i < n; ++i) {
            rows.score.push_back(static_cast<double>(stream.below(100 * c + 2 * i + 1, values)));
            rows.wrong.push_back(static_cast<std::int8_t>(stream.below(100 * c + 2 * i + 2, 2)));
            rows.patient.push_back(0);
        }
        // At most 7 harmonic terms and 5,040 orders of 7 sums, all below 1.
        BOOST_REQUIRE_SMALL(curve(rows).observed() - by_all_orders(rows), 5040 * 8 * eps);
    }
}

// With a point for each row the curve's mean is AURC; with fewer points it is read at the rows they reach.
BOOST_AUTO_TEST_CASE(curves_at_some_coverages) {
    const Rows four = without_patients({1, 2, 3, 4}, {0, 0, 1, 1});
    const std::vector<double> each{0, 0, 1.0 / 3, 0.5}, three{0, 1.0 / 3, 0.5};  // of 2, 3, 4 rows
    BOOST_CHECK(curve(four).curve(4) == each);
    BOOST_CHECK(curve(four).curve(3) == three);
    // Two ties of one error: half an error is expected in the first.
    const std::vector<double> tied{0.5, 0.5, 1.0 / 3};
    BOOST_CHECK(curve(without_patients({1, 1, 2}, {0, 1, 0})).curve(3) == tied);
    BOOST_CHECK(curve(without_patients({5}, {1})).curve(3) == std::vector<double>({1, 1, 1}));
    BOOST_CHECK(curve({}).curve(3).empty());
    BOOST_CHECK_EXCEPTION(curve(four).curve(0), InternalError, says("0 points"));
    const Stream stream(13, "curve", 0);
    for (std::uint64_t c = 0; c < 40; ++c) {
        const std::uint64_t n = 1 + stream.below(200 * c, 60);
        Rows rows;
        for (std::uint64_t i = 0; i < n; ++i) {
            rows.score.push_back(static_cast<double>(stream.below(200 * c + 2 * i + 1, 9)));
            rows.wrong.push_back(static_cast<std::int8_t>(stream.below(200 * c + 2 * i + 2, 2)));
            rows.patient.push_back(0);
        }
        const std::vector<double> risks = curve(rows).curve(static_cast<std::int64_t>(n));
        BOOST_REQUIRE_EQUAL(risks.size(), n);
        const double mean = std::accumulate(risks.begin(), risks.end(), 0.0) / static_cast<double>(n);
        // At most 60 sums of numbers up to 1 on either side, and differences of harmonic numbers up to 5.
        BOOST_CHECK_SMALL(mean - curve(rows).observed(), 60 * 8 * eps);
    }
}

// A resample is the rows written out as often as they are drawn.
BOOST_AUTO_TEST_CASE(resamples_are_rows_drawn_again_and_again) {
    const std::int64_t patients = 7, resamples = 50;
    const Stream stream(12, "rows", 0);
    Rows rows;
    for (std::uint64_t i = 0; i < 40; ++i) {
        rows.score.push_back(static_cast<double>(stream.below(3 * i, 15)));
        rows.wrong.push_back(static_cast<std::int8_t>(stream.below(3 * i + 1, 3) == 0));
        rows.patient.push_back(
            static_cast<std::int32_t>(1 + stream.below(3 * i + 2, 5)));  // not all have rows
    }
    const Resampling resampling(5, "t", patients, resamples);
    Matrix<Weight> weights(patients, resamples);
    resampling.weights(0, resamples, weights.view());
    for (std::int64_t p = 0; p < patients; ++p) weights.row(p)[17] = p == 0 ? 7 : 0;  // nobody with rows
    std::vector<double> found(static_cast<std::size_t>(resamples), -1);
    curve(rows).count(weights.view(), found);
    for (std::size_t b = 0; b < found.size(); ++b) {
        Rows drawn;
        for (std::size_t i = 0; i < rows.score.size(); ++i) {
            for (int times = 0; times < weights.row(rows.patient[i])[b]; ++times) {
                drawn.score.push_back(rows.score[i]);
                drawn.wrong.push_back(rows.wrong[i]);
                drawn.patient.push_back(0);
            }
        }
        BOOST_CHECK_EQUAL(std::isnan(found[b]), b == 17);
        if (b != 17) BOOST_CHECK_EQUAL(found[b], curve(drawn).observed());
    }
}

BOOST_AUTO_TEST_CASE(what_makes_no_curve_is_refused) {
    const std::vector<double> score{1, 2}, nan{1, std::nan("")};
    const std::vector<std::int8_t> wrong{0, 1}, other{0, 2}, one{0};
    const std::vector<std::int32_t> patient{0, 3}, negative{0, -1};
    BOOST_CHECK_EXCEPTION(RiskCoverage(score, one, patient), InternalError, says("2 scores, 1 outcomes"));
    BOOST_CHECK_EXCEPTION(RiskCoverage(nan, wrong, patient), InternalError, says("row 1 has score NaN"));
    BOOST_CHECK_EXCEPTION(RiskCoverage(score, other, patient), InternalError, says("row 1 has outcome 2"));
    BOOST_CHECK_EXCEPTION(RiskCoverage(score, wrong, negative), InternalError, says("row 1 has patient -1"));
    const RiskCoverage curve(score, wrong, patient);
    Matrix<Weight> few(3, 2), enough(4, 2);
    std::vector<double> two(2), three(3);
    BOOST_CHECK_EXCEPTION(curve.count(few.view(), two), InternalError, says("patient 3 of 3"));
    BOOST_CHECK_EXCEPTION(curve.count(enough.view(), three), InternalError, says("2 resamples, 3 values"));
}

BOOST_AUTO_TEST_SUITE_END()
