// METHODS 12.3: how often intervals hold the population's value. Queries outside fixed banks: percentile
// intervals keep their rate. Queries that are members of the banks: they fall short, and the wide interval
// stands beside.

#include <algorithm>
#include <cmath>

#include "calibration/cohort.hpp"
#include "calibration/proofs.hpp"
#include "candor/instruments/summary.hpp"
#include "candor/neighbors/row_set.hpp"
#include "candor/stats/resampling.hpp"

namespace candor::calibration {

namespace {

constexpr std::int64_t resamples = 500;
constexpr double confidence = 0.95;
/// Of an item: value, then low and high of the percentile interval, then of the wide one.
constexpr std::size_t value = 0, percentile = 1, wide = 3;

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
        {"members, 1 to 3 images, distinct", {100, 150, 3, 1, 1, 4, false}, true, false, false},
    };
    return all;
}

/// Percentile interval of a mean of 0 and 1 over clusters.
instruments::Estimate interval_of(const std::vector<std::int32_t>& cluster,
                                  const std::vector<std::int8_t>& hit, std::int64_t clusters,
                                  std::uint64_t seed) {
    Matrix<std::int8_t> hits(std::ssize(hit), 1), ties(std::ssize(hit), 1);
    for (std::size_t i = 0; i < hit.size(); ++i) {
        hits.row(static_cast<std::int64_t>(i))[0] = hit[i];
        ties.row(static_cast<std::int64_t>(i))[0] = 0;
    }
    const instruments::CellCounter counter(cluster, hits.view(), ties.view(), {}, std::ssize(hit));
    instruments::Tally tally = counter.observed();
    tally.resampled.resize(static_cast<std::size_t>(resamples));
    const stats::Resampling resampling(seed, "calibrate", clusters, resamples);
    resampling.for_each_block([&](MatrixView<const stats::Weight> weights, std::int64_t first) {
        counter.count(weights,
                      std::span(tally.resampled)
                          .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(weights.cols)));
    });
    return instruments::estimate(instruments::replicates(tally, &instruments::Counts::rate), confidence);
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
    const auto estimate = interval_of(cluster, hit, setting.rows ? rows : setting.shape.positive_patients,
                                      static_cast<std::uint64_t>(item));
    return {estimate.value, estimate.low, estimate.high, NAN, NAN};
}

/// D and margin AUROC of a cohort, each with both intervals.
Values members(const Setting& setting, std::int64_t item) {
    Draws draws(std::string("coverage/") + setting.name, item);
    const Cohort cohort = make_cohort(setting.shape, draws);
    const Figures figures = figures_of(cohort, rules_of(5, setting.distinct),
                                       static_cast<std::uint64_t>(item), 0, instruments::wide_draws);
    // The blind positives in the order of their rows are those who ask.
    std::vector<std::int8_t> hit;
    std::vector<std::int32_t> cluster;
    std::int64_t at = 0;
    for (const auto& row : cohort.rows) {
        if (row.label != 1) continue;
        hit.push_back(figures.blind[static_cast<std::size_t>(at / 64)] >> (at % 64) & 1);
        cluster.push_back(row.patient);
        ++at;
    }
    const auto estimate =
        interval_of(cluster, hit, setting.shape.positive_patients + setting.shape.negative_patients,
                    static_cast<std::uint64_t>(item));
    Values rate, auroc;
    for (const auto& one : figures.subsampled) {
        rate.push_back(one.rate());
        auroc.push_back(one.margin_auroc());
    }
    const auto d = instruments::wide_interval(estimate.value, rate, instruments::wide_share, confidence);
    const double margin = figures.observed.margin_auroc();
    const auto a = instruments::wide_interval(margin, auroc, instruments::wide_share, confidence);
    return {estimate.value, estimate.low, estimate.high, d.low, d.high, margin, NAN, NAN, a.low, a.high};
}

/// How often the interval at `low` holds the mean over all cohorts of the value `offset` before it.
std::int64_t held(std::span<const Values> items, std::size_t of, std::size_t low) {
    double mean = 0;
    for (const Values& one : items) mean += one[of] / static_cast<double>(items.size());
    std::int64_t hits = 0;
    for (const Values& one : items) hits += one[low] <= mean && mean <= one[low + 1];
    return hits;
}

}  // namespace

Proof coverage(bool quick) {
    const std::int64_t cohorts = quick ? 100 : 2000;
    return {
        "coverage", std::ssize(settings()) * cohorts,
        [cohorts](std::int64_t item) {
            const Setting& setting = settings()[static_cast<std::size_t>(item / cohorts)];
            return setting.outside ? outside(setting, item % cohorts) : members(setting, item % cohorts);
        },
        [cohorts](std::span<const Values> items) {
            std::vector<Verdict> verdicts;
            for (std::size_t s = 0; s < settings().size(); ++s) {
                const Setting& setting = settings()[s];
                const auto mine =
                    items.subspan(s * static_cast<std::size_t>(cohorts), static_cast<std::size_t>(cohorts));
                const std::string name = setting.name;
                const auto line = [&](const std::string& what, std::size_t of, std::size_t low, double least,
                                      double most) {
                    return share_verdict(name + what, held(mine, of, low), cohorts, confidence, least, most);
                };
                const Verdict d = line(": D, percentile", value, percentile, 0.935, 0.965);
                verdicts.push_back(setting.outside && !setting.rows ? d : shown(d));
                if (setting.outside) continue;
                verdicts.push_back(line(": D, wide", value, wide, 0.93, 0.985));
                verdicts.push_back(line(": margin AUROC, wide", 5 + value, 5 + wide, 0.93, 0.985));
            }
            return verdicts;
        }};
}

}  // namespace candor::calibration
