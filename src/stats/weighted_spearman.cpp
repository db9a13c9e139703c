#include "candor/stats/weighted_spearman.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "candor/base/error.hpp"

namespace candor::stats {

namespace {

/// Twice-ranks less their mean are at most W in size for W pairs, and the sum of their squares at most
/// W^3 / 3; by Cauchy and Schwarz no sum of products over any of the pairs is larger. Up to here that is
/// below 2^63.
constexpr std::int64_t most_pairs = 2'000'000;

using Block = std::array<std::int64_t, resample_block>;

/// Positions of the values in ascending order; equal values by position.
std::vector<std::size_t> order_of(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
    return order;
}

/// One past the last of each run of equal values.
std::vector<std::int64_t> ends_of_runs(std::span<const double> values,
                                       const std::vector<std::size_t>& order) {
    std::vector<std::int64_t> ends;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const bool last = i + 1 == order.size() || values[order[i]] != values[order[i + 1]];
        if (last) ends.push_back(static_cast<std::int64_t>(i) + 1);
    }
    return ends;
}

}  // namespace

WeightedSpearman::WeightedSpearman(std::span<const double> x, std::span<const double> y,
                                   std::span<const std::int32_t> patient) {
    CANDOR_REQUIRE(x.size() == y.size() && x.size() == patient.size(),
                   std::to_string(x.size()) + " values, " + std::to_string(y.size()) + " values, " +
                       std::to_string(patient.size()) + " patients");
    for (std::size_t i = 0; i < x.size(); ++i) {
        CANDOR_REQUIRE(!std::isnan(x[i]) && !std::isnan(y[i]), "pair " + std::to_string(i) + " has a NaN");
        CANDOR_REQUIRE(patient[i] >= 0,
                       "pair " + std::to_string(i) + " has patient " + std::to_string(patient[i]));
        last_patient_ = std::max(last_patient_, patient[i]);
    }
    const std::vector<std::size_t> by_x = order_of(x), by_y = order_of(y);
    end_x_ = ends_of_runs(x, by_x);
    end_y_ = ends_of_runs(y, by_y);
    std::vector<std::int32_t> group(x.size());
    std::int32_t here = 0;
    for (std::size_t i = 0; i < by_x.size(); ++i) {
        here += static_cast<std::int64_t>(i) == end_x_[static_cast<std::size_t>(here)];
        group[by_x[i]] = here;
        patient_by_x_.push_back(patient[by_x[i]]);
    }
    for (const std::size_t i : by_y) {
        group_x_.push_back(group[i]);
        patient_by_y_.push_back(patient[i]);
    }
}

void WeightedSpearman::correlate(MatrixView<const Weight> weights, std::span<double> rho) const {
    CANDOR_REQUIRE(weights.cols <= resample_block && static_cast<std::int64_t>(rho.size()) == weights.cols,
                   std::to_string(weights.cols) + " resamples, " + std::to_string(rho.size()) + " results");
    CANDOR_REQUIRE(last_patient_ < weights.rows,
                   "patient " + std::to_string(last_patient_) + " of " + std::to_string(weights.rows));
    const std::int64_t n = weights.cols;
    const auto drawn = [&](std::int32_t patient) { return weights.data + patient * weights.stride; };

    Block all{};  // pairs drawn
    for (const std::int32_t p : patient_by_x_) {
        const Weight* const w = drawn(p);
        for (std::int64_t b = 0; b < n; ++b) all[b] += w[b];
    }
    const std::int64_t most = std::ranges::max(all);
    CANDOR_REQUIRE(most <= most_pairs, std::to_string(most) + " pairs in a resample");

    // The twice-rank of a run is 2 (pairs before it) + (pairs of it) + 1, and the mean of all is W + 1.
    const auto close_run = [&](Block& before, const Block& run, auto take) {
        for (std::int64_t b = 0; b < n; ++b) {
            take(b, 2 * before[b] + run[b] - all[b]);
            before[b] += run[b];
        }
    };
    Matrix<std::int32_t> rank_x(static_cast<std::int64_t>(end_x_.size()), n);
    Block before{}, xx{}, yy{}, xy{};
    std::int64_t i = 0;
    for (std::size_t g = 0; g < end_x_.size(); ++g) {
        Block run{};
        for (; i < end_x_[g]; ++i) {
            const Weight* const w = drawn(patient_by_x_[static_cast<std::size_t>(i)]);
            for (std::int64_t b = 0; b < n; ++b) run[b] += w[b];
        }
        const std::span<std::int32_t> rank = rank_x.row(static_cast<std::int64_t>(g));
        close_run(before, run, [&](std::int64_t b, std::int64_t r) {
            rank[b] = static_cast<std::int32_t>(r);
            xx[b] += run[b] * r * r;
        });
    }
    before = {};
    i = 0;
    for (const std::int64_t end : end_y_) {
        Block run{}, ranks{};
        for (; i < end; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const Weight* const w = drawn(patient_by_y_[at]);
            const std::int32_t* const x = rank_x.row(group_x_[at]).data();
            for (std::int64_t b = 0; b < n; ++b) {
                run[b] += w[b];
                ranks[b] += std::int64_t{w[b]} * x[b];
            }
        }
        close_run(before, run, [&](std::int64_t b, std::int64_t r) {
            yy[b] += run[b] * r * r;
            xy[b] += ranks[b] * r;
        });
    }
    for (std::int64_t b = 0; b < n; ++b) {
        const bool defined = all[b] >= 3 && xx[b] != 0 && yy[b] != 0;
        rho[b] = defined ? static_cast<double>(xy[b]) /
                               std::sqrt(static_cast<double>(xx[b]) * static_cast<double>(yy[b]))
                         : std::numeric_limits<double>::quiet_NaN();
    }
}

}  // namespace candor::stats
