// METHODS 12.4: the three nulls of an overlap, side by side, where the finding is independent of everything:
// two encoders that share nothing, two that share most of their geometry, and contexts of unequal difficulty.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "calibration/cohort.hpp"
#include "calibration/proofs.hpp"
#include "candor/instruments/blind_set.hpp"

namespace candor::calibration {

namespace {

constexpr std::int64_t permutations = 200;
constexpr std::array<double, 2> shared{0.0, 0.8};  // of the variance

/// p of pooled, stratified and relabel for each share.
Values nulls_of(std::int64_t item) {
    Values values;
    for (const double share : shared) {
        Draws draws("overlap nulls", 2 * item + (share > 0 ? 1 : 0));
        Cohort a = make_cohort({60, 60, 1, 0, 0, 6, false}, draws);
        Cohort b{a.rows, Matrix<float>(a.features.rows(), a.features.cols())};
        for (std::int64_t i = 0; i < a.features.rows(); ++i) {
            for (std::size_t j = 0; j < 6; ++j)
                b.features.row(i)[j] = static_cast<float>(std::sqrt(share) * a.features.row(i)[j] +
                                                          std::sqrt(1 - share) * draws.normal());
        }
        const auto rules = rules_of(5, false);
        const auto seed = static_cast<std::uint64_t>(item);
        const Figures one = figures_of(a, rules, seed, permutations, 0),
                      two = figures_of(b, rules, seed, permutations, 0);
        const instruments::ContextOverlap observed =
            instruments::overlap_of(one.positives, one.blind.data(), two.blind.data());
        std::vector<instruments::ContextOverlap> permuted;
        for (std::int64_t p = 0; p < permutations; ++p)
            permuted.push_back(instruments::overlap_of(one.positives,
                                                       one.permuted_blind.data() + p * one.words,
                                                       two.permuted_blind.data() + p * two.words));
        const instruments::PairOverlap pair = instruments::pair_overlap({&observed, 1});
        values.push_back(pair.pooled.p);
        values.push_back(pair.stratified.p);
        values.push_back(instruments::relabel_null({&observed, 1}, permuted).p);
    }
    return values;
}

}  // namespace

Proof overlap_nulls(bool quick) {
    const std::int64_t pairs = quick ? 150 : 3000;
    return {"overlap nulls", pairs, nulls_of, [pairs](std::span<const Values> items) {
                constexpr std::array names{"pooled", "stratified", "relabel"};
                std::vector<Verdict> verdicts;
                for (std::size_t s = 0; s < shared.size(); ++s) {
                    for (std::size_t null = 0; null < names.size(); ++null) {
                        std::int64_t hits = 0;
                        for (const Values& one : items) hits += one[3 * s + null] <= 0.05;
                        const Verdict verdict = share_verdict(
                            std::string(names[null]) +
                                (shared[s] > 0 ? ", geometry shared" : ", independent encoders") +
                                ": rejected at 5 %",
                            hits, pairs, 0.05, null == 2 ? 0.04 : 0, 0.06);
                        verdicts.push_back(null == 2 ? verdict : shown(verdict));
                    }
                }
                return verdicts;
            }};
}

}  // namespace candor::calibration
