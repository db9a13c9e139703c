// METHODS 12.3: how often intervals hold the population's value. Queries outside fixed banks: percentile
// intervals keep their rate. Queries that are members of the banks: they fall short, and the wide interval
// stands beside, for D, the margin AUROC and their differences between two encoders; other shares of the
// patients than its quarter are shown too.

#include <algorithm>
#include <array>
#include <cmath>

#include "calibration/cohort.hpp"
#include "calibration/proofs.hpp"
#include "candor/neighbors/row_set.hpp"

namespace candor::calibration {

namespace {

constexpr double confidence = 0.95;

struct Setting {
    const char* name;
    CohortShape shape;
    bool distinct, rows;  ///< rows: rows are resampled instead of patients, as one should not
    bool outside;         ///< queries are none of the banks
};

const std::vector<Setting>& settings() {
    static const std::vector<Setting> all{
        {"queries outside fixed banks, 1 to 3 images", {200, 0, 3, 1, 0, 4, false}, false, false, true},
        {"the same, rows resampled", {200, 0, 3, 1, 0, 4, false}, false, true, true},
        {"members, an image a patient", {100, 150, 1, 0, 1, 4, false}, false, false, false},
        {"members, 40 against 120", {40, 120, 1, 0, 1, 4, false}, false, false, false},
        {"members, 1 to 3 images, distinct", {100, 150, 3, 1, 1, 4, false}, true, false, false},
        {"members, 1 to 3 images, equal", {100, 150, 3, 1, 1, 4, false}, false, false, false},
    };
    return all;
}

/// The statistics of an item, and its intervals: all but the first two shares are shown in full runs alone.
constexpr std::array statistics{"D", "margin AUROC", "difference of D", "difference of margin AUROCs"};
constexpr std::array<double, 3> shares{instruments::wide_share, 0.125, 0.5};
constexpr std::array share_names{"wide", "of an eighth", "of a half"};

constexpr std::size_t value_at(std::size_t statistic) {
    return statistic;
}
/// Low and high of the interval of a share; behind those, percentile intervals of the rates.
constexpr std::size_t interval_at(std::size_t share, std::size_t statistic) {
    return statistics.size() * (1 + 2 * share) + 2 * statistic;
}
constexpr std::size_t percentile_at = interval_at(shares.size(), 0);

void put(Values& values, std::size_t at, double low, double high) {
    values[at] = low;
    values[at + 1] = high;
}

/// Queries of new patients against two banks of 40 rows that are the same in every cohort.
Values outside(const Setting& setting, std::int64_t item) {
    constexpr std::int64_t bank = 40;
    constexpr int k = 5;
    Draws fixed("coverage/banks", 0), draws(std::string("coverage/") + setting.name, item);
    const Cohort banks = make_cohort({bank, bank, 1, 0, 1, setting.shape.dimension, false}, fixed);
    const Cohort queries = make_cohort(setting.shape, draws);
    const std::int64_t rows = std::ssize(queries.rows);
    Matrix<float> all(2 * bank + rows, setting.shape.dimension);
    for (std::int64_t i = 0; i < 2 * bank; ++i) std::ranges::copy(banks.features.row(i), all.row(i).begin());
    for (std::int64_t i = 0; i < rows; ++i)
        std::ranges::copy(queries.features.row(i), all.row(2 * bank + i).begin());
    const neighbors::RowSet set{neighbors::StoredRows(std::move(all))};
    std::vector<std::int8_t> hit;
    std::vector<std::int32_t> cluster;
    for (std::int64_t q = 0; q < rows; ++q) {
        std::vector<double> side[2];
        for (std::int64_t i = 0; i < 2 * bank; ++i)
            side[banks.rows[static_cast<std::size_t>(i)].label].push_back(
                set.cosine(ContextRow(2 * bank + q), ContextRow(i)));
        double mean[2] = {};
        for (const int s : {0, 1}) {
            std::ranges::sort(side[s], std::greater());
            for (int i = 0; i < k; ++i) mean[s] += side[s][static_cast<std::size_t>(i)];
        }
        hit.push_back(mean[0] > mean[1]);
        cluster.push_back(setting.rows ? static_cast<std::int32_t>(q)
                                       : queries.rows[static_cast<std::size_t>(q)].patient);
    }
    const auto estimate = instruments::estimate(
        resampled_rate(cluster, hit, setting.rows ? rows : setting.shape.positive_patients,
                       static_cast<std::uint64_t>(item)),
        confidence);
    Values values(percentile_at + 4, NAN);
    values[value_at(0)] = estimate.value;
    put(values, percentile_at, estimate.low, estimate.high);
    return values;
}

/// Two encoders of the same cohort: half of the variance of the second is its own, and it sees less.
Values members(const Setting& setting, std::int64_t item, bool quick) {
    Draws draws(std::string("coverage/") + setting.name, item);
    std::array<Cohort, 2> cohort{make_cohort(setting.shape, draws), {}};
    cohort[1] = {cohort[0].rows, Matrix<float>(cohort[0].features.rows(), cohort[0].features.cols())};
    for (std::int64_t i = 0; i < cohort[1].features.rows(); ++i) {
        for (std::size_t j = 0; j < cohort[1].features.row(i).size(); ++j)
            cohort[1].features.row(i)[j] =
                static_cast<float>(std::sqrt(0.5) * (cohort[0].features.row(i)[j] + draws.normal()));
    }
    const auto rules = rules_of(5, setting.distinct);
    const auto seed = static_cast<std::uint64_t>(item);
    Values values(percentile_at + 4, NAN);
    for (std::size_t s = 0; s < (quick ? 1 : shares.size()); ++s) {
        std::array<Figures, 2> of;
        for (std::size_t e = 0; e < 2; ++e)
            of[e] = figures_of(cohort[e], rules, seed, 0, instruments::wide_draws, shares[s]);
        if (s == 0) {
            const auto rate = resampled_rate(cohort[0], of[0], setting.rows, seed);
            auto difference = resampled_rate(cohort[1], of[1], setting.rows, seed);
            difference.observed -= rate.observed;
            for (std::size_t b = 0; b < rate.resampled.size(); ++b)
                difference.resampled[b] -= rate.resampled[b];
            const auto one = instruments::estimate(rate, confidence),
                       both = instruments::estimate(difference, confidence);
            put(values, percentile_at, one.low, one.high);
            put(values, percentile_at + 2, both.low, both.high);
        }
        using Statistic = double (instruments::Counts::*)() const;
        for (std::size_t t = 0; t < statistics.size(); ++t) {
            const Statistic statistic =
                t % 2 == 0 ? &instruments::Counts::rate : &instruments::Counts::margin_auroc;
            const bool difference = t >= 2;
            const auto figure = [&](const auto& counts) {
                return difference ? (counts(1).*statistic)() - (counts(0).*statistic)()
                                  : (counts(0).*statistic)();
            };
            values[value_at(t)] =
                figure([&](std::size_t e) -> const instruments::Counts& { return of[e].observed; });
            Values drawn;
            for (std::size_t d = 0; d < of[0].subsampled.size(); ++d)
                drawn.push_back(
                    figure([&](std::size_t e) -> const instruments::Counts& { return of[e].subsampled[d]; }));
            const auto interval = instruments::wide_interval(values[value_at(t)], drawn, shares[s],
                                                             confidence, difference ? -1 : 0, 1);
            put(values, interval_at(s, t), interval.low, interval.high);
        }
    }
    return values;
}

/// How often the interval at `low` holds the mean over all cohorts of the value at `of`.
std::int64_t held(std::span<const Values> items, std::size_t of, std::size_t low) {
    double mean = 0;
    for (const Values& one : items) mean += one[of] / static_cast<double>(items.size());
    std::int64_t hits = 0;
    for (const Values& one : items) hits += one[low] <= mean && mean <= one[low + 1];
    return hits;
}

}  // namespace

Proof coverage(const Scope& scope) {
    const bool quick = scope.quick;
    const std::int64_t cohorts = quick ? 60 : 1500;
    return {"coverage", std::ssize(settings()) * cohorts,
            [cohorts, quick](std::int64_t item) {
                const Setting& setting = settings()[static_cast<std::size_t>(item / cohorts)];
                return setting.outside ? outside(setting, item % cohorts)
                                       : members(setting, item % cohorts, quick);
            },
            [cohorts, quick](std::span<const Values> items) {
                std::vector<Verdict> verdicts;
                for (std::size_t s = 0; s < settings().size(); ++s) {
                    const Setting& setting = settings()[s];
                    const auto mine = items.subspan(s * static_cast<std::size_t>(cohorts),
                                                    static_cast<std::size_t>(cohorts));
                    const auto line = [&](const std::string& what, std::size_t of, std::size_t low,
                                          double least, double most) {
                        return share_verdict(std::string(setting.name) + ": " + what, held(mine, of, low),
                                             cohorts, confidence, least, most);
                    };
                    const Verdict d = line("D, percentile", value_at(0), percentile_at, 0.935, 0.965);
                    verdicts.push_back(setting.outside && !setting.rows ? d : shown(d));
                    if (setting.outside) continue;
                    verdicts.push_back(shown(
                        line("difference of D, percentile", value_at(2), percentile_at + 2, 0.935, 0.965)));
                    for (std::size_t share = 0; share < (quick ? 1 : shares.size()); ++share) {
                        for (std::size_t t = 0; t < statistics.size(); ++t) {
                            const Verdict wide = line(std::string(statistics[t]) + ", " + share_names[share],
                                                      value_at(t), interval_at(share, t), 0.93, 0.985);
                            verdicts.push_back(share == 0 ? wide : shown(wide));
                        }
                    }
                }
                return verdicts;
            }};
}

}  // namespace candor::calibration
