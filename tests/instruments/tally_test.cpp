#include "candor/instruments/tally.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/stats/resampling.hpp"

using namespace candor;
using instruments::CellCounter;
using instruments::Counts;
using instruments::Tally;

namespace {

constexpr std::int64_t patients = 25, resamples = 150, draws = 3;

struct Query {
    std::int32_t patient = 0;
    bool positive = false;
    double margin = 0;      // draw 0
    std::vector<int> sign;  // per draw, positives alone
};

/// The queries of one context, positives first.
using CellQueries = std::vector<Query>;

CellQueries made_cell(std::int64_t positives, std::int64_t negatives, std::uint64_t item) {
    const Stream stream(12, "tally", item);
    std::uint64_t next = 0;
    CellQueries queries;
    for (std::int64_t i = 0; i < positives + negatives; ++i) {
        Query q;
        q.patient = static_cast<std::int32_t>(stream.below(next++, patients));
        q.positive = i < positives;
        q.margin = static_cast<double>(stream.below(next++, 5)) / 4 - 0.5;  // five values: ties of every kind
        for (std::int64_t r = 0; q.positive && r < draws; ++r) {
            const double margin = r == 0 ? q.margin : static_cast<double>(stream.below(next++, 3)) - 1;
            q.sign.push_back(margin > 0 ? 1 : margin < 0 ? -1 : 0);
        }
        queries.push_back(q);
    }
    return queries;
}

CellCounter counter_of(const CellQueries& queries, bool with_margins) {
    std::vector<std::int32_t> patient;
    std::vector<double> margin;
    std::int64_t positives = 0;
    for (const Query& q : queries) {
        patient.push_back(q.patient);
        margin.push_back(q.margin);
        positives += q.positive;
    }
    Matrix<std::int8_t> discordant(positives, draws), ties(positives, draws);
    for (std::int64_t i = 0; i < positives; ++i) {
        for (std::size_t r = 0; r < draws; ++r) {
            discordant.row(i)[r] = queries[static_cast<std::size_t>(i)].sign[r] > 0;
            ties.row(i)[r] = queries[static_cast<std::size_t>(i)].sign[r] == 0;
        }
    }
    if (!with_margins) margin.clear();
    return {patient, discordant.view(), ties.view(), margin, positives};
}

/// All resamples of one cell, a block of weights at a time.
Tally tally_of(const CellCounter& counter, const stats::Resampling& resampling) {
    Tally tally = counter.observed();
    tally.resampled.resize(static_cast<std::size_t>(resampling.resamples()));
    resampling.for_each_block([&](MatrixView<const stats::Weight> weights, std::int64_t first) {
        counter.count(weights,
                      std::span(tally.resampled)
                          .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(weights.cols)));
    });
    return tally;
}

/// Every query as many times as its patient was drawn.
CellQueries expanded(const CellQueries& queries, const std::vector<std::int64_t>& times) {
    CellQueries out;
    for (const Query& q : queries) {
        for (std::int64_t i = 0; i < times[static_cast<std::size_t>(q.patient)]; ++i) out.push_back(q);
    }
    return out;
}

/// The statistics of METHODS 3 and 3.2 from queries alone, as anyone would compute them from a list.
struct Plain {
    double rate, rate_mid, margin_auroc, balanced_accuracy;
};

Plain plainly(const std::vector<CellQueries>& cells) {
    double discordant = 0, ties = 0, asked = 0, wins = 0, pairs = 0;
    double right[2] = {}, labelled[2] = {};
    for (const CellQueries& queries : cells) {
        for (const Query& q : queries) {
            for (const int sign : q.sign) {
                discordant += sign > 0;
                ties += sign == 0;
                asked += 1;
            }
            labelled[q.positive] += 1;
            right[q.positive] += q.margin == 0 ? 0.5 : (q.margin < 0) == q.positive;
            for (const Query& other : queries) {  // pairs within the context alone
                if (!q.positive || other.positive) continue;
                pairs += 1;
                wins += q.margin == other.margin ? 0.5 : q.margin < other.margin;
            }
        }
    }
    return {discordant / asked, (discordant + ties / 2) / asked, wins / pairs,
            (right[1] / labelled[1] + right[0] / labelled[0]) / 2};
}

/// Whole numbers divided once or twice: the two ways differ by three roundings at most.
bool same(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 3 * 0x1p-53;
}

bool same(const Counts& counts, const Plain& plain) {
    return same(counts.rate(), plain.rate) && same(counts.rate_mid(), plain.rate_mid) &&
           same(counts.margin_auroc(), plain.margin_auroc) &&
           same(counts.balanced_accuracy(), plain.balanced_accuracy);
}

/// How often resample b drew each patient, by the stream of METHODS 4.
std::vector<std::int64_t> times_drawn(std::int64_t b) {
    std::vector<std::int64_t> times(patients);
    const Stream stream(42, "bootstrap/chest", static_cast<std::uint64_t>(b));
    for (std::uint64_t i = 0; i < patients; ++i) ++times[stream.below(i, patients)];
    return times;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_tally)

BOOST_AUTO_TEST_CASE(counts_by_hand) {
    // Three positives with DM 1, 0, -1 of patients 0, 0, 1 and two negatives with DM 2, -1 of patients 1, 2.
    const std::vector<std::int32_t> patient{0, 0, 1, 1, 2};
    const std::vector<double> margin{1, 0, -1, 2, -1};
    Matrix<std::int8_t> discordant(3, 1), ties(3, 1);
    for (std::int64_t i = 0; i < 3; ++i) {
        discordant.row(i)[0] = i == 0;
        ties.row(i)[0] = i == 1;
    }
    const CellCounter counter(patient, discordant.view(), ties.view(), margin, 3);
    const Counts& seen = counter.observed().observed;
    BOOST_TEST(seen.discordant == 1);
    BOOST_TEST(seen.ties == 1);
    BOOST_TEST(seen.queries == 3);
    // Scores -1, 0, 1 against -2, 1: 1 win, 1 win, 1 win and a tie.
    BOOST_TEST(seen.twice_wins == 2 + 2 + 2 + 1);
    BOOST_TEST(seen.pairs == 6);
    BOOST_TEST(seen.positive_right == 1 + 2);
    BOOST_TEST(seen.positives == 3);
    BOOST_TEST(seen.negative_right == 2);
    BOOST_TEST(seen.negatives == 2);
    BOOST_TEST(seen.rate() == 1.0 / 3);
    BOOST_TEST(seen.rate_mid() == 0.5);
    BOOST_TEST(seen.margin_auroc() == 7.0 / 12);
    BOOST_TEST(seen.balanced_accuracy() == 0.5);

    Matrix<stats::Weight> weights(3, 2);
    const stats::Weight drawn[3][2] = {{2, 0}, {0, 3}, {1, 0}};
    for (std::int64_t p = 0; p < 3; ++p) std::ranges::copy(drawn[p], weights.row(p).begin());
    std::vector<Counts> resampled(2);
    counter.count(weights.view(), resampled);
    BOOST_TEST(resampled[0].discordant == 2);
    BOOST_TEST(resampled[0].queries == 4);
    BOOST_TEST(resampled[0].pairs == 4);
    BOOST_TEST(resampled[0].twice_wins == 0);  // scores -1 and 0 lose to 1
    BOOST_TEST(resampled[1].discordant == 0);
    BOOST_TEST(resampled[1].queries == 3);
    BOOST_TEST(resampled[1].pairs == 9);
    BOOST_TEST(resampled[1].twice_wins == 18);
    // Counting adds, so that contexts may share their sums.
    counter.count(weights.view(), resampled);
    BOOST_TEST(resampled[1].pairs == 18);
    BOOST_TEST(resampled[0].discordant == 4);
    BOOST_TEST(resampled[0].queries == 8);
}

BOOST_AUTO_TEST_CASE(every_resample_is_what_its_repeated_patients_give_from_scratch) {
    const std::vector<CellQueries> cells{made_cell(14, 10, 1), made_cell(9, 15, 2), made_cell(5, 1, 3)};
    const stats::Resampling resampling(42, "chest", patients, resamples);
    std::vector<Tally> tallies;
    Tally pooled;
    for (const CellQueries& queries : cells) {
        tallies.push_back(tally_of(counter_of(queries, true), resampling));
        pooled += tallies.back();
    }
    BOOST_TEST(same(pooled.observed, plainly(cells)));
    int undefined = 0;
    for (std::int64_t b = 0; b < resamples; ++b) {
        const auto at = static_cast<std::size_t>(b);
        std::vector<CellQueries> drawn;
        for (std::size_t c = 0; c < cells.size(); ++c) {
            drawn.push_back(expanded(cells[c], times_drawn(b)));
            BOOST_TEST(same(tallies[c].resampled[at], plainly({drawn.back()})),
                       "resample " << b << ", context " << c);
            undefined += std::isnan(tallies[c].resampled[at].margin_auroc());
        }
        BOOST_TEST(same(pooled.resampled[at], plainly(drawn)), "resample " << b << ", pooled");
        BOOST_TEST(pooled.resampled[at].queries % draws == 0);
    }
    BOOST_TEST(undefined > 0);  // the third context has one negative: without its patient there is no pair
}

BOOST_AUTO_TEST_CASE(draws_are_counted_apart_and_together) {
    const CellQueries queries = made_cell(20, 4, 4);
    const Tally tally = counter_of(queries, true).observed();
    BOOST_TEST(tally.discordant_by_draw.size() == static_cast<std::size_t>(draws));
    std::int64_t sum = 0;
    for (std::size_t r = 0; r < draws; ++r) {
        const auto expected =
            std::ranges::count_if(queries, [&](const Query& q) { return q.positive && q.sign[r] > 0; });
        BOOST_TEST(tally.discordant_by_draw[r] == expected);
        sum += expected;
    }
    BOOST_TEST(tally.observed.discordant == sum);
    BOOST_TEST(tally.observed.queries == 20 * draws);
    BOOST_TEST(tally.observed.positives == 20);
}

BOOST_AUTO_TEST_CASE(without_margins_only_rates_are_counted) {
    const CellQueries queries = made_cell(12, 8, 5);
    const stats::Resampling resampling(42, "chest", patients, 10);
    const Tally with = tally_of(counter_of(queries, true), resampling);
    const Tally without = tally_of(counter_of(queries, false), resampling);
    for (std::size_t b = 0; b < 10; ++b) {
        BOOST_TEST(without.resampled[b].discordant == with.resampled[b].discordant);
        BOOST_TEST(without.resampled[b].queries == with.resampled[b].queries);
        BOOST_TEST(without.resampled[b].pairs == 0);
    }
    BOOST_TEST(std::isnan(without.observed.margin_auroc()));
    BOOST_TEST(std::isnan(without.observed.balanced_accuracy()));
}

BOOST_AUTO_TEST_CASE(nothing_counted_is_undefined_and_one_class_alone_too) {
    const Counts none;
    BOOST_TEST(std::isnan(none.rate()));
    BOOST_TEST(std::isnan(none.rate_mid()));
    BOOST_TEST(std::isnan(none.margin_auroc()));
    BOOST_TEST(std::isnan(none.balanced_accuracy()));
    const Counts positives_alone = counter_of(made_cell(7, 0, 6), true).observed().observed;
    BOOST_TEST(!std::isnan(positives_alone.rate()));
    BOOST_TEST(std::isnan(positives_alone.margin_auroc()));
    BOOST_TEST(std::isnan(positives_alone.balanced_accuracy()));
}

// Faults 12: patient A has two discordant positives, B and C one concordant each.
BOOST_AUTO_TEST_CASE(a_patient_drawn_twice_counts_twice) {
    const std::int64_t many = 10000;
    const std::vector<std::int32_t> patient{0, 0, 1, 2};
    Matrix<std::int8_t> discordant(4, 1), ties(4, 1);
    for (std::int64_t i = 0; i < 4; ++i) {
        discordant.row(i)[0] = i < 2;
        ties.row(i)[0] = 0;
    }
    const CellCounter counter(patient, discordant.view(), ties.view(), {}, 4);
    const Tally tally = tally_of(counter, stats::Resampling(42, "faults", 3, many));
    std::map<double, double> share;
    for (const Counts& counts : tally.resampled) share[counts.rate()] += 1.0 / static_cast<double>(many);
    // A drawn 0 to 3 times of 3: 0, 2/4, 4/5, 1 with chances (2/3)^3, 3 (1/3)(2/3)^2, ... Nothing else can
    // come.
    const std::map<double, double> expected{{0, 8.0 / 27}, {0.5, 12.0 / 27}, {0.8, 6.0 / 27}, {1, 1.0 / 27}};
    BOOST_TEST(share.size() == expected.size());
    for (const auto& [rate, chance] : expected) {
        // Four standard errors of a share of 10,000.
        BOOST_TEST(std::abs(share[rate] - chance) <
                   4 * std::sqrt(chance * (1 - chance) / static_cast<double>(many)));
    }
}

BOOST_AUTO_TEST_CASE(tallies_of_other_draws_or_resamples_do_not_add) {
    Tally a, b, c;
    a.discordant_by_draw = {1, 2};
    a.resampled.resize(3);
    b = a;
    b.discordant_by_draw = {1};
    c = a;
    c.resampled.resize(4);
    BOOST_CHECK_EXCEPTION(a += b, InternalError, [](const InternalError& error) {
        return std::string(error.what()).find("(draws differ)") != std::string::npos;
    });
    BOOST_CHECK_EXCEPTION(a += c, InternalError, [](const InternalError& error) {
        return std::string(error.what()).find("(resamples differ)") != std::string::npos;
    });
}

BOOST_AUTO_TEST_SUITE_END()
