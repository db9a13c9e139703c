// METHODS 12.2: labels are shuffled over patients and keys redrawn at each shuffle; `equal` (and `distinct`,
// where patients have several images) averages 1/2 at every n, the other rules drift as they must.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "calibration/cohort.hpp"
#include "calibration/proofs.hpp"

namespace candor::calibration {

namespace {

using instruments::RowWorlds;
using instruments::worlds_a_word;

enum class Rule { equal, distinct, literal, unequal };
constexpr const char* rule_names[] = {"equal", "distinct", "literal", "unequal"};

enum class Judged { mean, above_half, below_half, shown };

struct Setting {
    std::string name;
    Rule rule = Rule::equal;
    int k = 5;
    std::int64_t positive_patients = 0, negative_patients = 0, images = 1;
    double expected = 0.5;
    Judged judged = Judged::mean;
    bool curve = false;                       ///< told by the table of drifts
    std::int64_t contexts = 1;                ///< the second has twice the positives, and as many negatives
    std::int64_t copies = 1;                  ///< of each feature row, under other ids
    bool keys_fixed = false;                  ///< as one should not
    const NamedFeatures* features = nullptr;  ///< rows of these, taken at random
};

Setting setting_of(Rule rule, int k, std::int64_t positive, std::int64_t negative, std::int64_t images = 1) {
    Setting setting;
    setting.rule = rule;
    setting.k = k;
    setting.positive_patients = positive;
    setting.negative_patients = negative;
    setting.images = images;
    const std::int64_t n = rule == Rule::literal ? positive
                           : rule == Rule::equal ? positive * images - 1
                                                 : positive - 1;
    const double share = static_cast<double>(positive) / static_cast<double>(positive + negative);
    char text[120];
    std::snprintf(text, sizeof text, "%s, k = %d, n = %lld, prevalence %.3g",
                  rule_names[static_cast<int>(rule)], k, static_cast<long long>(n), share);
    setting.name = text;
    if (images > 1) setting.name += ", " + std::to_string(images) + " images a patient";
    return setting;
}

std::vector<Setting> common_settings() {
    std::vector<Setting> all{
        setting_of(Rule::equal, 5, 7, 21),        setting_of(Rule::equal, 1, 3, 9),
        setting_of(Rule::equal, 5, 11, 33),       setting_of(Rule::equal, 1, 21, 21),
        setting_of(Rule::equal, 5, 11, 209),      setting_of(Rule::equal, 5, 51, 153),
        setting_of(Rule::distinct, 5, 7, 7, 5),   setting_of(Rule::distinct, 5, 21, 42, 5),
        setting_of(Rule::distinct, 5, 21, 63, 2),
    };
    const auto add = [&](Setting setting, const std::string& more) -> Setting& {
        setting.name += more;
        return all.emplace_back(std::move(setting));
    };
    add(setting_of(Rule::equal, 5, 8, 40), ", two contexts of different prevalence").contexts = 2;
    add(setting_of(Rule::equal, 1, 40, 120), ", each row four times, ties half").copies = 4;
    Setting& repeated = add(setting_of(Rule::equal, 5, 21, 42, 5), "");
    repeated.expected = 0;
    repeated.judged = Judged::below_half;
    add(setting_of(Rule::literal, 1, 10, 30), ": n/(2n - 1)").expected = 10.0 / 19;
    add(setting_of(Rule::literal, 5, 7, 21), "").judged = Judged::above_half;
    add(setting_of(Rule::unequal, 1, 11, 33), ": m/(m + n)").expected = 33.0 / 43;
    add(setting_of(Rule::unequal, 5, 8, 40), "").judged = Judged::above_half;
    return all;
}

std::vector<Setting> larger_settings() {
    return {setting_of(Rule::equal, 5, 201, 1809),       setting_of(Rule::equal, 5, 11, 1089),
            setting_of(Rule::equal, 5, 1001, 1001),      setting_of(Rule::equal, 5, 4001, 4001),
            setting_of(Rule::distinct, 5, 101, 101, 10), setting_of(Rule::unequal, 1, 41, 369)};
}

/// What the figure of drifts shows: each rule over n, prevalence, images a patient.
std::vector<Setting> curves() {
    std::vector<Setting> all;
    const auto add = [&](Setting setting) {
        setting.judged = Judged::shown;
        setting.curve = true;
        all.push_back(std::move(setting));
    };
    for (const std::int64_t n : {6, 7, 10, 14, 20, 50, 100, 200}) {
        add(setting_of(Rule::equal, 5, n + 1, 3 * (n + 1)));
        add(setting_of(Rule::literal, 5, n, 3 * n));
        for (const std::int64_t negatives : {1, 3, 9})
            add(setting_of(Rule::unequal, 5, n + 1, negatives * (n + 1)));
    }
    for (const std::int64_t patients : {7, 11, 21, 51, 101}) {
        for (const std::int64_t images : {2, 5, 10}) {
            add(setting_of(Rule::equal, 5, patients, patients, images));
            add(setting_of(Rule::distinct, 5, patients, patients, images));
        }
    }
    return all;
}

instruments::RoleRules rules_for(const Setting& setting) {
    instruments::RoleRules rules = rules_of(setting.k, setting.rule == Rule::distinct);
    rules.leaves_one_out = setting.rule == Rule::equal || setting.rule == Rule::distinct;
    rules.same_n = setting.rule != Rule::unequal;
    rules.negatives = instruments::NegativesAsking::none;
    return rules;
}

Cohort cohort_of(const Setting& setting, std::int64_t positives, Draws& draws) {
    CohortShape shape{
        positives, setting.negative_patients, setting.images, setting.images > 1 ? 3.0 : 0.0, 0, 6, true};
    Cohort cohort = make_cohort(shape, draws);
    if (setting.features != nullptr) {
        const Matrix<float>& rows = setting.features->rows;
        std::vector<std::int64_t> order(static_cast<std::size_t>(rows.rows()));
        std::iota(order.begin(), order.end(), std::int64_t{0});
        draws.shuffle(order);
        cohort.features = Matrix<float>(std::ssize(cohort.rows), rows.cols());
        for (std::size_t i = 0; i < cohort.rows.size(); ++i)
            std::ranges::copy(rows.row(order[i]), cohort.features.row(static_cast<std::int64_t>(i)).begin());
    }
    for (std::int64_t i = 0; i < cohort.features.rows(); ++i) {
        if (const std::int64_t first = i - i % setting.copies; first != i)
            std::ranges::copy(cohort.features.row(first), cohort.features.row(i).begin());
    }
    return cohort;
}

/// Counts of 64 shuffles of the labels of one cohort.
std::vector<instruments::Counts> shuffled(const Setting& setting, std::int64_t positives, Draws& draws) {
    const Cohort cohort = cohort_of(setting, positives, draws);
    const std::size_t n = cohort.rows.size();
    // Of many rows a list of 150: k of a side, which half of the rows are, stand on it all but surely.
    constexpr std::size_t many = 4000;
    const auto lists =
        n > many ? near_lists(cohort.features.view(), 150) : whole_lists(cohort.features.view());
    const instruments::RoleRules rules = rules_for(setting);
    std::vector<std::int8_t> label(static_cast<std::size_t>(positives + setting.negative_patients));
    std::fill_n(label.begin(), positives, std::int8_t{1});
    std::vector<std::size_t> key(n);
    std::iota(key.begin(), key.end(), std::size_t{0});
    std::vector<instruments::LabelledRow> rows(n);
    std::vector<RowWorlds> roles(n), in_key_order(n);
    const std::vector<std::uint8_t> all(n, 1);
    for (int world = 0; world < worlds_a_word; ++world) {
        draws.shuffle(label);
        if (!setting.keys_fixed) draws.shuffle(key);
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
    return instruments::count_worlds(lists, roles, unit, rules.k, worlds_a_word, false, 0).counts;
}

/// D (ties half) of 64 shuffles over one geometry, pooled over contexts.
Values shuffles(const Setting& setting, std::int64_t item) {
    Draws draws("label shuffle/" + setting.name, item);
    std::vector<instruments::Counts> sum(worlds_a_word);
    for (std::int64_t context = 0; context < setting.contexts; ++context) {
        const auto counts = shuffled(setting, setting.positive_patients * (1 + context), draws);
        for (std::size_t world = 0; world < sum.size(); ++world) sum[world] += counts[world];
    }
    Values values;
    for (const auto& counts : sum) values.push_back(counts.rate_mid());
    return values;
}

/// Shuffles of one geometry are independent where the expectation holds whatever the geometry.
Verdict verdict_of(const Setting& setting, std::span<const Values> items, double errors) {
    Values all;
    for (const Values& one : items) all.insert(all.end(), one.begin(), one.end());
    Verdict verdict = mean_verdict(setting.name, all, setting.expected, errors);
    if (setting.judged == Judged::below_half) {
        verdict.low = 0;
        verdict.high = 0.45;
    } else if (setting.judged == Judged::above_half) {
        verdict.low = 0.55;
        verdict.high = 1;
    } else if (setting.judged == Judged::shown) {
        verdict = shown(verdict);
    }
    if (setting.curve) {
        const auto patients = static_cast<double>(setting.positive_patients + setting.negative_patients);
        const std::int64_t n =
            setting.rule == Rule::literal ? setting.positive_patients : setting.positive_patients - 1;
        verdict.drift = {rule_names[static_cast<int>(setting.rule)], setting.k, n,
                         static_cast<double>(setting.positive_patients) / patients, setting.images};
    }
    return verdict;
}

/// Variance of the means of single geometries, in what shuffles of one geometry alone would give them: 1
/// where each geometry's own expectation is 1/2.
Verdict spread_of_geometries(const std::string& what, std::span<const Values> items, bool exceeds) {
    const auto moments = [](std::span<const double> values) {
        double mean = 0, variance = 0;
        for (const double v : values) mean += v / static_cast<double>(values.size());
        for (const double v : values)
            variance += (v - mean) * (v - mean) / static_cast<double>(values.size() - 1);
        return std::pair(mean, variance);
    };
    Values means;
    double within = 0;
    for (const Values& one : items) {
        const auto [mean, variance] = moments(one);
        means.push_back(mean);
        within += variance / static_cast<double>(items.size());
    }
    const double ratio = moments(means).second / (within / static_cast<double>(worlds_a_word));
    const double error = std::sqrt(2.0 / static_cast<double>(items.size() - 1));
    if (exceeds) return {"", what, 2, ratio, 1 + 4 * error, 1e9, error, {}};
    return {"", what, 1, ratio, 1 - 4 * error, 1 + 4 * error, error, {}};
}

}  // namespace

Proof label_shuffle(const Scope& scope) {
    std::vector<Setting> these = common_settings();
    for (const NamedFeatures& features : scope.features) {
        const std::int64_t rows = std::min<std::int64_t>(features.rows.rows(), 600);
        for (const std::int64_t share : {10, 2}) {
            Setting setting = setting_of(Rule::equal, 5, rows / share, rows - rows / share);
            setting.name += ", rows of " + features.name;
            setting.features = &features;
            these.push_back(std::move(setting));
        }
    }
    // One key order for all shuffles of a geometry, and the same with keys redrawn: the last two.
    Setting fixed = setting_of(Rule::equal, 5, 7, 63);
    fixed.judged = Judged::shown;
    fixed.name += ", keys redrawn";
    if (!scope.quick) {
        const std::vector<Setting> larger = larger_settings();
        these.insert(these.end(), larger.begin(), larger.end());
    }
    these.push_back(fixed);
    fixed.name = setting_of(Rule::equal, 5, 7, 63).name + ", one key order";
    fixed.keys_fixed = true;
    these.push_back(fixed);

    const std::int64_t batches = scope.quick ? 20 : 100;
    // 3 standard errors at the level of one setting, widened to that of all of them (Bonferroni).
    constexpr double errors = 4;
    return {"label shuffle", std::ssize(these) * batches,
            [these, batches](std::int64_t item) {
                return shuffles(these[static_cast<std::size_t>(item / batches)], item % batches);
            },
            [these, batches](std::span<const Values> items) {
                std::vector<Verdict> verdicts;
                for (std::size_t s = 0; s < these.size(); ++s) {
                    const auto mine = items.subspan(s * static_cast<std::size_t>(batches),
                                                    static_cast<std::size_t>(batches));
                    verdicts.push_back(verdict_of(these[s], mine, errors));
                    if (s + 2 < these.size()) continue;
                    verdicts.push_back(spread_of_geometries(these[s].name + ": variance between geometries",
                                                            mine, these[s].keys_fixed));
                }
                return verdicts;
            }};
}

Proof drift(const Scope& scope) {
    const std::vector<Setting> these = scope.quick ? std::vector<Setting>() : curves();
    constexpr std::int64_t batches = 20;
    return {"drift", std::ssize(these) * batches,
            [these](std::int64_t item) {
                return shuffles(these[static_cast<std::size_t>(item / batches)], item % batches);
            },
            [these](std::span<const Values> items) {
                std::vector<Verdict> verdicts;
                for (std::size_t s = 0; s < these.size(); ++s)
                    verdicts.push_back(verdict_of(these[s], items.subspan(s * batches, batches), 0));
                return verdicts;
            }};
}

}  // namespace candor::calibration
