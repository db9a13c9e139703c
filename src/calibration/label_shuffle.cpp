// METHODS 12.2: labels are shuffled over patients and keys redrawn at each shuffle; `equal` (and `distinct`,
// where patients have several images) averages 1/2 at every n, the other rules drift as they must.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "calibration/cohort.hpp"
#include "calibration/proofs.hpp"

namespace candor::calibration {

namespace {

using instruments::RowWorlds;
using instruments::worlds_a_word;

enum class Rule { equal, distinct, literal, unequal };

struct Setting {
    const char* name;
    Rule rule;
    int k;
    std::int64_t positive_patients, negative_patients, images;
    double expected;  ///< what it averages; NaN: below 0.45 (drifts down); above 1: shown alone
};

constexpr double down = std::numeric_limits<double>::quiet_NaN(), alone = 2;
constexpr Setting settings[] = {
    {"equal, k = 5, n = 6, prevalence 0.25", Rule::equal, 5, 7, 21, 1, 0.5},
    {"equal, k = 5, n = 10, prevalence 0.25", Rule::equal, 5, 11, 33, 1, 0.5},
    {"equal, k = 1, n = 20, prevalence 0.5", Rule::equal, 1, 21, 21, 1, 0.5},
    {"equal, k = 5, n = 10, prevalence 0.05", Rule::equal, 5, 11, 209, 1, 0.5},
    {"equal, k = 5, n = 50, prevalence 0.25", Rule::equal, 5, 51, 153, 1, 0.5},
    {"distinct, k = 5, n = 6, 5 images a patient", Rule::distinct, 5, 7, 7, 5, 0.5},
    {"distinct, k = 5, n = 20, 5 images a patient", Rule::distinct, 5, 21, 42, 5, 0.5},
    {"equal, k = 5, n = 104, 5 images a patient", Rule::equal, 5, 21, 42, 5, down},
    {"literal, k = 1, n = 10: n/(2n - 1)", Rule::literal, 1, 10, 30, 1, 10.0 / 19},
    {"literal, k = 5, n = 7, prevalence 0.25", Rule::literal, 5, 7, 21, 1, alone},
    {"unequal, k = 1, 3 negatives a positive: m/(m + n)", Rule::unequal, 1, 11, 33, 1, 33.0 / 43},
    {"unequal, k = 5, 40 against 7 others", Rule::unequal, 5, 8, 40, 1, alone},
};
constexpr Setting larger[] = {
    {"equal, k = 5, n = 200, prevalence 0.1", Rule::equal, 5, 201, 1809, 1, 0.5},
    {"equal, k = 5, n = 10, prevalence 0.01", Rule::equal, 5, 11, 1089, 1, 0.5},
    {"equal, k = 5, n = 1,000, prevalence 0.5", Rule::equal, 5, 1001, 1001, 1, 0.5},
    {"distinct, k = 5, n = 100, 10 images a patient", Rule::distinct, 5, 101, 101, 10, 0.5},
};

instruments::RoleRules rules_for(const Setting& setting) {
    instruments::RoleRules rules = rules_of(setting.k, setting.rule == Rule::distinct);
    rules.leaves_one_out = setting.rule == Rule::equal || setting.rule == Rule::distinct;
    rules.same_n = setting.rule != Rule::unequal;
    rules.negatives = instruments::NegativesAsking::none;
    return rules;
}

/// D (ties half) of 64 shuffles over one geometry.
Values shuffles(const Setting& setting, std::int64_t item) {
    Draws draws(std::string("label shuffle/") + setting.name, item);
    CohortShape shape{setting.positive_patients,
                      setting.negative_patients,
                      setting.images,
                      setting.images > 1 ? 3.0 : 0.0,
                      0,
                      6,
                      true};
    const Cohort cohort = make_cohort(shape, draws);
    const auto lists = whole_lists(cohort.features.view());
    const instruments::RoleRules rules = rules_for(setting);
    const std::size_t n = cohort.rows.size();
    std::vector<std::int8_t> label(
        static_cast<std::size_t>(setting.positive_patients + setting.negative_patients));
    std::fill_n(label.begin(), setting.positive_patients, std::int8_t{1});
    std::vector<std::size_t> key(n);
    std::iota(key.begin(), key.end(), std::size_t{0});
    std::vector<instruments::LabelledRow> rows(n);
    std::vector<RowWorlds> roles(n), in_key_order(n);
    const std::vector<std::uint8_t> all(n, 1);
    for (int world = 0; world < worlds_a_word; ++world) {
        draws.shuffle(label);
        draws.shuffle(key);
        for (std::size_t i = 0; i < n; ++i) {
            rows[i] = cohort.rows[key[i]];
            rows[i].label = label[static_cast<std::size_t>(rows[i].patient)];
            in_key_order[i] = {};
        }
        instruments::assign_roles(rows, rules, all, world, in_key_order);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t side = 0; side < 2; ++side) {
                roles[key[i]].asks[side] |= in_key_order[i].asks[side];
                roles[key[i]].near[side] |= in_key_order[i].near[side];
                roles[key[i]].last[side] |= in_key_order[i].last[side];
            }
        }
    }
    std::vector<std::int32_t> unit;
    for (const auto& row : cohort.rows) unit.push_back(rules.by_patient ? row.patient : row.identity);
    instruments::find_own(unit, roles);
    Values values;
    for (const auto& counts :
         instruments::count_worlds(lists, roles, unit, rules.k, worlds_a_word, false, 0).counts)
        values.push_back(counts.rate_mid());
    return values;
}

/// Expectations hold for the mean over shuffles whatever the geometry, so that shuffles of one are
/// independent.
Verdict verdict_of(const Setting& setting, std::span<const Values> items, double errors) {
    Values all;
    for (const Values& one : items) all.insert(all.end(), one.begin(), one.end());
    if (std::isnan(setting.expected)) {
        Verdict verdict = mean_verdict(setting.name, all, 0.5, errors);
        verdict.expected = verdict.low = 0;
        verdict.high = 0.45;
        return verdict;
    }
    Verdict verdict =
        mean_verdict(setting.name, all, setting.expected == alone ? 0.5 : setting.expected, errors);
    return setting.expected == alone ? shown(verdict) : verdict;
}

}  // namespace

Proof label_shuffle(bool quick) {
    std::vector<Setting> these(std::begin(settings), std::end(settings));
    if (!quick) these.insert(these.end(), std::begin(larger), std::end(larger));
    const std::int64_t batches = quick ? 20 : 200;
    // 3 standard errors at the level of one setting, widened to that of all of them (Bonferroni, 16
    // settings).
    constexpr double errors = 3.8;
    return {"label shuffle", std::ssize(these) * batches,
            [these, batches](std::int64_t item) {
                return shuffles(these[static_cast<std::size_t>(item / batches)], item % batches);
            },
            [these, batches](std::span<const Values> items) {
                std::vector<Verdict> verdicts;
                for (std::size_t s = 0; s < these.size(); ++s)
                    verdicts.push_back(verdict_of(these[s],
                                                  items.subspan(s * static_cast<std::size_t>(batches),
                                                                static_cast<std::size_t>(batches)),
                                                  errors));
                return verdicts;
            }};
}

}  // namespace candor::calibration
