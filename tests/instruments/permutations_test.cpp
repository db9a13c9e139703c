// Permutations and subsamples against the definition, one world at a time: candidates are listed, all cosines
// sorted, the k largest averaged (METHODS 3), the pairs of the AUROC compared one by one (3.2).

#include "candor/instruments/permutations.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/base/sum.hpp"

using namespace candor;
using namespace candor::instruments;

namespace {

/// Rows of patients of 1 to `images` rows; `positive` of `rows` rows, a patient's in part of one label.
struct Cohort {
    std::vector<LabelledRow> rows;
    std::vector<std::vector<double>> cosine;
};

Cohort make_cohort(std::uint64_t seed, std::int64_t rows, double prevalence, std::int64_t images,
                   double shared) {
    const Stream stream(seed, "permutations test", 0);
    std::uint64_t next = 0;
    Cohort cohort;
    std::vector<std::vector<double>> features;
    std::int32_t patient = -1;
    std::int64_t left = 0;
    std::int8_t label = 0;
    std::vector<double> centre(4);
    const auto normal = [&] {
        double sum = -6;
        for (int i = 0; i < 12; ++i) sum += stream.uniform(next++);
        return sum;
    };
    for (std::int64_t i = 0; i < rows; ++i) {
        if (left-- == 0) {
            ++patient;
            left = static_cast<std::int64_t>(stream.below(next++, static_cast<std::uint64_t>(images)));
            label = stream.uniform(next++) < prevalence;
            for (double& value : centre) value = normal();
        }
        const bool other = stream.uniform(next++) < 0.2;
        LabelledRow row;
        row.label =
            images > 1 && other ? static_cast<std::int8_t>(stream.uniform(next++) < prevalence) : label;
        row.patient = patient;
        row.identity = static_cast<std::int32_t>(i);
        cohort.rows.push_back(row);
        std::vector<double> x;
        for (const double c : centre) x.push_back(shared * c + normal());
        const double length = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
        for (double& value : x) value /= length;
        features.push_back(x);
    }
    // Key order is an order at random.
    std::vector<std::size_t> order(cohort.rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[stream.below(next++, i + 1)]);
    Cohort shuffled;
    for (const std::size_t i : order) {
        shuffled.rows.push_back(cohort.rows[i]);
        shuffled.cosine.emplace_back();
        for (const std::size_t j : order)
            shuffled.cosine.back().push_back(
                std::inner_product(features[i].begin(), features[i].end(), features[j].begin(), 0.0));
    }
    return shuffled;
}

std::vector<NearList> lists_of(const Cohort& cohort, const Participants& all, std::int64_t length) {
    std::vector<NearList> lists;
    for (const std::int64_t x : all.chosen()) {
        std::vector<std::pair<double, std::int32_t>> near;
        for (std::int64_t y = 0; y < all.size(); ++y) {
            const std::int64_t row = all.chosen()[static_cast<std::size_t>(y)];
            if (row != x)
                near.emplace_back(-cohort.cosine[static_cast<std::size_t>(x)][static_cast<std::size_t>(row)],
                                  static_cast<std::int32_t>(y));
        }
        std::ranges::sort(near);
        NearList list;
        list.whole = length >= std::ssize(near);
        near.resize(static_cast<std::size_t>(std::min(length, std::ssize(near))));
        for (const auto& [cosine, row] : near) {
            list.cosine.push_back(-cosine);
            list.row.push_back(row);
        }
        lists.push_back(std::move(list));
    }
    return lists;
}

/// DM of a query, straight from the roles of one world; NaN where a side has fewer than k.
double margin_of(const Cohort& cohort, const Participants& all, std::span<const RowWorlds> roles,
                 std::size_t x, int world, int k) {
    std::array<double, 2> mean{};
    for (std::size_t side = 0; side < 2; ++side) {
        bool own = false;
        for (std::size_t y = 0; y < roles.size(); ++y)
            own = own || (all.unit()[y] == all.unit()[x] && (roles[y].near[side] >> world & 1) != 0);
        std::vector<double> cosines;
        for (std::size_t y = 0; y < roles.size(); ++y) {
            const bool near = (roles[y].near[side] >> world & 1) != 0,
                       last = (roles[y].last[side] >> world & 1) != 0;
            if (all.unit()[y] == all.unit()[x] || !(near || (own && last))) continue;
            cosines.push_back(cohort.cosine[static_cast<std::size_t>(all.chosen()[x])]
                                           [static_cast<std::size_t>(all.chosen()[y])]);
        }
        if (std::ssize(cosines) < k) return std::nan("");
        std::ranges::sort(cosines, std::greater());
        for (int i = 0; i < k; ++i) mean[side] += cosines[static_cast<std::size_t>(i)];
        mean[side] /= k;
    }
    return mean[0] - mean[1];
}

Counts counts_of(const Cohort& cohort, const Participants& all, std::span<const RowWorlds> roles, int world,
                 int k, std::vector<bool>& blind) {
    Counts counts;
    std::vector<double> positive, negative;
    for (std::size_t x = 0; x < roles.size(); ++x) {
        for (std::size_t side = 0; side < 2; ++side) {
            if ((roles[x].asks[side] >> world & 1) == 0) continue;
            const double margin = margin_of(cohort, all, roles, x, world, k);
            if (side == 1) blind.push_back(margin > 0);
            if (std::isnan(margin)) continue;
            (side == 1 ? positive : negative).push_back(-margin);
        }
    }
    counts.queries = std::ssize(positive);
    counts.pairs = std::ssize(positive) * std::ssize(negative);
    for (const double p : positive) {
        counts.discordant += p < 0;
        counts.ties += p == 0;
        for (const double n : negative) counts.twice_wins += p > n ? 2 : p == n;
    }
    return counts;
}

void check_worlds(const Cohort& cohort, const Participants& all, const std::vector<RowWorlds>& roles,
                  int worlds, std::int64_t length, std::int64_t positives) {
    const int k = all.rules().k;
    std::vector<NearList> lists = lists_of(cohort, all, length);
    const std::vector<NearList> whole = lists_of(cohort, all, all.size());
    WorldCounter counter(roles, all.unit(), k, worlds, true, positives);
    std::vector<std::int64_t> later;  // those whose lists end early
    for (std::size_t x = 0; x < lists.size(); ++x) {
        const auto at = static_cast<std::int64_t>(x);
        if (counter.add(at, lists[x])) continue;
        lists[x] = whole[x];
        later.push_back(at);
    }
    BOOST_TEST(2 * later.size() < lists.size());
    if (!later.empty())
        BOOST_CHECK_THROW(
            count_worlds(lists_of(cohort, all, length), roles, all.unit(), k, worlds, true, positives),
            InternalError);
    for (const std::int64_t x : later) BOOST_TEST(counter.add(x, whole[static_cast<std::size_t>(x)]));
    const WorldCounts found = counter.finish();
    const WorldCounts at_once = count_worlds(lists, roles, all.unit(), k, worlds, true, positives);
    BOOST_TEST(found.blind == at_once.blind);
    for (int world = 0; world < worlds; ++world) {
        std::vector<bool> blind;
        const Counts expected = counts_of(cohort, all, roles, world, k, blind);
        const Counts& counts = found.counts[static_cast<std::size_t>(world)];
        BOOST_TEST(counts.discordant == expected.discordant);
        BOOST_TEST(counts.ties == expected.ties);
        BOOST_TEST(counts.queries == expected.queries);
        BOOST_TEST(counts.twice_wins == expected.twice_wins);
        BOOST_TEST(counts.pairs == expected.pairs);
        if (positives == 0) continue;
        BOOST_TEST(std::ssize(blind) == positives);
        for (std::size_t i = 0; i < blind.size(); ++i) {
            const std::uint64_t word = found.blind[static_cast<std::size_t>(world * found.words) + i / 64];
            BOOST_TEST((word >> (i % 64) & 1) == blind[i]);
        }
    }
}

RoleRules rules_of(bool distinct, std::int64_t cap, NegativesAsking negatives) {
    RoleRules rules;
    rules.by_patient = distinct;
    rules.cap = cap;
    rules.k = 3;
    rules.negatives = negatives;
    return rules;
}

/// How often each combination of roles occurs in a world.
std::map<std::vector<bool>, int> kinds_of(std::span<const RowWorlds> roles, int world) {
    std::map<std::vector<bool>, int> kinds;
    for (const RowWorlds& row : roles) {
        std::vector<bool> kind;
        for (std::size_t side = 0; side < 2; ++side) {
            for (const Worlds word : {row.asks[side], row.near[side], row.last[side]})
                kind.push_back(word >> world & 1);
        }
        ++kinds[kind];
    }
    return kinds;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(permutations)

BOOST_AUTO_TEST_CASE(worlds_are_what_the_definition_says) {
    for (const double prevalence : {0.15, 0.5, 0.85}) {
        for (const std::int64_t images : {1, 4}) {
            for (const bool distinct : {false, true}) {
                for (const std::int64_t cap : {12, 1000}) {
                    const Cohort cohort = make_cohort(3, 150, prevalence, images, 1);
                    const Participants all(cohort.rows, rules_of(distinct, cap, NegativesAsking::bank));
                    BOOST_REQUIRE(all.scored());
                    check_worlds(cohort, all, all.observed(), 1, all.list_length(), all.positives());
                    check_worlds(cohort, all, all.permuted(1, "f", 64, 50), 50, all.list_length(),
                                 all.positives());
                    const auto drawn = draw_patients(1, "t", 150, wide_share, 0, 40);
                    check_worlds(cohort, all, all.subsampled(drawn), 40, all.size(), 0);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(negatives_that_ask_and_other_rules) {
    const Cohort cohort = make_cohort(5, 120, 0.3, 2, 1);
    for (const NegativesAsking negatives : {NegativesAsking::all, NegativesAsking::none}) {
        for (const bool same_n : {false, true}) {
            RoleRules rules = rules_of(false, 50, negatives);
            rules.leaves_one_out = false;
            rules.same_n = same_n;
            const Participants all(cohort.rows, rules);
            check_worlds(cohort, all, all.permuted(2, "f", 0, 10), 10, all.list_length(), all.positives());
        }
    }
}

BOOST_AUTO_TEST_CASE(a_permutation_exchanges_roles_and_nothing_else) {
    const Cohort cohort = make_cohort(7, 200, 0.3, 1, 1);
    const Participants all(cohort.rows, rules_of(false, 1000, NegativesAsking::bank));
    // n + 1 rows of each label take part.
    BOOST_TEST(all.size() == 2 * all.positives());
    const auto observed = kinds_of(all.observed(), 0);
    const auto roles = all.permuted(9, "f", 0, 64);
    BOOST_TEST((all.permuted(9, "f", 20, 1)[0].asks[1] & 1) == (roles[0].asks[1] >> 20 & 1));
    std::int64_t asked = 0;
    for (int world = 0; world < 64; ++world) BOOST_TEST((kinds_of(roles, world) == observed));
    for (const RowWorlds& row : roles)
        asked += std::popcount(row.asks[1]) > 16 && std::popcount(row.asks[1]) < 48;
    BOOST_TEST(asked == all.size());  // within 4 standard deviations of 32
}

BOOST_AUTO_TEST_CASE(whole_patients_exchange_with_those_of_as_many_rows) {
    const Cohort cohort = make_cohort(11, 300, 0.3, 3, 1);
    const Participants all(cohort.rows, rules_of(true, 1000, NegativesAsking::bank));
    const auto observed = all.observed();
    const auto signatures = [&](std::span<const RowWorlds> roles, int world) {
        std::map<std::int32_t, std::vector<int>> by_patient;
        for (std::size_t i = 0; i < roles.size(); ++i)
            by_patient[all.rows()[i].patient].push_back(
                static_cast<int>((roles[i].asks[1] >> world & 1) + 2 * (roles[i].near[0] >> world & 1) +
                                 4 * (roles[i].near[1] >> world & 1)));
        std::map<std::vector<int>, int> count;
        for (const auto& [patient, roles_of_him] : by_patient) ++count[roles_of_him];
        return count;
    };
    const auto roles = all.permuted(9, "f", 0, 20);
    for (int world = 0; world < 20; ++world)
        BOOST_TEST((signatures(roles, world) == signatures(observed, 0)));
}

BOOST_AUTO_TEST_CASE(null_and_wide_interval_against_scipy) {
    const std::vector<double> permuted{0.45, 0.5, 0.55, 0.52, 0.48, std::nan("")};
    const NullTest test = null_test(0.6, permuted);
    BOOST_TEST(test.mean == 0.5, boost::test_tools::tolerance(1e-15));
    // numpy.std([...], ddof=1); 2 * scipy.stats.t.sf(0.1 / sd, 4)
    BOOST_TEST(test.sd == 0.03807886552931954, boost::test_tools::tolerance(1e-14));
    BOOST_TEST(test.p == 0.05842270796923085, boost::test_tools::tolerance(1e-10));
    BOOST_TEST(std::isnan(test.rank_p));
    BOOST_TEST(std::isnan(null_test(0.6, std::vector<double>(5, 0.5)).p));
    std::vector<double> many(999);
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i) / 998;
    BOOST_TEST(null_test(1, many).rank_p == 3.0 / 1000);
    const WideInterval wide = wide_interval(0.5, permuted, 0.25, 0.95);
    // 0.5 - scipy.stats.t.ppf(0.975, 4) * sd / sqrt(3)
    BOOST_TEST(wide.low == 0.5 - 2.7764451051977987 * 0.03807886552931954 / std::sqrt(3.0),
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(wide.valid == 5);
}

BOOST_AUTO_TEST_CASE(tests_hold_their_size) {
    // Labels say nothing; patients of 1 to 3 images share geometry and mostly labels. 300 cohorts of two
    // tests: rejections at 5 % within 3 Monte Carlo errors of it.
    constexpr int cohorts = 300;
    for (const std::int64_t images : {1, 3}) {
        for (const bool distinct : {false, true}) {
            std::array<int, 2> rejected{};
            for (int c = 0; c < cohorts; ++c) {
                const Cohort cohort = make_cohort(1000 + static_cast<std::uint64_t>(c), 120, 0.25, images, 2);
                RoleRules rules = rules_of(distinct, 1000, NegativesAsking::bank);
                const Participants all(cohort.rows, rules);
                if (!all.scored()) continue;
                const auto lists = lists_of(cohort, all, all.size());
                const auto count = [&](const std::vector<RowWorlds>& roles, int worlds) {
                    return count_worlds(lists, roles, all.unit(), 3, worlds, true, 0).counts;
                };
                const Counts observed = count(all.observed(), 1).front();
                std::vector<double> rate, auroc;
                for (const std::int64_t first : {0, 64, 128}) {
                    for (const Counts& one : count(all.permuted(1, "f", first, 64), 64)) {
                        rate.push_back(one.rate_mid());
                        auroc.push_back(one.margin_auroc());
                    }
                }
                rejected[0] += null_test(observed.rate_mid(), rate).p <= 0.05;
                rejected[1] += null_test(observed.margin_auroc(), auroc).p <= 0.05;
            }
            const double error = 3 * std::sqrt(0.05 * 0.95 / cohorts);
            for (const int one : rejected) BOOST_TEST(std::abs(one / double{cohorts} - 0.05) <= error);
            BOOST_TEST_MESSAGE("images " << images << " distinct " << distinct << ": " << rejected[0]
                                         << " and " << rejected[1] << " of " << cohorts);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
