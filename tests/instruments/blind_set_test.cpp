#include "candor/instruments/blind_set.hpp"

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/stats/hypergeometric.hpp"
#include "candor/stats/student_t.hpp"

using namespace candor;
using instruments::BlindSets;
using instruments::ContextOverlap;
using instruments::pair_overlap;
using instruments::PairOverlap;

namespace {

using Flags = std::vector<std::vector<std::vector<bool>>>;  // [encoder][context][positive]

/// An encoder's chance to be blind differs by encoder and context.
Flags random_flags(std::uint64_t item, std::int64_t encoders, const std::vector<std::int64_t>& populations) {
    const Stream stream(21, "blind sets", item);
    Flags flags;
    std::uint64_t draw = 0;
    for (std::int64_t e = 0; e < encoders; ++e) {
        flags.emplace_back();
        for (const std::int64_t population : populations) {
            const double rate = stream.uniform(draw++);
            flags.back().emplace_back();
            for (std::int64_t i = 0; i < population; ++i)
                flags.back().back().push_back(stream.uniform(draw++) < rate);
        }
    }
    return flags;
}

BlindSets sets_of(const Flags& flags, const std::vector<std::int64_t>& populations) {
    BlindSets sets(std::ssize(flags), populations);
    for (std::size_t e = 0; e < flags.size(); ++e) {
        for (std::size_t c = 0; c < populations.size(); ++c) {
            for (std::size_t i = 0; i < flags[e][c].size(); ++i) {
                if (flags[e][c][i])
                    sets.add(static_cast<std::int64_t>(e), static_cast<std::int64_t>(c),
                             static_cast<std::int64_t>(i));
            }
        }
    }
    return sets;
}

// Around the ends of words, nothing among them.
const std::vector<std::int64_t> word_ends{0, 1, 63, 64, 65, 130, 0};

bool near(double a, double b, double relative) {
    return std::abs(a - b) <= relative * std::abs(b);
}

bool all_undefined(const instruments::OverlapNull& null) {
    return std::isnan(null.log10_p) && std::isnan(null.p) && std::isnan(null.expected_jaccard) &&
           std::isnan(null.delta_jaccard);
}

/// Probabilities of X by counting: of all sets of `second` among `population`, those that meet a fixed set of
/// `first` in k members. Exact in double for the small sets asked for.
std::vector<double> by_counting(const ContextOverlap& context) {
    std::vector<double> ways(static_cast<std::size_t>(context.population) + 1);
    double all = 0;
    for (std::uint64_t set = 0; set < std::uint64_t{1} << context.population; ++set) {
        if (std::popcount(set) != context.blind_b) continue;
        const std::uint64_t first = (std::uint64_t{1} << context.blind_a) - 1;
        ++ways[static_cast<std::size_t>(std::popcount(set & first))];
        ++all;
    }
    for (double& w : ways) w /= all;
    return ways;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_blind_set)

BOOST_AUTO_TEST_CASE(sizes_overlaps_and_counts_are_those_of_the_positives_one_by_one) {
    for (const std::int64_t encoders : {1, 2, 5, 8}) {
        const Flags flags = random_flags(static_cast<std::uint64_t>(encoders), encoders, word_ends);
        const BlindSets sets = sets_of(flags, word_ends);
        BOOST_TEST(sets.encoders() == encoders);
        BOOST_TEST(sets.contexts() == 7);
        BOOST_TEST(sets.population() == 323);

        std::vector<std::int64_t> count;
        for (std::size_t c = 0; c < word_ends.size(); ++c) {
            for (std::size_t i = 0; i < static_cast<std::size_t>(word_ends[c]); ++i) {
                count.push_back(
                    std::ranges::count_if(flags, [&](const auto& encoder) { return encoder[c][i]; }));
            }
        }
        BOOST_TEST(sets.blind_encoders() == count, boost::test_tools::per_element());

        for (std::int64_t a = 0; a < encoders; ++a) {
            for (std::int64_t b = 0; b < encoders; ++b) {
                const std::vector<ContextOverlap> overlaps = sets.overlaps(a, b);
                BOOST_TEST_REQUIRE(overlaps.size() == word_ends.size());
                for (std::size_t c = 0; c < word_ends.size(); ++c) {
                    const auto& of_a = flags[static_cast<std::size_t>(a)][c];
                    const auto& of_b = flags[static_cast<std::size_t>(b)][c];
                    std::int64_t both = 0;
                    for (std::size_t i = 0; i < of_a.size(); ++i) both += of_a[i] && of_b[i];
                    BOOST_TEST(overlaps[c].population == word_ends[c]);
                    BOOST_TEST(overlaps[c].blind_a == std::ranges::count(of_a, true));
                    BOOST_TEST(overlaps[c].blind_b == std::ranges::count(of_b, true));
                    BOOST_TEST(overlaps[c].overlap == both);
                    BOOST_TEST(sets.size(a, static_cast<std::int64_t>(c)) == overlaps[c].blind_a);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(contexts_start_words_and_padding_stays_empty) {
    Flags full{{}, {}};
    for (auto& encoder : full) {
        for (const std::int64_t population : word_ends)
            encoder.emplace_back(static_cast<std::size_t>(population), true);
    }
    BlindSets sets = sets_of(full, word_ends);
    BOOST_TEST(sets.words().size() == 2 * (0 + 1 + 1 + 1 + 2 + 3 + 0));
    std::int64_t ones = 0;
    for (const std::uint64_t word : sets.words()) ones += std::popcount(word);
    BOOST_TEST(ones == 2 * 323);
}

BOOST_AUTO_TEST_CASE(what_does_not_exist_cannot_be_added) {
    BlindSets sets(2, std::vector<std::int64_t>{3, 65});
    for (const auto& [encoder, context, position, what] :
         {std::tuple(2, 0, 0, "encoder 2 of 2, context 0 of 2, positive 0"),
          std::tuple(0, 2, 0, "encoder 0 of 2, context 2 of 2, positive 0"),
          std::tuple(0, 0, 3, "encoder 0 of 2, context 0 of 2, positive 3"),
          std::tuple(1, 1, -1, "encoder 1 of 2, context 1 of 2, positive -1")}) {
        BOOST_CHECK_EXCEPTION(sets.add(encoder, context, position), InternalError,
                              [what = std::string(what)](const InternalError& error) {
                                  return std::string(error.what()).find(what) != std::string::npos;
                              });
    }
}

// METHODS 6, faults 14 and 15. The figures are known to the digits given.
BOOST_AUTO_TEST_CASE(pairs_have_the_known_figures) {
    const PairOverlap large = pair_overlap(std::vector<ContextOverlap>{{22142, 9000, 9000, 7000}});
    BOOST_TEST(std::abs(large.pooled.log10_p - -1993.3211) < 5e-5);
    BOOST_TEST(std::abs(large.stratified.log10_p - -1993.3211) < 5e-5);
    BOOST_TEST(large.pooled.p == 0);  // below the smallest double: log10_p is what is left

    const PairOverlap small = pair_overlap(std::vector<ContextOverlap>{{10, 4, 5, 3}});
    BOOST_TEST(small.contexts == 1);
    BOOST_TEST(small.population == 10);
    BOOST_TEST(small.blind_a == 4);
    BOOST_TEST(small.blind_b == 5);
    BOOST_TEST(small.overlap == 3);
    BOOST_TEST(small.jaccard == 0.5);
    for (const auto& null : {small.pooled, small.stratified}) {
        // Errors of the tails (1e-11) and of the logarithm's digits, times ln 10.
        BOOST_TEST(near(null.p, 11.0 / 42, 1e-10));
        BOOST_TEST(near(null.expected_jaccard, 1787.0 / 5880, 1e-11));
        BOOST_TEST(std::abs(null.delta_jaccard - 0.196088) < 5e-7);
    }

    const PairOverlap inside = pair_overlap(std::vector<ContextOverlap>{{19275, 4, 2880, 4}});
    BOOST_TEST(std::abs(inside.pooled.p - 4.9753364e-04) < 5e-12);
    BOOST_TEST(pair_overlap(std::vector<ContextOverlap>{{10, 4, 5, 0}}).pooled.p == 1);
}

BOOST_AUTO_TEST_CASE(empty_sets_are_no_evidence) {
    for (const std::vector<ContextOverlap>& contexts :
         {std::vector<ContextOverlap>{}, std::vector<ContextOverlap>{{0, 0, 0, 0}},
          std::vector<ContextOverlap>{{7, 0, 0, 0}, {5, 0, 0, 0}}}) {
        const PairOverlap neither = pair_overlap(contexts);
        BOOST_TEST(std::isnan(neither.jaccard));
        BOOST_TEST(all_undefined(neither.pooled));
        BOOST_TEST(all_undefined(neither.stratified));
    }
    const PairOverlap one =
        pair_overlap(std::vector<ContextOverlap>{{7, 0, 3, 0}, {0, 0, 0, 0}, {5, 0, 2, 0}});
    BOOST_TEST(one.contexts == 2);
    BOOST_TEST(one.jaccard == 0);
    for (const auto& null : {one.pooled, one.stratified}) {
        BOOST_TEST(null.p == 1);
        BOOST_TEST(null.log10_p == 0);
        BOOST_TEST(null.expected_jaccard == 0);
        BOOST_TEST(null.delta_jaccard == 0);
    }
}

// An encoder that is blind to everything meets any other's whole set: to the bit nothing above chance.
BOOST_AUTO_TEST_CASE(what_chance_cannot_change_is_not_above_it) {
    for (std::int64_t n = 1; n < 200; ++n) {
        const std::int64_t b = 1 + n / 3;
        const PairOverlap pair = pair_overlap(std::vector<ContextOverlap>{{n, n, b, b}});
        BOOST_TEST(pair.pooled.delta_jaccard == 0);
        BOOST_TEST(pair.pooled.p == 1);
        BOOST_TEST(pair.stratified.delta_jaccard == 0);
        BOOST_TEST(pair.stratified.p == 1);
    }
    // Blind to all of one context and to nothing of the other: certain within contexts alone.
    const PairOverlap unequal = pair_overlap(std::vector<ContextOverlap>{{20, 20, 10, 10}, {20, 0, 5, 0}});
    BOOST_TEST(unequal.stratified.delta_jaccard == 0);
    BOOST_TEST(unequal.stratified.p == 1);
    BOOST_TEST(unequal.pooled.delta_jaccard > 0.05);
    BOOST_TEST(unequal.pooled.p < 0.2);
}

BOOST_AUTO_TEST_CASE(both_nulls_are_those_of_all_possible_sets) {
    const Stream stream(22, "pairs", 0);
    std::uint64_t draw = 0;
    for (int trial = 0; trial < 60; ++trial) {
        std::vector<ContextOverlap> contexts;
        ContextOverlap whole;
        std::vector<double> sum{1.0};
        for (std::uint64_t c = 0, count = 1 + stream.below(draw++, 3); c < count; ++c) {
            ContextOverlap context;
            context.population = static_cast<std::int64_t>(1 + stream.below(draw++, 5));
            const auto size = [&] {
                return static_cast<std::int64_t>(
                    stream.below(draw++, static_cast<std::uint64_t>(context.population) + 1));
            };
            context.blind_a = size();
            context.blind_b = size();
            const std::int64_t least =
                std::max<std::int64_t>(0, context.blind_a + context.blind_b - context.population);
            const std::int64_t most = std::min(context.blind_a, context.blind_b);
            context.overlap = least + static_cast<std::int64_t>(
                                          stream.below(draw++, static_cast<std::uint64_t>(most - least) + 1));
            whole.population += context.population;
            whole.blind_a += context.blind_a;
            whole.blind_b += context.blind_b;
            whole.overlap += context.overlap;
            const std::vector<double> p = by_counting(context);
            std::vector<double> next(sum.size() + p.size() - 1);
            for (std::size_t i = 0; i < sum.size(); ++i) {
                for (std::size_t j = 0; j < p.size(); ++j) next[i + j] += sum[i] * p[j];
            }
            sum = next;
            contexts.push_back(context);
        }
        const PairOverlap pair = pair_overlap(contexts);
        BOOST_TEST(pair.population == whole.population);
        BOOST_TEST(pair.overlap == whole.overlap);
        if (whole.blind_a + whole.blind_b == 0) {
            BOOST_TEST(std::isnan(pair.pooled.p));
            continue;
        }
        const auto check = [&](const instruments::OverlapNull& seen, const std::vector<double>& p) {
            double tail = 0, expected = 0;
            for (std::size_t i = 0; i < p.size(); ++i) {
                const auto overlap = static_cast<std::int64_t>(i);
                if (overlap >= whole.overlap) tail += p[i];
                if (p[i] > 0)
                    expected += p[i] * static_cast<double>(overlap) /
                                static_cast<double>(whole.blind_a + whole.blind_b - overlap);
            }
            // The stratified tail's own bound, 1e-11, times ln 10.
            BOOST_TEST(std::abs(seen.p - tail) < 3e-11);
            BOOST_TEST(std::abs(seen.expected_jaccard - expected) < 1e-12);
            BOOST_TEST(seen.delta_jaccard == pair.jaccard - seen.expected_jaccard);
        };
        check(pair.pooled, by_counting(whole));
        check(pair.stratified, sum);
    }
}

// Two sets that are large in the same context overlap beyond the pooled null and not beyond the stratified.
BOOST_AUTO_TEST_CASE(unequal_contexts_are_no_sharing) {
    const PairOverlap pair = pair_overlap(std::vector<ContextOverlap>{{100, 80, 80, 64}, {100, 10, 10, 1}});
    BOOST_TEST(pair.pooled.p < 1e-9);
    BOOST_TEST(pair.stratified.p > 0.4);
    BOOST_TEST(std::abs(pair.stratified.delta_jaccard) < 0.01);
}

BOOST_AUTO_TEST_CASE(half_of_the_panel_is_not_most_of_it) {
    BOOST_TEST(!instruments::most_are_blind(2, 4));
    BOOST_TEST(instruments::most_are_blind(3, 4));
    BOOST_TEST(!instruments::most_are_blind(2, 5));
    BOOST_TEST(instruments::most_are_blind(3, 5));
    BOOST_TEST(instruments::most_are_blind(1, 1));
    BOOST_TEST(!instruments::most_are_blind(0, 1));
}

BOOST_AUTO_TEST_CASE(independent_encoders_agree_as_often_as_all_their_outcomes_say) {
    const std::vector<std::int64_t> populations{10, 0, 65, 3};
    for (const std::int64_t encoders : {1, 2, 3, 4, 7}) {
        const BlindSets sets = sets_of(
            random_flags(static_cast<std::uint64_t>(100 + encoders), encoders, populations), populations);
        double expected = 0;
        for (std::int64_t c = 0; c < std::ssize(populations); ++c) {
            const auto n = static_cast<double>(sets.population(c));
            for (std::uint64_t who = 0; n > 0 && who < std::uint64_t{1} << encoders; ++who) {
                if (2 * std::popcount(who) <= encoders) continue;
                double probability = 1;
                for (std::int64_t e = 0; e < encoders; ++e) {
                    const double rate = static_cast<double>(sets.size(e, c)) / n;
                    probability *= (who >> e & 1) != 0 ? rate : 1 - rate;
                }
                expected += n * probability;
            }
        }
        // Sums of at most 2^7 positive products of at most 7 factors: some 2^8 roundings.
        BOOST_TEST(near(instruments::independent_consensus(sets), expected, 256 * 0x1p-52));
    }
}

// Three encoders blind to half each, whichever: 1/2. Four: more than two of them, 5/16.
BOOST_AUTO_TEST_CASE(coins_agree_as_coins_do) {
    for (const auto& [encoders, share] : {std::pair(3, 0.5), std::pair(4, 5.0 / 16)}) {
        BlindSets sets(encoders, std::vector<std::int64_t>{2, 64});
        for (std::int64_t e = 0; e < encoders; ++e) {
            sets.add(e, 0, 0);
            for (std::int64_t i = 0; i < 32; ++i) sets.add(e, 1, 2 * i);
        }
        BOOST_TEST(instruments::independent_consensus(sets) == 66 * share);
    }
    BOOST_TEST(instruments::independent_consensus(BlindSets(3, std::vector<std::int64_t>{})) == 0);
}

// Two positives of 180 each, one in common: a chance of 1/90, half of it counted, not one of 1e-10 as its 6.6
// standard deviations would say. Permuted labels that share nothing are near a normal.
BOOST_AUTO_TEST_CASE(few_blind_positives_are_judged_by_their_exact_tail) {
    const instruments::ContextOverlap observed{180, 2, 2, 1};
    std::vector<instruments::ContextOverlap> permuted;
    // 90 of 180 each: expected 45, standard deviation sqrt(90^4 / (180^2 179)) = 3.3634.
    for (int i = 0; i < 100; ++i) {
        permuted.push_back({180, 90, 90, 45 + 3});
        permuted.push_back({180, 90, 90, 45 - 3});
    }
    const double sd = 3 / std::sqrt(90.0 * 90 * 90 * 90 / (180.0 * 180 * 179)) * std::sqrt(200.0 / 199);
    // scipy.stats.norm.isf((hypergeom.sf(0, 180, 2, 2) + hypergeom.sf(1, 180, 2, 2)) / 2)
    const double t = 2.2865479513109808 / sd;
    const auto null = instruments::relabel_null({&observed, 1}, permuted);
    BOOST_TEST(null.p == stats::two_sided_t(t, 199) / 2, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(null.p > 1e-3);
}

BOOST_AUTO_TEST_SUITE_END()
