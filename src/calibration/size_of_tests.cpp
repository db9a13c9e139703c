// METHODS 12.4: the permutation tests reject a true null 5 % of the time, and Benjamini-Hochberg keeps its
// rate under the intersection null and where half of the tests are not null.

#include <algorithm>
#include <cmath>

#include "calibration/cohort.hpp"
#include "calibration/proofs.hpp"
#include "candor/stats/fdr.hpp"

namespace candor::calibration {

namespace {

constexpr std::int64_t permutations = 200, family = 20;

struct Setting {
    const char* name;
    CohortShape shape;
    bool distinct;
};

const std::vector<Setting>& settings() {
    static const std::vector<Setting> all{
        {"equal, an image a patient", {30, 90, 1, 0, 0, 6, false}, false},
        {"equal, 1 to 3 images a patient", {20, 60, 3, 2, 0, 6, false}, false},
        {"distinct, 1 to 3 images a patient", {20, 60, 3, 2, 0, 6, false}, true},
    };
    return all;
}

/// p of D and of the margin AUROC, without a signal; p of D with one; and whether the percentile interval of
/// D without one leaves 1/2 out.
Values tests_of(const Setting& setting, std::int64_t item) {
    Draws draws(std::string("size of tests/") + setting.name, item);
    Values values;
    double excludes = 0;
    for (const bool signal : {false, true}) {
        CohortShape shape = setting.shape;
        shape.signal = signal ? 4 : 0;
        const auto seed = static_cast<std::uint64_t>(2 * item + signal);
        const Cohort cohort = make_cohort(shape, draws);
        const Figures figures = figures_of(cohort, rules_of(5, setting.distinct), seed, permutations, 0);
        Values rate, auroc;
        for (const auto& one : figures.permuted) {
            rate.push_back(one.rate_mid());
            auroc.push_back(one.margin_auroc());
        }
        values.push_back(instruments::null_test(figures.observed.rate_mid(), rate).p);
        if (!signal) values.push_back(instruments::null_test(figures.observed.margin_auroc(), auroc).p);
        if (!signal) {
            const auto interval = instruments::estimate(resampled_rate(cohort, figures, false, seed), 0.95);
            excludes = interval.low > 0.5 || interval.high < 0.5;
        }
    }
    values.push_back(excludes);
    return values;
}

/// Share of false among the rejected of each family, averaged; the first `null` tests of a family are null.
Verdict false_discoveries(const std::string& what, std::span<const Values> items, std::int64_t null) {
    Values shares;
    for (std::size_t first = 0; first + family <= items.size(); first += family) {
        Values p;
        for (std::size_t i = 0; i < static_cast<std::size_t>(family); ++i)
            p.push_back(items[first + i][static_cast<std::int64_t>(i) < null ? 0 : 2]);
        const Values q = stats::benjamini_hochberg(p);
        double rejected = 0, wrong = 0;
        for (std::size_t i = 0; i < q.size(); ++i) {
            rejected += q[i] <= 0.05;
            wrong += q[i] <= 0.05 && static_cast<std::int64_t>(i) < null;
        }
        shares.push_back(rejected == 0 ? 0 : wrong / rejected);
    }
    const double expected = 0.05 * static_cast<double>(null) / static_cast<double>(family);
    Verdict verdict = mean_verdict(what, shares, expected);
    // Of few families none may have rejected anything: the binomial's own error serves then.
    const double error = std::sqrt(expected * (1 - expected) / static_cast<double>(shares.size()));
    verdict.low = 0;
    verdict.high = expected + 3 * std::max(verdict.error, error);
    return verdict;
}

}  // namespace

Proof size_of_tests(const Scope& scope) {
    const std::int64_t cohorts = scope.quick ? 200 : 4000;
    return {"size of tests", std::ssize(settings()) * cohorts,
            [cohorts](std::int64_t item) {
                return tests_of(settings()[static_cast<std::size_t>(item / cohorts)], item % cohorts);
            },
            [cohorts](std::span<const Values> items) {
                std::vector<Verdict> verdicts;
                for (std::size_t s = 0; s < settings().size(); ++s) {
                    const auto mine = items.subspan(s * static_cast<std::size_t>(cohorts),
                                                    static_cast<std::size_t>(cohorts));
                    for (const std::size_t which : {0, 1}) {
                        std::int64_t hits = 0;
                        for (const Values& one : mine) hits += one[which] <= 0.05;
                        verdicts.push_back(share_verdict(
                            std::string(settings()[s].name) + (which == 0 ? ": D" : ": margin AUROC"), hits,
                            cohorts, 0.05, 0.05, 0.05));
                    }
                    std::int64_t excluded = 0;
                    for (const Values& one : mine) excluded += one[3] > 0;
                    verdicts.push_back(shown(share_verdict(
                        std::string(settings()[s].name) + ": percentile interval of D without 1/2", excluded,
                        cohorts, 0.05, 0.05, 0.05)));
                    const std::string name = std::string(settings()[s].name) + ": false discoveries, ";
                    verdicts.push_back(false_discoveries(name + "all null", mine, family));
                    verdicts.push_back(false_discoveries(name + "half null", mine, family / 2));
                }
                return verdicts;
            }};
}

}  // namespace candor::calibration
