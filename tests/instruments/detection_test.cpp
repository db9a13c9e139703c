#include "candor/instruments/detection.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/instruments/confidence.hpp"
#include "stats/says.hpp"

using namespace candor;
using namespace candor::instruments;
using stats::Weight;

namespace {

/// Rows with scores by formula; every score tells a little, `max_logit` and its copies a lot.
struct Rows {
    Matrix<double> scores;
    std::vector<std::int8_t> errs;
    std::vector<std::int32_t> patient;

    explicit Rows(std::int64_t n, std::uint64_t salt = 0) : scores(detection_scores, n) {
        const Stream stream(salt, "detection", 0);
        for (std::int64_t i = 0; i < n; ++i) {
            const auto at_i = static_cast<std::uint64_t>(10 * i);
            const bool wrong = stream.below(at_i, 4) == 0;
            errs.push_back(wrong);
            patient.push_back(static_cast<std::int32_t>(stream.below(at_i + 1, 17)));
            for (std::int64_t s = 0; s < scores.rows(); ++s)
                set(s, i, stream.uniform(at_i + 2 + static_cast<std::uint64_t>(s)) + 0.2 * wrong);
            const double z = 3 * (stream.uniform(at_i + 9) - 0.3 * wrong);
            set(1, i, msp_score(z));
            set(2, i, max_logit_score(z));
            set(3, i, energy_score(z));
        }
    }
    void set(std::int64_t score, std::int64_t row, double value) {
        scores.row(score)[static_cast<std::size_t>(row)] = value;
    }
    DetectionCounter counter() const { return {scores.view(), errs, patient}; }
};

DetectionTally tally(const Rows& rows, const stats::Resampling& resampling) {
    const DetectionCounter counter = rows.counter();
    DetectionTally out = counter.observed();
    out.resampled.resize(static_cast<std::size_t>(resampling.resamples()));
    resampling.for_each_block([&](MatrixView<const Weight> weights, std::int64_t first) {
        counter.count(weights,
                      std::span(out.resampled)
                          .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(weights.cols)));
    });
    return out;
}

const stats::Resampling resampling(7, "t", 17, 150);

double auroc(const Rows& rows, DetectionScore score) {
    return rows.counter().observed().auroc(score).observed;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_detection)

BOOST_AUTO_TEST_CASE(a_constant_score_tells_nothing_and_the_errors_themselves_all) {
    Rows rows(200);
    for (std::int64_t i = 0; i < 200; ++i) {
        rows.set(0, i, 0.7);
        rows.set(5, i, rows.errs[static_cast<std::size_t>(i)]);
        rows.set(6, i, -rows.errs[static_cast<std::size_t>(i)]);
    }
    const DetectionTally all = tally(rows, resampling);
    const Replicates constant = all.auroc(DetectionScore::impurity);
    BOOST_CHECK_EQUAL(constant.observed, 0.5);
    for (const double value : constant.resampled) BOOST_CHECK_EQUAL(value, 0.5);
    BOOST_CHECK_EQUAL(auroc(rows, DetectionScore::mahalanobis), 1);
    BOOST_CHECK_EQUAL(auroc(rows, DetectionScore::neighbor_distance), 0);
    const DetectionSummary summary = summarise(all, 17, 0.95);
    BOOST_CHECK_EQUAL(summary.gap[at(DetectionScore::mahalanobis)].estimate.value, -0.5);
    BOOST_CHECK_EQUAL(summary.gap[at(DetectionScore::mahalanobis)].p, 2.0 / 151);
    BOOST_CHECK_EQUAL(summary.gap[at(DetectionScore::mahalanobis)].smallest_p, 2.0 / 151);
    BOOST_CHECK_EQUAL(summary.gap[at(DetectionScore::neighbor_distance)].estimate.value, 0.5);
    BOOST_CHECK(std::isnan(summary.gap[at(DetectionScore::impurity)].estimate.value));
    BOOST_CHECK(std::isnan(summary.gap[at(DetectionScore::impurity)].p));
}

// Gaps are differences of the same resample, not of intervals.
BOOST_AUTO_TEST_CASE(gaps_are_paired) {
    Rows rows(300);
    for (std::int64_t i = 0; i < 300; ++i)
        rows.set(4, i, 3 * rows.scores.row(0)[static_cast<std::size_t>(i)] + 1);
    const DetectionTally all = tally(rows, resampling);
    const DetectionSummary summary = summarise(all, 17, 0.95);
    const Gap& copy = summary.gap[at(DetectionScore::ensemble)];
    BOOST_CHECK_EQUAL(copy.estimate.value, 0);
    BOOST_CHECK_EQUAL(copy.estimate.low, 0);
    BOOST_CHECK_EQUAL(copy.estimate.high, 0);
    BOOST_CHECK_EQUAL(copy.p, 1);
    const Replicates gap = all.gap(DetectionScore::impurity, DetectionScore::msp);
    for (std::size_t b = 0; b < gap.resampled.size(); ++b) {
        BOOST_CHECK_EQUAL(gap.resampled[b], all.auroc(DetectionScore::impurity).resampled[b] -
                                                all.auroc(DetectionScore::msp).resampled[b]);
    }
}

// A pair from two contexts is never compared: each context's scores may be shifted as one likes.
BOOST_AUTO_TEST_CASE(contexts_are_never_compared) {
    const Rows one(80, 1), other(50, 2), single(1, 3);
    Rows shifted(50, 2);  // the rows of `other`
    for (std::int64_t s = 0; s < shifted.scores.rows(); ++s)
        for (double& v : shifted.scores.row(s)) v += 1000;
    DetectionTally sum, same;
    for (const Rows& rows : {std::cref(one), std::cref(other), std::cref(single)})
        sum += tally(rows, resampling);
    for (const Rows& rows : {std::cref(one), std::cref(single), std::cref(shifted)})
        same += tally(rows, resampling);
    const DetectionCounts &a = sum.observed, &b = same.observed;
    BOOST_TEST(a.twice_wins == b.twice_wins);
    BOOST_CHECK_EQUAL(a.pairs,
                      one.counter().observed().observed.pairs + other.counter().observed().observed.pairs);
    BOOST_CHECK_EQUAL(a.rows, 131);
    for (std::size_t i = 0; i < 150; ++i)
        BOOST_TEST(sum.resampled[i].twice_wins == same.resampled[i].twice_wins);
}

BOOST_AUTO_TEST_CASE(a_context_of_one_row_and_one_class_of_errors_have_no_pairs) {
    const Rows single(1);
    BOOST_CHECK_EQUAL(single.counter().observed().observed.pairs, 0);
    BOOST_CHECK(std::isnan(auroc(single, DetectionScore::msp)));
    Rows right(60), wrong(60);
    right.errs.assign(60, 0);
    wrong.errs.assign(60, 1);
    for (const Rows& rows : {std::cref(right), std::cref(wrong)}) {
        const DetectionSummary summary = summarise(tally(rows, resampling), 17, 0.95);
        BOOST_CHECK(std::isnan(summary.auroc[0].value));
        BOOST_CHECK_EQUAL(summary.auroc[0].valid, 0);
        BOOST_CHECK(std::isnan(summary.gap[1].p));
        BOOST_CHECK(std::isnan(summary.confidence_disagreement));
        BOOST_CHECK_EQUAL(summary.rows, 60);
    }
    // One error: the resamples that do not draw its patient are counted as undefined.
    Rows rare(60);
    rare.errs.assign(60, 0);
    rare.errs[3] = 1;
    const DetectionTally all = tally(rare, resampling);
    std::int64_t without = 0;
    for (const DetectionCounts& counts : all.resampled) without += counts.errors == 0;
    BOOST_CHECK_GT(without, 20);
    BOOST_CHECK_EQUAL(summarise(all, 17, 0.95).auroc[2].valid, 150 - without);
}

BOOST_AUTO_TEST_CASE(an_undefined_score_leaves_the_others_and_stays_undefined_in_sums) {
    Rows rows(100);
    const Rows whole(100);
    for (std::int64_t i = 0; i < 100; ++i) rows.set(5, i, std::nan(""));
    DetectionTally all = tally(rows, resampling);
    BOOST_CHECK(std::isnan(all.auroc(DetectionScore::mahalanobis).observed));
    BOOST_CHECK(std::isnan(all.gap(DetectionScore::impurity, DetectionScore::mahalanobis).resampled[0]));
    BOOST_CHECK_EQUAL(all.auroc(DetectionScore::msp).observed, auroc(whole, DetectionScore::msp));
    all += tally(whole, resampling);
    BOOST_CHECK(std::isnan(all.auroc(DetectionScore::mahalanobis).observed));
    BOOST_CHECK(!std::isnan(all.auroc(DetectionScore::msp).observed));
    BOOST_CHECK(
        std::isnan(risk_coverage(rows.scores.view(), rows.errs, rows.patient, resampling)[5].observed));

    rows.set(5, 7, 1.0);
    BOOST_CHECK_EXCEPTION(rows.counter(), InternalError, says("mahalanobis is NaN in 99 of 100 rows"));
}

// Largest where rounding is made to tie what is different: energy is flat about 0.
BOOST_AUTO_TEST_CASE(the_disagreement_of_three_copies_is_that_of_rounding) {
    const DetectionTally all = tally(Rows(300), resampling);
    BOOST_CHECK_EQUAL(summarise(all, 17, 0.95).confidence_disagreement, 0);
    Rows flat(4);
    flat.errs = {1, 0, 1, 0};
    const double z[] = {1e-10, 2e-10, 1, 2};
    for (std::int64_t i = 0; i < 4; ++i) {
        flat.set(1, i, msp_score(z[i]));
        flat.set(2, i, max_logit_score(z[i]));
        flat.set(3, i, energy_score(z[i]));
    }
    // Of four pairs max logit wins three; energy ties one of them.
    BOOST_CHECK_EQUAL(summarise(tally(flat, resampling), 17, 0.95).confidence_disagreement, 0.125);
}

BOOST_AUTO_TEST_CASE(areas_are_those_of_the_curves) {
    const Rows rows(120);
    const ByScore<Replicates> areas = risk_coverage(rows.scores.view(), rows.errs, rows.patient, resampling);
    Matrix<Weight> weights(17, 22);
    resampling.weights(128, 22, weights.view());
    for (std::size_t s = 0; s < detection_scores; ++s) {
        const stats::RiskCoverage curve(rows.scores.row(static_cast<std::int64_t>(s)), rows.errs,
                                        rows.patient);
        BOOST_CHECK_EQUAL(areas[s].observed, curve.observed());
        std::vector<double> last(22);
        curve.count(weights.view(), last);
        BOOST_CHECK(std::ranges::equal(std::span(areas[s].resampled).last(22), last));
    }
}

BOOST_AUTO_TEST_CASE(curves_are_those_of_the_scores_and_none_is_below_the_oracle) {
    Rows rows(90);
    for (std::int64_t i = 0; i < 90; ++i) rows.set(5, i, std::nan(""));
    const RiskCurves curves = risk_curves(rows.scores.view(), rows.errs);
    const double errors = static_cast<double>(std::ranges::count(rows.errs, std::int8_t{1}));
    for (std::size_t s = 0; s < detection_scores; ++s) {
        BOOST_CHECK_EQUAL(std::isnan(curves.of[s][0]), s == 5);
        if (s == 5) continue;
        const stats::RiskCoverage curve(rows.scores.row(static_cast<std::int64_t>(s)), rows.errs,
                                        rows.patient);
        BOOST_CHECK(std::ranges::equal(curves.of[s], curve.curve(20)));
        BOOST_CHECK_EQUAL(curves.of[s][19], errors / 90);
        for (std::size_t i = 0; i < risk_points; ++i) BOOST_CHECK_GE(curves.of[s][i], curves.oracle[i]);
    }
    for (std::size_t i = 0; i < risk_points; ++i) {
        const double covered = std::ceil(90 * static_cast<double>(i + 1) / 20);
        BOOST_CHECK_SMALL(curves.oracle[i] - std::max(0.0, covered - (90 - errors)) / covered, 1e-15);
    }
    BOOST_CHECK(std::isnan(risk_curves(Matrix<double>(8, 0).view(), {}).oracle[3]));
}

BOOST_AUTO_TEST_CASE(gaps_over_cells_are_counted) {
    const double nan = std::nan("");
    const std::vector<Estimate> gaps{
        {0.1, 0.05, 0.2, 9, false}, {0.1, -0.05, 0.2, 9, false},   {0, 0, 0, 9, true},
        {-0.1, -0.2, 0, 9, false},  {-0.1, -0.2, -0.01, 9, false}, {nan, nan, nan, 0, false},
        {0.1, nan, nan, 0, false}};
    const GapCounts counts = count_gaps(gaps);
    BOOST_CHECK_EQUAL(counts.wins, 3);
    BOOST_CHECK_EQUAL(counts.losses, 2);
    BOOST_CHECK_EQUAL(counts.level, 1);
    BOOST_CHECK_EQUAL(counts.undefined, 1);
    BOOST_CHECK_EQUAL(counts.clear_wins, 1);
    BOOST_CHECK_EQUAL(counts.clear_losses, 1);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
    Rows rows(10);
    Matrix<double> few(6, 10);
    BOOST_CHECK_EXCEPTION(DetectionCounter(few.view(), rows.errs, rows.patient), InternalError,
                          says("6 scores of 10 rows"));
    rows.errs[2] = 2;
    BOOST_CHECK_EXCEPTION(rows.counter(), InternalError, says("row 2 has outcome 2"));
    rows.errs.pop_back();
    BOOST_CHECK_THROW(rows.counter(), InternalError);
    DetectionTally a, b;
    a.resampled.resize(2);
    b.resampled.resize(3);
    BOOST_CHECK_THROW(a += b, InternalError);
    BOOST_CHECK_EQUAL(name_of(DetectionScore::neighbor_distance), "neighbor_distance");
    BOOST_CHECK_EQUAL(name_of(DetectionScore::threshold_distance), "threshold_distance");
    BOOST_CHECK_EQUAL(name_of(DetectionScore::impurity), "impurity");
}

BOOST_AUTO_TEST_SUITE_END()
