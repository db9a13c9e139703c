#include "candor/instruments/summary.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "candor/base/error.hpp"

using namespace candor;
using instruments::Counts;
using instruments::Estimate;
using instruments::LevelSummary;
using instruments::Replicates;
using instruments::Tally;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Counts rate(std::int64_t discordant, std::int64_t queries, std::int64_t ties = 0) {
    Counts counts;
    counts.discordant = discordant;
    counts.queries = queries;
    counts.ties = ties;
    return counts;
}

Tally tally(Counts observed, std::vector<std::int64_t> by_draw, std::vector<Counts> resampled) {
    return {observed, std::move(by_draw), std::move(resampled)};
}

/// A tally that is `discordant` of 4 in every resample.
Tally constant(std::int64_t discordant) {
    return tally(rate(discordant, 4), {discordant}, std::vector<Counts>(50, rate(discordant, 4)));
}

bool equal(double a, double b) {
    return std::abs(a - b) <= 4 * 0x1p-53 || (std::isnan(a) && std::isnan(b));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_summary)

// Faults 13: linear interpolation at (n - 1) q.
BOOST_AUTO_TEST_CASE(an_estimate_is_the_observed_value_with_the_percentiles_of_the_resamples) {
    Replicates replicates{7, {}};
    for (int i = 0; i < 1000; ++i)
        replicates.resampled.push_back((i * 377) % 1000);  // 0 .. 999 in some order
    const instruments::Estimate e = instruments::estimate(replicates, 0.95);
    BOOST_TEST(e.value == 7);  // never the mean of the resamples
    BOOST_TEST(std::abs(e.low - 24.975) < 1e-9);
    BOOST_TEST(std::abs(e.high - 974.025) < 1e-9);
    BOOST_TEST(e.valid == 1000);
    BOOST_TEST(!e.all_equal);
    BOOST_TEST(e.excludes_half());
    BOOST_TEST(!(instruments::Estimate{0.5, 0.5, 0.7}.excludes_half()));
    BOOST_TEST((instruments::Estimate{0.3, 0.2, 0.49}.excludes_half()));
    BOOST_TEST(!(instruments::Estimate{not_a_number, not_a_number, not_a_number}.excludes_half()));
}

BOOST_AUTO_TEST_CASE(undefined_resamples_are_left_out_and_counted) {
    const Tally t = tally(rate(1, 2), {1}, {rate(0, 0), rate(1, 4), rate(3, 4), rate(0, 0)});
    const Replicates replicates = instruments::replicates(t, &Counts::rate);
    BOOST_TEST(replicates.observed == 0.5);
    BOOST_TEST(std::isnan(replicates.resampled[0]));
    const instruments::Estimate e = instruments::estimate(replicates, 0.5);
    BOOST_TEST(e.valid == 2);
    BOOST_TEST(e.low == 0.375);
    BOOST_TEST(e.high == 0.625);
}

BOOST_AUTO_TEST_CASE(a_mean_is_undefined_where_a_part_is) {
    const std::vector<Replicates> parts{{0.25, {0.5, not_a_number, 0.25}}, {0.75, {1, 1, 0.5}}};
    const Replicates mean = instruments::mean_of(parts);
    BOOST_TEST(mean.observed == 0.5);
    BOOST_TEST(mean.resampled[0] == 0.75);
    BOOST_TEST(std::isnan(mean.resampled[1]));
    BOOST_TEST(mean.resampled[2] == 0.375);
    BOOST_CHECK_THROW(instruments::mean_of({}), InternalError);
}

BOOST_AUTO_TEST_CASE(a_level_says_all_of_its_tally) {
    Counts observed = rate(3, 8, 1);
    observed.twice_wins = 9;
    observed.pairs = 6;
    observed.positive_right = 3;
    observed.positives = 4;
    observed.negative_right = 5;
    observed.negatives = 5;
    const LevelSummary s =
        instruments::summarise(tally(observed, {1, 2}, {rate(1, 4), rate(2, 4), rate(3, 4)}), 12, 0.5);
    BOOST_TEST(s.d.value == 0.375);
    BOOST_TEST(s.d.low == 0.375);
    BOOST_TEST(s.d.high == 0.625);
    BOOST_TEST(s.d.valid == 3);
    BOOST_TEST(s.rate_mid == 3.5 / 8);
    BOOST_TEST(s.margin_auroc.value == 0.75);
    BOOST_TEST(s.margin_auroc.valid == 0);
    BOOST_TEST(std::isnan(s.margin_auroc.low));
    BOOST_TEST(equal(s.balanced_accuracy.value, (1.5 / 4 + 2.5 / 5) / 2));
    // Draws give 1/4 and 2/4: sample sd 0.25 / sqrt 2.
    BOOST_TEST(equal(s.draw_sd, 0.25 / std::sqrt(2.0)));
    BOOST_TEST(s.patients == 12);
    BOOST_TEST(!s.few_patients);
    BOOST_TEST(!s.excludes_half);
    BOOST_TEST(std::isnan(s.bound_low));
    BOOST_TEST(std::isnan(s.bound_high));
}

BOOST_AUTO_TEST_CASE(one_draw_has_no_spread) {
    BOOST_TEST(std::isnan(instruments::summarise(constant(1), 12, 0.95).draw_sd));
}

BOOST_AUTO_TEST_CASE(fewer_than_ten_patients_are_flagged) {
    BOOST_TEST(instruments::summarise(constant(1), 9, 0.95).few_patients);
    BOOST_TEST(!instruments::summarise(constant(1), 10, 0.95).few_patients);
}

BOOST_AUTO_TEST_CASE(where_every_resample_is_0_or_1_the_bound_over_patients_speaks) {
    // Clopper-Pearson of 0 of n: [0, 1 - 0.025^(1/n)]; of n of n: [0.025^(1/n), 1].
    const LevelSummary none = instruments::summarise(constant(0), 7, 0.95);
    BOOST_TEST(none.d.all_equal);
    BOOST_TEST(none.d.low == 0);
    BOOST_TEST(none.d.high == 0);
    BOOST_TEST(none.bound_low == 0);
    BOOST_TEST(std::abs(none.bound_high - (1 - std::pow(0.025, 1.0 / 7))) < 1e-12);  // 0.41
    BOOST_TEST(none.excludes_half);
    // With five patients the bound reaches 0.52: nothing is excluded, though the interval is [0, 0].
    BOOST_TEST(!instruments::summarise(constant(0), 5, 0.95).excludes_half);

    const LevelSummary all = instruments::summarise(constant(4), 7, 0.95);
    BOOST_TEST(std::abs(all.bound_low - std::pow(0.025, 1.0 / 7)) < 1e-12);
    BOOST_TEST(all.bound_high == 1);
    BOOST_TEST(all.excludes_half);

    const LevelSummary half = instruments::summarise(constant(2), 7, 0.95);
    BOOST_TEST(half.d.all_equal);
    BOOST_TEST(std::isnan(half.bound_low));
    BOOST_TEST(!half.excludes_half);
}

BOOST_AUTO_TEST_CASE(nothing_defined_excludes_nothing) {
    const LevelSummary s = instruments::summarise(tally(rate(0, 0), {0}, {rate(0, 0), rate(0, 0)}), 0, 0.95);
    BOOST_TEST(std::isnan(s.d.value));
    BOOST_TEST(s.d.valid == 0);
    BOOST_TEST(!s.d.all_equal);
    BOOST_TEST(!s.excludes_half);
    BOOST_TEST(std::isnan(s.bound_low));
}

BOOST_AUTO_TEST_CASE(the_macro_level_is_the_mean_over_findings_in_every_resample) {
    const std::vector<Tally> findings{
        tally(rate(2, 8, 2), {1, 1}, {rate(1, 4), rate(1, 2), rate(0, 0)}),
        tally(rate(6, 8), {2, 4}, {rate(3, 4), rate(0, 4), rate(1, 1)}),
    };
    const LevelSummary s = instruments::summarise_mean(findings, 30, std::vector<std::int64_t>{20, 10}, 0.5);
    BOOST_TEST(s.d.value == 0.5);
    // Resamples: (1/4 + 3/4)/2, (1/2 + 0)/2, undefined.
    BOOST_TEST(s.d.valid == 2);
    BOOST_TEST(s.d.low == 0.25 + 0.25 * 0.25);
    BOOST_TEST(s.d.high == 0.5 - 0.25 * 0.25);
    BOOST_TEST(s.rate_mid == (3.0 / 8 + 6.0 / 8) / 2);
    // Draws: (1/4 + 2/4)/2 and (1/4 + 4/4)/2.
    BOOST_TEST(equal(s.draw_sd, 0.25 / std::sqrt(2.0)));
    BOOST_TEST(s.patients == 30);
    // One finding alone: macro is micro.
    const LevelSummary one =
        instruments::summarise_mean(std::span(findings).first(1), 30, std::vector<std::int64_t>{30}, 0.5);
    const LevelSummary micro = instruments::summarise(findings[0], 30, 0.5);
    BOOST_TEST(one.d.value == micro.d.value);
    BOOST_TEST(one.d.low == micro.d.low);
    BOOST_TEST(one.d.valid == micro.d.valid);
}

BOOST_AUTO_TEST_CASE(the_bound_of_a_mean_is_that_of_its_parts_held_together) {
    // None of n: Clopper and Pearson's upper end at confidence c is 1 - ((1 - c)/2)^(1/n); two parts at 95 %
    // hold together at 97.5 % each.
    const Estimate none{0, 0, 0, 1000, true}, all{1, 1, 1, 1000, true};
    const std::vector<std::int64_t> patients{4, 200};
    const double expected = (1 - std::pow(0.0125, 1.0 / 4) + 1 - std::pow(0.0125, 1.0 / 200)) / 2;
    const stats::Bounds of_none = instruments::bound_of_mean(none, patients, 0.95);
    BOOST_TEST(of_none.low == 0);
    BOOST_TEST(of_none.high == expected, boost::test_tools::tolerance(1e-12));
    const stats::Bounds of_all = instruments::bound_of_mean(all, patients, 0.95);
    BOOST_TEST(of_all.low == 1 - expected, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(of_all.high == 1);
    BOOST_TEST(std::isnan(instruments::bound_of_mean({0.5, 0.5, 0.5, 1000, true}, patients, 0.95).low));
    BOOST_TEST(instruments::bound_of_mean(none, {&patients[1], 1}, 0.95).high ==
               instruments::bound(none, 200, 0.95).high);
}

BOOST_AUTO_TEST_SUITE_END()
