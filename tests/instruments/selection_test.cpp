#include "candor/instruments/selection.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "stats/says.hpp"

using namespace candor;
using namespace candor::instruments;
using stats::Weight;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// Encoders x rows.
Matrix<double> table(std::initializer_list<std::vector<double>> rows) {
    Matrix<double> out(std::ssize(rows), std::ssize(*rows.begin()));
    std::int64_t i = 0;
    for (const std::vector<double>& row : rows) std::ranges::copy(row, out.row(i++).begin());
    return out;
}

/// Three encoders with thresholds 0; four positives and two negatives.
///
///     errs          + + + +  - -
///     encoder 0     x x . .  x .
///     encoder 1     x . x .  x .
///     encoder 2     x x . .  . .
struct Panel {
    Matrix<double> logit = table({{-1, -1, 1, 1, 1, -1}, {-1, 1, -1, 1, 1, -1}, {-1, -1, 1, 1, -1, -1}});
    std::vector<double> threshold{0, 0, 0};
    std::vector<std::int8_t> label{1, 1, 1, 1, 0, 0};
    std::vector<std::int32_t> patient{0, 1, 2, 3, 4, 5};
    Matrix<double> probability =
        table({{.1, .5, .9, .5, .5, .2}, {.2, .9, .5, .5, .6, .1}, {.3, .1, .9, .6, .5, .3}});
    std::vector<double> threshold_probability{.5, .5, .5};
    double mean_threshold = .5;
    std::vector<double> training_d{.3, .2, .2};
    Matrix<double> impurity =
        table({{0, .4, 0, missing, 0, 0}, {.4, .4, 0, missing, .4, 0}, {.4, 0, missing, missing, 0, .4}});

    SelectionCases cases() const {
        return {logit.view(),          threshold,      label,      patient,        probability.view(),
                threshold_probability, mean_threshold, training_d, impurity.view()};
    }
    SelectionTally tally() const { return SelectionCounter(cases()).observed(); }
};

SelectionRates rates(const SelectionTally& tally) {
    const SelectionCounts* const only = &tally.observed;
    return selection_rates(std::span(&only, 1), Pooling::micro);
}

void check(double found, double expected) {
    BOOST_CHECK_CLOSE(found, expected, 1e-12);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_selection)

BOOST_AUTO_TEST_CASE(rates_known_beforehand) {
    const SelectionTally tally = Panel().tally();
    const SelectionRates r = rates(tally);
    check(r.miss[at(Policy::single)], 6.0 / 12);
    check(r.miss[at(Policy::oracle)], 1.0 / 4);
    check(r.miss[at(Policy::majority)], 2.0 / 4);
    check(r.miss[at(Policy::independent)], 1.0 / 2 * 1 / 2 * 1 / 2);
    check(r.false_alarm[at(Policy::single)], 2.0 / 6);
    BOOST_CHECK_EQUAL(r.false_alarm[at(Policy::oracle)], 0);
    check(r.false_alarm[at(Policy::majority)], 1.0 / 2);
    BOOST_CHECK_EQUAL(r.false_alarm[at(Policy::independent)], 0);  // encoder 2 never errs on negatives

    // Positives: encoder 0 errs (distance .4); 1 is right, 2 errs, tied at .4 (doubles decide: |.9 - .5| and
    // |.1 - .5|); 0 and 2 tied, right; 2 right. Negatives: 1 errs; 1 right.
    const double distance[] = {std::abs(.9 - .5), std::abs(.1 - .5)};
    BOOST_REQUIRE_EQUAL(distance[0], distance[1]);
    check(r.miss[at(Policy::most_confident)], (1 + .5) / 4);
    check(r.false_alarm[at(Policy::most_confident)], 1.0 / 2);
    // Encoders 1 and 2, tied for all images.
    check(r.miss[at(Policy::lowest_d)], (1 + .5 + .5) / 4);
    check(r.false_alarm[at(Policy::lowest_d)], .5 / 2);
    // Encoder 0 errs; 2 errs; 0 right and 1 wrong; none has one: all are right. Negatives: 0 wrong, 2 right;
    // 0, 1.
    check(r.miss[at(Policy::lowest_impurity)], (1 + 1 + .5 + 0) / 4);
    check(r.false_alarm[at(Policy::lowest_impurity)], .5 / 2);
    BOOST_CHECK_EQUAL(tally.without_impurity, 1);
    // Means .2, .5, .77, .53; .53, .2.
    check(r.miss[at(Policy::mean_probability)], 1.0 / 4);
    check(r.false_alarm[at(Policy::mean_probability)], 1.0 / 2);

    for (std::size_t p = 0; p < policies; ++p) check(r.balanced[p], (r.miss[p] + r.false_alarm[p]) / 2);
    BOOST_CHECK_EQUAL(r.gap_closed[at(Policy::single)], 0);
    BOOST_CHECK_EQUAL(r.gap_closed[at(Policy::oracle)], 1);
    check(r.gap_closed[at(Policy::most_confident)], -1.0 / 14);  // (5/12 - 7/16) / (5/12 - 1/8)
}

// On positives alone "largest z - t" is the oracle: a rule that says yes always is judged on negatives too.
BOOST_AUTO_TEST_CASE(always_yes_gains_nothing) {
    Panel panel;
    panel.mean_threshold = 0;
    const SelectionRates r = rates(panel.tally());
    BOOST_CHECK_EQUAL(r.miss[at(Policy::mean_probability)], 0);
    BOOST_CHECK_EQUAL(r.false_alarm[at(Policy::mean_probability)], 1);
    BOOST_CHECK_EQUAL(r.balanced[at(Policy::mean_probability)], 0.5);
    BOOST_CHECK_LT(r.gap_closed[at(Policy::mean_probability)], 0);
}

// Independent coins of error 1/2: eleven of them have an oracle of about 2^-11, and the product says so.
BOOST_AUTO_TEST_CASE(coins_have_a_tiny_oracle_that_independence_explains) {
    const std::int64_t encoders = 11, n = 4096;
    Matrix<double> logit(encoders, n);
    for (std::int64_t x = 0; x < n; ++x)
        for (std::int64_t g = 0; g < encoders; ++g)
            logit.row(g)[static_cast<std::size_t>(x)] = x >> g & 1 ? 1 : -1;
    const std::vector<double> threshold(11, 0);
    const std::vector<std::int8_t> label(n, 1);
    const std::vector<std::int32_t> patient(n, 0);
    const SelectionTally tally =
        SelectionCounter({.logit = logit.view(), .threshold = threshold, .label = label, .patient = patient})
            .observed();
    const SelectionRates r = rates(tally);
    BOOST_CHECK_EQUAL(r.miss[at(Policy::single)], 0.5);
    BOOST_CHECK_EQUAL(r.miss[at(Policy::oracle)], 0x1p-11);
    BOOST_CHECK_EQUAL(r.miss[at(Policy::independent)], 0x1p-11);
    BOOST_CHECK_EQUAL(r.miss[at(Policy::majority)], 0.5);
    BOOST_CHECK(std::isnan(r.balanced[at(Policy::single)]));  // no negatives
    for (const Policy rule :
         {Policy::most_confident, Policy::lowest_d, Policy::lowest_impurity, Policy::mean_probability})
        BOOST_CHECK(tally.undefined[at(rule)]);
    BOOST_CHECK(!tally.undefined[at(Policy::majority)]);
}

BOOST_AUTO_TEST_CASE(encoders_that_are_one_leave_no_gap) {
    Panel panel;
    for (const std::int64_t g : {1, 2}) std::ranges::copy(panel.logit.row(0), panel.logit.row(g).begin());
    const SelectionRates r = rates(panel.tally());
    BOOST_CHECK_EQUAL(r.miss[at(Policy::single)], 0.5);
    for (std::size_t p = 0; p < policies; ++p) BOOST_CHECK(std::isnan(r.gap_closed[p]));
}

// More than half: of two encoders both, of four three.
BOOST_AUTO_TEST_CASE(half_is_no_majority) {
    for (const std::int64_t encoders : {2, 4}) {
        Matrix<double> logit(encoders, 2);
        for (std::int64_t g = 0; g < encoders; ++g) {
            logit.row(g)[0] = 2 * g < encoders ? -1 : 1;   // half of them err
            logit.row(g)[1] = 2 * g <= encoders ? -1 : 1;  // one more
        }
        const std::vector<double> threshold(static_cast<std::size_t>(encoders), 0);
        const std::vector<std::int8_t> label{1, 1};
        const std::vector<std::int32_t> patient{0, 1};
        const SelectionTally tally =
            SelectionCounter(
                {.logit = logit.view(), .threshold = threshold, .label = label, .patient = patient})
                .observed();
        BOOST_CHECK_EQUAL(tally.observed.most_err(Side::positives), 1);
    }
}

// Where no encoder has an impurity the rule knows nothing, and answers as `single` does.
BOOST_AUTO_TEST_CASE(without_impurities_all_encoders_are_tied) {
    Panel panel;
    for (std::int64_t g = 0; g < 3; ++g) std::ranges::fill(panel.impurity.row(g), missing);
    const SelectionTally tally = panel.tally();
    BOOST_CHECK_EQUAL(tally.without_impurity, 6);
    check(rates(tally).miss[at(Policy::lowest_impurity)], 6.0 / 12);
    check(rates(tally).false_alarm[at(Policy::lowest_impurity)], 2.0 / 6);
}

// An encoder whose D is not known is never chosen; without any the rule is undefined, in sums too.
BOOST_AUTO_TEST_CASE(what_a_rule_does_not_know_it_does_not_choose) {
    Panel panel;
    panel.training_d = {missing, missing, .9};
    check(rates(panel.tally()).miss[at(Policy::lowest_d)], 2.0 / 4);
    panel.training_d = {missing, missing, missing};
    SelectionTally sum = panel.tally();
    BOOST_CHECK(sum.undefined[at(Policy::lowest_d)]);
    sum += Panel().tally();
    BOOST_CHECK(sum.undefined[at(Policy::lowest_d)]);
    const std::vector<SelectionTally> findings{sum};
    const SelectionSummary summary = summarise(findings, Pooling::micro, 0.95);
    BOOST_CHECK(std::isnan(summary.miss[at(Policy::lowest_d)].value));
    check(summary.miss[at(Policy::single)].value, 6.0 / 12);
    BOOST_CHECK_EQUAL(summary.positives, 8);
    BOOST_CHECK_EQUAL(summary.negatives, 4);
    BOOST_CHECK_EQUAL(summary.without_impurity, 2);
}

// Eight positives with errors 1/2 and two with none: 4/10 pooled, 1/4 in the mean.
BOOST_AUTO_TEST_CASE(micro_pools_cases_and_macro_findings) {
    const auto finding = [](std::int64_t n, std::int64_t errors) {
        Matrix<double> logit(1, n);
        for (std::int64_t x = 0; x < n; ++x) logit.row(0)[static_cast<std::size_t>(x)] = x < errors ? -1 : 1;
        const std::vector<double> threshold{0};
        const std::vector<std::int8_t> label(static_cast<std::size_t>(n), 1);
        const std::vector<std::int32_t> patient(static_cast<std::size_t>(n), 0);
        return SelectionCounter(
                   {.logit = logit.view(), .threshold = threshold, .label = label, .patient = patient})
            .observed();
    };
    const SelectionTally large = finding(8, 4), small = finding(2, 0), none = finding(0, 0);
    const SelectionCounts* const both[] = {&large.observed, &small.observed};
    BOOST_CHECK_EQUAL(selection_rates(both, Pooling::micro).miss[at(Policy::single)], 0.4);
    BOOST_CHECK_EQUAL(selection_rates(both, Pooling::macro).miss[at(Policy::single)], 0.25);
    const SelectionCounts* const with_none[] = {&large.observed, &none.observed};
    BOOST_CHECK_EQUAL(selection_rates(with_none, Pooling::micro).miss[at(Policy::independent)], 0.5);
    BOOST_CHECK(std::isnan(selection_rates(with_none, Pooling::macro).miss[at(Policy::single)]));
}

// A resample counts as the panel does with each row as often as its patient is drawn.
BOOST_AUTO_TEST_CASE(resamples_are_rows_drawn_again_and_again) {
    const Panel panel;
    const SelectionCounter counter(panel.cases());
    Matrix<Weight> weights(6, 3);
    for (std::int64_t p = 0; p < 6; ++p) {
        weights.row(p)[0] = 1;
        weights.row(p)[1] = p == 0 ? 6 : 0;
        weights.row(p)[2] = p == 1 ? 2 : p == 4 ? 4 : 0;
    }
    SelectionTally tally = counter.observed();
    tally.resampled.assign(3, SelectionCounts(3));
    counter.count(weights.view(), tally.resampled);
    const auto one = [&](std::size_t b) {
        const SelectionCounts* const only = &tally.resampled[b];
        return selection_rates(std::span(&only, 1), Pooling::micro);
    };
    BOOST_TEST(one(0).miss == rates(tally).miss);
    BOOST_CHECK_EQUAL(one(1).miss[at(Policy::oracle)], 1);
    BOOST_CHECK(std::isnan(one(1).false_alarm[at(Policy::oracle)]));
    BOOST_CHECK_EQUAL(one(2).miss[at(Policy::most_confident)], 0.5);
    BOOST_CHECK_EQUAL(one(2).false_alarm[at(Policy::most_confident)], 1);
    BOOST_CHECK_EQUAL(tally.resampled[2].rows(Side::negatives), 4);
    const std::vector<SelectionTally> findings{tally};
    const SelectionSummary summary = summarise(findings, Pooling::micro, 0.95);
    BOOST_CHECK_EQUAL(summary.miss[at(Policy::oracle)].valid, 3);
    BOOST_CHECK_EQUAL(summary.balanced[at(Policy::oracle)].valid, 2);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
    const auto refused = [](auto change, const std::string& text) {
        Panel panel;
        change(panel);
        BOOST_CHECK_EXCEPTION(SelectionCounter(panel.cases()), InternalError, says(text));
    };
    refused([](Panel& p) { p.threshold.pop_back(); }, "the inputs do not fit");
    refused([](Panel& p) { p.label.pop_back(); }, "the inputs do not fit");
    refused([](Panel& p) { p.patient.pop_back(); }, "the inputs do not fit");
    refused([](Panel& p) { p.training_d.pop_back(); }, "the inputs do not fit");
    refused([](Panel& p) { p.threshold_probability.clear(); }, "the inputs do not fit");
    refused([](Panel& p) { p.impurity = Matrix<double>(3, 5); }, "the inputs do not fit");
    refused([](Panel& p) { p.logit.row(1)[4] = missing; }, "a logit is nan");
    refused([](Panel& p) { p.threshold[2] = HUGE_VAL; }, "the threshold is inf");
    refused([](Panel& p) { p.label[3] = -1; }, "label -1");
    refused([](Panel& p) { p.probability.row(2)[0] = missing; }, "a probability of encoder 2 is not finite");
    refused([](Panel& p) { p.threshold_probability[1] = missing; },
            "a probability of encoder 1 is not finite");
    refused([](Panel& p) { p.mean_threshold = missing; }, "a threshold is not finite");
    SelectionCounts three(3), two(2);
    BOOST_CHECK_EXCEPTION(three += two, InternalError, says("3 and 2 encoders"));
    BOOST_CHECK_EQUAL(name_of(Policy::independent), "independent");
    BOOST_CHECK_EQUAL(name_of(Policy::mean_probability), "mean_probability");
}

BOOST_AUTO_TEST_SUITE_END()
