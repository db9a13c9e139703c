#include "candor/instruments/summary.hpp"

#include <cmath>
#include <limits>

#include "candor/base/error.hpp"

namespace candor::instruments {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t few = 10;  // METHODS 4

/// Sample standard deviation; NaN for fewer than two values.
double standard_deviation(std::span<const double> values) {
    if (values.size() < 2) return undefined;
    double mean = 0, squares = 0;
    for (const double v : values) mean += v / static_cast<double>(values.size());
    for (const double v : values) squares += (v - mean) * (v - mean);
    return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

/// D of each draw.
std::vector<double> rates_by_draw(const Tally& tally) {
    std::vector<double> rates;
    const auto draws = static_cast<double>(tally.discordant_by_draw.size());
    const double queries = static_cast<double>(tally.observed.queries) / draws;
    for (const std::int64_t discordant : tally.discordant_by_draw) {
        rates.push_back(static_cast<double>(discordant) / queries);
    }
    return rates;
}

/// What `d` leaves to fill in.
void complete(LevelSummary& summary, const Replicates& mid, std::int64_t patients,
              const stats::Bounds& bounds, double confidence) {
    summary.rate_mid = mid.observed;
    summary.patients = patients;
    summary.few_patients = patients < few;
    summary.bound_low = bounds.low;
    summary.bound_high = bounds.high;
    // A statement about chance, so ties count half: an encoder that gives every image the same features has D
    // = 0 and tells nothing apart.
    const Estimate middle = estimate(mid, confidence);
    const bool bounded = middle.all_equal && (middle.value == 0 || middle.value == 1);
    summary.excludes_half =
        bounded ? summary.bound_low > 0.5 || summary.bound_high < 0.5 : middle.excludes_half();
}

}  // namespace

Replicates replicates(const Tally& tally, double (Counts::*statistic)() const) {
    Replicates out{(tally.observed.*statistic)(), {}};
    out.resampled.reserve(tally.resampled.size());
    for (const Counts& counts : tally.resampled) out.resampled.push_back((counts.*statistic)());
    return out;
}

namespace {

/// A statistic of each of `counts`.
std::vector<double> values_of(std::span<const Counts> counts, double (Counts::*statistic)() const) {
    std::vector<double> values;
    for (const Counts& one : counts) values.push_back((one.*statistic)());
    return values;
}

/// The same, mean over findings.
std::vector<double> wide_values(std::span<const Tally> findings, double (Counts::*statistic)() const) {
    std::vector<double> mean(findings.front().subsampled.size());
    for (const Tally& tally : findings) {
        const std::vector<double> values = values_of(tally.subsampled, statistic);
        for (std::size_t b = 0; b < mean.size(); ++b)
            mean[b] += values.at(b) / static_cast<double>(findings.size());
    }
    return mean;
}

}  // namespace

Replicates mean_of(std::span<const Replicates> parts) {
    CANDOR_REQUIRE(!parts.empty(), "no parts");
    Replicates mean{0, std::vector<double>(parts.front().resampled.size(), 0.0)};
    const auto count = static_cast<double>(parts.size());
    for (const Replicates& part : parts) {
        mean.observed += part.observed;
        for (std::size_t b = 0; b < mean.resampled.size(); ++b) mean.resampled[b] += part.resampled[b];
    }
    mean.observed /= count;
    for (double& value : mean.resampled) value /= count;
    return mean;
}

Estimate estimate(const Replicates& replicates, double confidence) {
    const stats::Interval interval = stats::percentile_interval(replicates.resampled, confidence);
    return {replicates.observed, interval.low, interval.high, interval.valid, interval.all_equal};
}

stats::Bounds bound(const Estimate& share, std::int64_t patients, double confidence) {
    return bound_of_mean(share, {&patients, 1}, confidence);
}

stats::Bounds bound_of_mean(const Estimate& mean, std::span<const std::int64_t> patients, double confidence) {
    if (!mean.all_equal || (mean.value != 0 && mean.value != 1)) return {undefined, undefined};
    const auto parts = static_cast<double>(patients.size());
    stats::Bounds bounds{0, 0};
    for (const std::int64_t n : patients) {
        const stats::Bounds part =
            stats::clopper_pearson(mean.value == 0 ? 0 : n, n, 1 - (1 - confidence) / parts);
        bounds.low += part.low / parts;
        bounds.high += part.high / parts;
    }
    return bounds;
}

LevelSummary summarise(const Tally& tally, std::int64_t patients, double confidence) {
    LevelSummary summary;
    summary.d = estimate(replicates(tally, &Counts::rate), confidence);
    summary.margin_auroc = estimate(replicates(tally, &Counts::margin_auroc), confidence);
    summary.balanced_accuracy = estimate(replicates(tally, &Counts::balanced_accuracy), confidence);
    summary.d_wide =
        wide_interval(summary.d.value, values_of(tally.subsampled, &Counts::rate), wide_share, confidence);
    summary.margin_auroc_wide =
        wide_interval(summary.margin_auroc.value, values_of(tally.subsampled, &Counts::margin_auroc),
                      wide_share, confidence);
    summary.null = null_test(tally.unpermuted.rate_mid(), values_of(tally.permuted, &Counts::rate_mid));
    summary.margin_null =
        null_test(tally.unpermuted.margin_auroc(), values_of(tally.permuted, &Counts::margin_auroc));
    summary.draw_sd = standard_deviation(rates_by_draw(tally));
    complete(summary, replicates(tally, &Counts::rate_mid), patients, bound(summary.d, patients, confidence),
             confidence);
    return summary;
}

LevelSummary summarise_mean(std::span<const Tally> findings, std::int64_t patients,
                            std::span<const std::int64_t> of_findings, double confidence) {
    const auto mean = [&](double (Counts::*statistic)() const) {
        std::vector<Replicates> parts;
        for (const Tally& tally : findings) parts.push_back(replicates(tally, statistic));
        return mean_of(parts);
    };
    LevelSummary summary;
    summary.d = estimate(mean(&Counts::rate), confidence);
    summary.margin_auroc = estimate(mean(&Counts::margin_auroc), confidence);
    summary.balanced_accuracy = estimate(mean(&Counts::balanced_accuracy), confidence);
    summary.d_wide =
        wide_interval(summary.d.value, wide_values(findings, &Counts::rate), wide_share, confidence);
    summary.margin_auroc_wide = wide_interval(
        summary.margin_auroc.value, wide_values(findings, &Counts::margin_auroc), wide_share, confidence);
    summary.null = summary.margin_null = null_test(undefined, {});

    std::vector<double> by_draw;
    for (const Tally& tally : findings) {
        const std::vector<double> rates = rates_by_draw(tally);
        by_draw.resize(rates.size());
        for (std::size_t r = 0; r < rates.size(); ++r)
            by_draw[r] += rates[r] / static_cast<double>(findings.size());
    }
    summary.draw_sd = standard_deviation(by_draw);
    complete(summary, mean(&Counts::rate_mid), patients, bound_of_mean(summary.d, of_findings, confidence),
             confidence);
    return summary;
}

}  // namespace candor::instruments
