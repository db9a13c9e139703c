#include "candor/instruments/selection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/instruments/confidence.hpp"

namespace candor::instruments {

namespace {

constexpr double undefined_value = std::numeric_limits<double>::quiet_NaN();
constexpr std::array sides{Side::negatives, Side::positives};

bool given(const MatrixView<const double>& matrix) {
    return matrix.data != nullptr;
}

/// All of one shape and finite where they must be.
void require_cases(const SelectionCases& cases) {
    const std::int64_t encoders = cases.logit.rows, n = cases.logit.cols;
    const auto fits = [&](const MatrixView<const double>& matrix) {
        return !given(matrix) || (matrix.rows == encoders && matrix.cols == n);
    };
    const auto one_each = [&](std::span<const double> values) {
        return values.empty() || std::ssize(values) == encoders;
    };
    CANDOR_REQUIRE(encoders >= 1, "no encoders");
    CANDOR_REQUIRE(
        std::ssize(cases.threshold) == encoders && std::ssize(cases.label) == n &&
            std::ssize(cases.patient) == n && fits(cases.probability) && fits(cases.impurity) &&
            one_each(cases.threshold_probability) && one_each(cases.training_d) &&
            given(cases.probability) == !cases.threshold_probability.empty(),
        std::to_string(encoders) + " encoders, " + std::to_string(n) + " rows: the inputs do not fit");
    if (!given(cases.probability)) return;
    CANDOR_REQUIRE(std::isfinite(cases.mean_threshold), "a threshold is not finite");
    for (std::int64_t g = 0; g < encoders; ++g) {
        CANDOR_REQUIRE(
            std::isfinite(cases.threshold_probability[static_cast<std::size_t>(g)]) &&
                std::ranges::all_of(cases.probability.row(g), [](double p) { return std::isfinite(p); }),
            "a probability of encoder " + std::to_string(g) + " is not finite");
    }
}

/// The encoders with the smallest value; all where every value is NaN.
void choose_smallest(std::span<const double> value, std::vector<bool>& chosen) {
    double smallest = undefined_value;
    for (const double v : value) {
        if (!std::isnan(v) && !(smallest <= v)) smallest = v;
    }
    for (std::size_t g = 0; g < value.size(); ++g) chosen[g] = std::isnan(smallest) || value[g] == smallest;
}

std::size_t rule_index(Policy rule) {
    return at(rule) - at(Policy::most_confident);
}

}  // namespace

std::string_view name_of(Policy policy) {
    constexpr ByPolicy<std::string_view> names{"single",          "oracle",          "majority",
                                               "independent",     "most_confident",  "lowest_d",
                                               "lowest_impurity", "mean_probability"};
    return names[at(policy)];
}

SelectionCounts::SelectionCounts(std::int64_t encoders) : encoders_(encoders) {
    values_.assign(static_cast<std::size_t>(2 * columns()), 0);
}

SelectionCounts::SelectionCounts(std::int64_t encoders, std::vector<std::int64_t> values)
    : encoders_(encoders), values_(std::move(values)) {
    CANDOR_REQUIRE(std::ssize(values_) == 2 * columns(),
                   std::to_string(values_.size()) + " counts of " + std::to_string(encoders) + " encoders");
}

SelectionCounts& SelectionCounts::operator+=(const SelectionCounts& other) {
    if (encoders_ == 0) *this = SelectionCounts(other.encoders_);
    CANDOR_REQUIRE(encoders_ == other.encoders_,
                   std::to_string(encoders_) + " and " + std::to_string(other.encoders_) + " encoders");
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
    return *this;
}

std::size_t SelectionCounts::place(Side side, std::int64_t column) const {
    CANDOR_REQUIRE(column < columns() && encoders_ > 0, "column " + std::to_string(column));
    return static_cast<std::size_t>((side == Side::positives ? columns() : 0) + column);
}

std::size_t SelectionCounts::place_of_rule(Side side, Policy rule, std::int64_t tied) const {
    return place(side, 3 + encoders_ * static_cast<std::int64_t>(1 + rule_index(rule)) + tied - 1);
}

double SelectionCounts::expected_errors(Side side, Policy policy) const {
    const auto n = static_cast<double>(rows(side));
    switch (policy) {
        case Policy::single: {
            std::int64_t errors = 0;
            for (std::int64_t g = 0; g < encoders_; ++g) errors += encoder_errs(side, g);
            return static_cast<double>(errors) / static_cast<double>(encoders_);
        }
        case Policy::oracle:
            return static_cast<double>(all_err(side));
        case Policy::majority:
            return static_cast<double>(most_err(side));
        case Policy::independent: {
            double product = n;
            for (std::int64_t g = 0; g < encoders_; ++g)
                product *= static_cast<double>(encoder_errs(side, g)) / n;
            return product;
        }
        default: {
            double errors = 0;
            for (std::int64_t tied = 1; tied <= encoders_; ++tied)
                errors += static_cast<double>(rule_errs(side, policy, tied)) / static_cast<double>(tied);
            return errors;
        }
    }
}

SelectionTally& SelectionTally::operator+=(const SelectionTally& other) {
    observed += other.observed;
    if (resampled.empty()) resampled.resize(other.resampled.size());
    CANDOR_REQUIRE(resampled.size() == other.resampled.size(), "resamples differ");
    for (std::size_t b = 0; b < resampled.size(); ++b) resampled[b] += other.resampled[b];
    for (std::size_t p = 0; p < policies; ++p) undefined[p] = undefined[p] || other.undefined[p];
    without_impurity += other.without_impurity;
    return *this;
}

SelectionCounter::SelectionCounter(const SelectionCases& cases) {
    require_cases(cases);
    const std::int64_t encoders = cases.logit.rows, n = cases.logit.cols;
    const auto e = static_cast<std::size_t>(encoders);
    observed_.observed = SelectionCounts(encoders);
    SelectionCounts& counts = observed_.observed;
    observed_.undefined[at(Policy::most_confident)] = !given(cases.probability);
    observed_.undefined[at(Policy::mean_probability)] = !given(cases.probability);
    observed_.undefined[at(Policy::lowest_impurity)] = !given(cases.impurity);
    observed_.undefined[at(Policy::lowest_d)] =
        std::ranges::all_of(cases.training_d, [](double d) { return std::isnan(d); });

    for (const Side side : sides) {
        std::vector<std::int64_t> of_side;
        std::vector<std::int32_t> patient;
        for (std::int64_t x = 0; x < n; ++x) {
            if ((cases.label[static_cast<std::size_t>(x)] == 1) != (side == Side::positives)) continue;
            of_side.push_back(x);
            patient.push_back(cases.patient[static_cast<std::size_t>(x)]);
        }
        // Values of the columns that are not zero throughout, by place.
        std::vector<std::vector<std::int64_t>> values(counts.values_.size());
        const auto value = [&](std::size_t place, std::size_t i) -> std::int64_t& {
            if (values[place].empty()) values[place].assign(of_side.size(), 0);
            return values[place][i];
        };
        std::vector<bool> errs(e), chosen(e);
        std::vector<double> looked_at(e);
        for (std::size_t i = 0; i < of_side.size(); ++i) {
            const auto x = static_cast<std::size_t>(of_side[i]);
            std::int64_t wrong = 0;
            for (std::int64_t g = 0; g < encoders; ++g) {
                const auto at_g = static_cast<std::size_t>(g);
                errs[at_g] = head_errs(cases.logit.row(g)[x], cases.threshold[at_g], cases.label[x]);
                wrong += errs[at_g];
                if (errs[at_g]) value(counts.place(side, 3 + g), i) = 1;
            }
            value(counts.place(side, 0), i) = 1;
            if (wrong == encoders) value(counts.place(side, 1), i) = 1;
            if (2 * wrong > encoders) value(counts.place(side, 2), i) = 1;

            const auto take = [&](Policy rule) {
                std::int64_t tied = 0, errors = 0;
                for (std::size_t g = 0; g < e; ++g) {
                    tied += chosen[g];
                    errors += chosen[g] && errs[g];
                }
                if (errors > 0) value(counts.place_of_rule(side, rule, tied), i) = errors;
            };
            if (given(cases.probability)) {
                double mean = 0;
                for (std::size_t g = 0; g < e; ++g) {
                    const double p = cases.probability.row(static_cast<std::int64_t>(g))[x];
                    looked_at[g] = -std::abs(p - cases.threshold_probability[g]);
                    mean += p;
                }
                choose_smallest(looked_at, chosen);
                take(Policy::most_confident);
                mean /= static_cast<double>(encoders);
                if (head_errs(mean, cases.mean_threshold, cases.label[x]))
                    value(counts.place_of_rule(side, Policy::mean_probability, 1), i) = 1;
            }
            if (!observed_.undefined[at(Policy::lowest_d)]) {
                choose_smallest(cases.training_d, chosen);
                take(Policy::lowest_d);
            }
            if (given(cases.impurity)) {
                for (std::size_t g = 0; g < e; ++g)
                    looked_at[g] = cases.impurity.row(static_cast<std::int64_t>(g))[x];
                observed_.without_impurity +=
                    std::ranges::all_of(looked_at, [](double r) { return std::isnan(r); });
                choose_smallest(looked_at, chosen);
                take(Policy::lowest_impurity);
            }
        }
        const stats::RowPatients of_rows(patient);
        for (std::size_t place = 0; place < values.size(); ++place) {
            if (values[place].empty()) continue;
            columns_.push_back({stats::WeightedSums(of_rows, values[place]), place});
            counts.values_[place] = columns_.back().sums.observed();
        }
    }
}

void SelectionCounter::count(MatrixView<const stats::Weight> weights, std::span<SelectionCounts> into) const {
    const auto width = static_cast<std::size_t>(weights.cols);
    CANDOR_REQUIRE(into.size() == width,
                   std::to_string(width) + " resamples, " + std::to_string(into.size()) + " counts");
    for (const SelectionCounts& counts : into)
        CANDOR_REQUIRE(counts.encoders() == observed_.observed.encoders(),
                       "counts of " + std::to_string(counts.encoders()) + " encoders");
    std::vector<std::int64_t> sums(width);
    for (const Column& column : columns_) {
        std::ranges::fill(sums, 0);
        column.sums.add(weights, sums);
        for (std::size_t b = 0; b < width; ++b) into[b].values_[column.place] += sums[b];
    }
}

SelectionRates selection_rates(std::span<const SelectionCounts* const> findings, Pooling pooling) {
    const auto rate = [&](Side side, Policy policy) {
        double errors = 0, rows = 0;
        for (const SelectionCounts* finding : findings) {
            const auto n = static_cast<double>(finding->rows(side));
            if (pooling == Pooling::macro) {
                errors += finding->expected_errors(side, policy) / n;  // NaN without rows
                rows += 1;
            } else if (n > 0) {
                errors += finding->expected_errors(side, policy);
                rows += n;
            }
        }
        return errors / rows;
    };
    SelectionRates rates;
    for (std::size_t p = 0; p < policies; ++p) {
        const auto policy = static_cast<Policy>(p);
        rates.miss[p] = rate(Side::positives, policy);
        rates.false_alarm[p] = rate(Side::negatives, policy);
        rates.balanced[p] = (rates.miss[p] + rates.false_alarm[p]) / 2;
    }
    const double single = rates.balanced[at(Policy::single)], oracle = rates.balanced[at(Policy::oracle)];
    for (std::size_t p = 0; p < policies; ++p)
        rates.gap_closed[p] =
            single == oracle ? undefined_value : (single - rates.balanced[p]) / (single - oracle);
    return rates;
}

SelectionSummary summarise(std::span<const SelectionTally> findings, Pooling pooling, double confidence) {
    CANDOR_REQUIRE(!findings.empty(), "no findings");
    const std::size_t resamples = findings.front().resampled.size();
    SelectionSummary summary;
    for (const SelectionTally& finding : findings) {
        CANDOR_REQUIRE(finding.resampled.size() == resamples, "resamples differ");
        for (std::size_t p = 0; p < policies; ++p)
            summary.undefined[p] = summary.undefined[p] || finding.undefined[p];
        summary.positives += finding.observed.rows(Side::positives);
        summary.negatives += finding.observed.rows(Side::negatives);
        summary.without_impurity += finding.without_impurity;
    }
    std::vector<SelectionRates> rates;
    std::vector<const SelectionCounts*> counts(findings.size());
    for (std::size_t b = 0; b <= resamples; ++b) {
        for (std::size_t f = 0; f < findings.size(); ++f)
            counts[f] = b == resamples ? &findings[f].observed : &findings[f].resampled[b];
        rates.push_back(selection_rates(counts, pooling));
    }
    const auto estimates = [&](ByPolicy<double> SelectionRates::*quantity) {
        ByPolicy<Estimate> out;
        for (std::size_t p = 0; p < policies; ++p) {
            Replicates values{undefined_value, std::vector<double>(resamples, undefined_value)};
            if (!summary.undefined[p]) {
                values.observed = (rates.back().*quantity)[p];
                for (std::size_t b = 0; b < resamples; ++b) values.resampled[b] = (rates[b].*quantity)[p];
            }
            out[p] = estimate(values, confidence);
        }
        return out;
    };
    summary.miss = estimates(&SelectionRates::miss);
    summary.false_alarm = estimates(&SelectionRates::false_alarm);
    summary.balanced = estimates(&SelectionRates::balanced);
    summary.gap_closed = estimates(&SelectionRates::gap_closed);
    return summary;
}

}  // namespace candor::instruments
