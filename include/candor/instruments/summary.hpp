#pragma once

/// The columns that every level reports (METHODS 3.1, 3.2, 4): a statistic with its interval, recomputed in
/// each resample.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "candor/instruments/permutations.hpp"
#include "candor/instruments/tally.hpp"
#include "candor/stats/interval.hpp"

namespace candor::instruments {

/// A statistic and its percentile interval.
struct Estimate {
    double value = 0, low = 0, high = 0;  ///< NaN: undefined
    std::int64_t valid = 0;               ///< resamples in which it is defined
    bool all_equal = false;
    /// The interval lies wholly on one side of 1/2 (the paper's reading; makes no p-value).
    bool excludes_half() const { return low > 0.5 || high < 0.5; }
};

/// Of a statistic that is undefined.
inline constexpr Estimate no_estimate{std::numeric_limits<double>::quiet_NaN(),
                                      std::numeric_limits<double>::quiet_NaN(),
                                      std::numeric_limits<double>::quiet_NaN(), 0, false};

/// A statistic observed and in each resample (NaN: undefined there).
struct Replicates {
    double observed = 0;
    std::vector<double> resampled;
};

/// One statistic of a tally, e.g. `&Counts::rate`.
Replicates replicates(const Tally& tally, double (Counts::*statistic)() const);

/// Mean over `parts`, observed and in each resample; undefined where one of them is (METHODS 4).
Replicates mean_of(std::span<const Replicates> parts);

Estimate estimate(const Replicates& replicates, double confidence);

/// What to read beside the interval of a share that is 0, or 1, in every resample: Clopper and Pearson's
/// bound over the patients that contribute. NaN for any other.
stats::Bounds bound(const Estimate& share, std::int64_t patients, double confidence);
/// The same of a mean of shares: the mean of their bounds, which hold together (Bonferroni).
/// @param patients  of each share
stats::Bounds bound_of_mean(const Estimate& mean, std::span<const std::int64_t> patients, double confidence);

/// What a level says of discordance and of the margin classifier. Plain numbers only: it travels between
/// ranks as bytes.
struct LevelSummary {
    Estimate d, margin_auroc, balanced_accuracy;
    double rate_mid = 0;
    WideInterval d_wide{}, margin_auroc_wide{};  ///< METHODS 4, ci_wide
    NullTest null{},
        margin_null{};   ///< of rate_mid and margin AUROC (METHODS 5); undefined for a mean of findings
    double draw_sd = 0;  ///< of D over the draws; NaN for one draw
    double bound_low = 0,
           bound_high = 0;  ///< Clopper-Pearson over patients where every resample gives 0 or 1; else NaN
    bool excludes_half =
        false;  // of rate_mid             ///< by the interval, or by the bound where there is one
    std::int64_t discordant = 0, ties = 0;  ///< positives, draw 0; filled by the caller from its cases
    std::int64_t queries = 0, negative_queries = 0;
    std::int64_t patients = 0;  ///< of the positive queries
    bool few_patients = false;  ///< fewer than 10
};

/// The micro summary of a tally. `patients` contribute positive queries.
LevelSummary summarise(const Tally& tally, std::int64_t patients, double confidence);

/// The macro summary of several findings' tallies: means of their statistics.
/// @param patients  contribute to some finding. @param of_findings  to each
LevelSummary summarise_mean(std::span<const Tally> findings, std::int64_t patients,
                            std::span<const std::int64_t> of_findings, double confidence);

}  // namespace candor::instruments
