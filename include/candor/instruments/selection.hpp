#pragma once

/// Selection (METHODS 10): what choosing among the encoders of a panel, image by image, could gain over one
/// of them, and how much of it rules gain that look at no label.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/instruments/summary.hpp"
#include "candor/stats/resampling.hpp"
#include "candor/stats/weighted_sums.hpp"

namespace candor::instruments {

/// Who answers for an image. The rules come last.
enum class Policy {
    single,            ///< an encoder at random: the mean of the encoders' error rates
    oracle,            ///< wrong only where all are
    majority,          ///< wrong where more than half are
    independent,       ///< the product of the encoders' error rates: the oracle's, were they independent
    most_confident,    ///< the encoder with the largest abs(p - p(t))
    lowest_d,          ///< the encoder with the lowest D on training rows, for all images
    lowest_impurity,   ///< the encoder with the lowest impurity at the image
    mean_probability,  ///< the mean calibrated probability, at its own operating point
};
inline constexpr std::size_t policies = 8;
template <class T>
using ByPolicy = std::array<T, policies>;

constexpr std::size_t at(Policy policy) {
    return static_cast<std::size_t>(policy);
}
/// As tables name it, e.g. "lowest_impurity".
std::string_view name_of(Policy policy);

/// The cases of one finding: rows of the test pool that every encoder of the panel scored, E encoders, n
/// rows. Where a finding's heads differ from dataset to dataset there is one of these a dataset, and counts
/// add.
struct SelectionCases {
    MatrixView<const double> logit;         ///< E x n
    std::span<const double> threshold;      ///< E; an encoder calls {z >= threshold} positive
    std::span<const std::int8_t> label;     ///< n; 1 positive, 0 negative
    std::span<const std::int32_t> patient;  ///< n; rows of the weights
    /// What the rules look at; empty: the rules that need it are undefined.
    MatrixView<const double> probability{};           ///< E x n, calibrated on validation
    std::span<const double> threshold_probability{};  ///< E; p(t), by the same calibration
    double mean_threshold = 0;                        ///< of the mean probability (METHODS 8)
    std::span<const double> training_d{};             ///< E; NaN: not scored, never chosen
    MatrixView<const double> impurity{};              ///< E x n; NaN: undefined, not chosen
};

/// Which label the cases have.
enum class Side { negatives, positives };

/// Counts of one resample, or as they are. Whole numbers: where a rule leaves c encoders tied the mean of
/// their errors counts, kept as a sum for each c, so that counts add exactly in any order.
class SelectionCounts {
  public:
    SelectionCounts() = default;
    explicit SelectionCounts(std::int64_t encoders);
    /// From `values()`. @throws InternalError where they are not as many as that takes.
    SelectionCounts(std::int64_t encoders, std::vector<std::int64_t> values);

    /// All counts, for messages.
    std::span<const std::int64_t> values() const { return values_; }
    std::int64_t encoders() const { return encoders_; }
    SelectionCounts& operator+=(const SelectionCounts& other);

    std::int64_t rows(Side side) const { return values_[place(side, 0)]; }
    /// Rows on which all, or more than half, of the encoders err.
    std::int64_t all_err(Side side) const { return values_[place(side, 1)]; }
    std::int64_t most_err(Side side) const { return values_[place(side, 2)]; }
    /// Rows on which encoder g errs.
    std::int64_t encoder_errs(Side side, std::int64_t g) const { return values_[place(side, 3 + g)]; }
    /// Errors among the encoders that `rule` chose, over rows on which it chose `tied` at once.
    std::int64_t rule_errs(Side side, Policy rule, std::int64_t tied) const {
        return values_[place_of_rule(side, rule, tied)];
    }

    /// Rows that err under a policy, as if every row had its expectation; NaN without rows for `independent`.
    double expected_errors(Side side, Policy policy) const;

  private:
    friend class SelectionCounter;
    std::size_t place(Side side, std::int64_t column) const;
    std::size_t place_of_rule(Side side, Policy rule, std::int64_t tied) const;
    std::int64_t columns() const { return 3 + 5 * encoders_; }

    std::int64_t encoders_ = 0;
    std::vector<std::int64_t> values_;  // side by side
};

/// Observed counts and those of each resample.
struct SelectionTally {
    SelectionCounts observed;
    std::vector<SelectionCounts> resampled;
    ByPolicy<bool> undefined{};         ///< in a part
    std::int64_t without_impurity = 0;  ///< rows at which no encoder has one: all of them count as tied

    SelectionTally& operator+=(const SelectionTally& other);
};

/// Cases ready to be counted.
class SelectionCounter {
  public:
    /// @throws InternalError where sizes differ, there is no encoder, a logit, threshold or probability is
    /// not finite, or a label is neither.
    explicit SelectionCounter(const SelectionCases& cases);

    /// No resamples yet.
    const SelectionTally& observed() const { return observed_; }

    /// Adds the counts of a block of resamples to `into[0] .. into[weights.cols - 1]`, each of as many
    /// encoders.
    void count(MatrixView<const stats::Weight> weights, std::span<SelectionCounts> into) const;

  private:
    struct Column {
        stats::WeightedSums sums;
        std::size_t place;
    };
    SelectionTally observed_;
    std::vector<Column> columns_;
};

/// What is said of each policy.
struct SelectionRates {
    ByPolicy<double> miss;         ///< of the positives, the share that errs
    ByPolicy<double> false_alarm;  ///< of the negatives
    ByPolicy<double> balanced;     ///< the mean of both
    /// (single - policy) / (single - oracle) in balanced error: 0 for `single`, 1 for `oracle`; NaN where
    /// those two are equal.
    ByPolicy<double> gap_closed;
};

/// How findings are put together: cases pooled, or the mean of the findings' rates. `independent` is a
/// product a finding under both; the gap closed is that of the rates put together.
enum class Pooling { micro, macro };

/// Rates over findings; NaN where undefined (micro: no rows; macro: a finding without).
SelectionRates selection_rates(std::span<const SelectionCounts* const> findings, Pooling pooling);

struct SelectionSummary {
    ByPolicy<Estimate> miss, false_alarm, balanced, gap_closed;
    ByPolicy<bool> undefined{};
    std::int64_t positives = 0, negatives = 0, without_impurity = 0;
};

/// One finding: a span of one. @pre at least one tally, all of as many encoders and resamples.
SelectionSummary summarise(std::span<const SelectionTally> findings, Pooling pooling, double confidence);

}  // namespace candor::instruments
