// METHODS 12.4: the three nulls of an overlap, side by side, where the finding is independent of everything:
// two encoders that share nothing, two that share most of their geometry, and contexts of unequal difficulty.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "calibration/cohort.hpp"
#include "calibration/proofs.hpp"
#include "candor/instruments/blind_set.hpp"

namespace candor::calibration {

namespace {

constexpr std::int64_t permutations = 200;
/// Two encoders, in one context or two.
struct Setting {
    const char* name;
    double shared;                 ///< of the variance of their features
    std::array<double, 2> signal;  ///< in each context; the second NaN: one context
    bool judged;                   ///< whether the finding is independent of all features
};
constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr std::array settings{
    Setting{"independent encoders", 0, {0, none}, true},
    Setting{"geometry shared", 0.8, {0, none}, true},
    Setting{"geometry shared, two contexts", 0.8, {0, 0}, true},
    Setting{"independent encoders, contexts of unequal difficulty", 0, {0, 2}, false},
};

/// p of pooled, stratified and relabel in each setting.
Values nulls_of(std::int64_t item) {
    Values values;
    for (std::size_t s = 0; s < settings.size(); ++s) {
        const Setting& setting = settings[s];
        std::vector<instruments::ContextOverlap> observed;
        std::vector<std::vector<instruments::ContextOverlap>> permuted(permutations);
        for (std::size_t context = 0; context < 2; ++context) {
            const double signal = setting.signal[context];
            if (std::isnan(signal)) continue;
            Draws draws(std::string("overlap nulls/") + setting.name,
                        2 * item + static_cast<std::int64_t>(context));
            const Cohort a = make_cohort({60, 60, 1, 0, signal, 6, false}, draws);
            Cohort b{a.rows, Matrix<float>(a.features.rows(), a.features.cols())};
            for (std::int64_t i = 0; i < a.features.rows(); ++i) {
                const bool positive = a.rows[static_cast<std::size_t>(i)].label == 1;
                for (std::size_t j = 0; j < 6; ++j) {
                    const double seen = positive && j == 0 ? signal : 0;
                    b.features.row(i)[j] =
                        static_cast<float>(seen + std::sqrt(setting.shared) * (a.features.row(i)[j] - seen) +
                                           std::sqrt(1 - setting.shared) * draws.normal());
                }
            }
            const auto rules = rules_of(5, false);
            const auto seed = static_cast<std::uint64_t>(2 * item) + context;
            const Figures one = figures_of(a, rules, seed, permutations, 0),
                          two = figures_of(b, rules, seed, permutations, 0);
            observed.push_back(instruments::overlap_of(one.positives, one.blind.data(), two.blind.data()));
            for (std::int64_t p = 0; p < permutations; ++p)
                permuted[static_cast<std::size_t>(p)].push_back(
                    instruments::overlap_of(one.positives, one.permuted_blind.data() + p * one.words,
                                            two.permuted_blind.data() + p * two.words));
        }
        std::vector<instruments::ContextOverlap> all;
        for (const auto& one : permuted) all.insert(all.end(), one.begin(), one.end());
        const instruments::PairOverlap pair = instruments::pair_overlap(observed);
        values.push_back(pair.pooled.p);
        values.push_back(pair.stratified.p);
        values.push_back(instruments::relabel_null(observed, all).p);
    }
    return values;
}

}  // namespace

Proof overlap_nulls(const Scope& scope) {
    const std::int64_t pairs = scope.quick ? 100 : 3000;
    return {"overlap nulls", pairs, nulls_of, [pairs](std::span<const Values> items) {
                constexpr std::array names{"pooled", "stratified", "relabel"};
                std::vector<Verdict> verdicts;
                for (std::size_t s = 0; s < settings.size(); ++s) {
                    for (std::size_t null = 0; null < names.size(); ++null) {
                        std::int64_t hits = 0;
                        for (const Values& one : items) hits += one[3 * s + null] <= 0.05;
                        const Verdict verdict = share_verdict(
                            std::string(names[null]) + ", " + settings[s].name + ": rejected at 5 %", hits,
                            pairs, 0.05, null == 2 ? 0.04 : 0, 0.06);
                        verdicts.push_back(null == 2 && settings[s].judged ? verdict : shown(verdict));
                    }
                }
                return verdicts;
            }};
}

}  // namespace candor::calibration
