#include "candor/stats/auroc.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "candor/base/error.hpp"
#include "candor/stats/resampling.hpp"

namespace candor::stats {

namespace {

/// Whether start + 2 x positives x negatives is at most 2^62.
bool fits(std::uint64_t positives, std::uint64_t negatives, std::int64_t start) {
    const std::int64_t room = (std::int64_t{1} << 62) - start;
    return room >= 0 && (positives == 0 || negatives <= static_cast<std::uint64_t>(room) / 2 / positives);
}

/// A row while it is sorted.
struct Scored {
    double score;
    std::int32_t patient;
    bool positive;
};

void append(std::vector<Scored>& rows, std::span<const double> score, std::span<const std::int32_t> patient,
            bool positive) {
    const std::string side = positive ? "positive" : "negative";
    CANDOR_REQUIRE(score.size() == patient.size(), std::to_string(score.size()) + " " + side + " scores, " +
                                                       std::to_string(patient.size()) + " patients");
    for (std::size_t i = 0; i < score.size(); ++i) {
        CANDOR_REQUIRE(!std::isnan(score[i]), side + " " + std::to_string(i) + " has score NaN");
        CANDOR_REQUIRE(patient[i] >= 0,
                       side + " " + std::to_string(i) + " has patient " + std::to_string(patient[i]));
        rows.push_back({score[i], patient[i], positive});
    }
}

/// sum[b] += the weights of `patients`.
template <class Sum>
void add_weights(MatrixView<const std::uint16_t> weights, std::span<const std::int32_t> patients, Sum* sum) {
    for (const std::int32_t p : patients) {
        const std::uint16_t* const w = weights.data + p * weights.stride;
        for (std::int64_t b = 0; b < weights.cols; ++b) sum[b] += w[b];
    }
}

/// The largest weight that any of `patients` has.
std::uint16_t largest_weight(MatrixView<const std::uint16_t> weights,
                             std::span<const std::int32_t> patients) {
    std::array<std::uint16_t, resample_block> largest{};
    for (const std::int32_t p : patients) {
        const std::uint16_t* const w = weights.data + p * weights.stride;
        for (std::int64_t b = 0; b < weights.cols; ++b) largest[b] = std::max(largest[b], w[b]);
    }
    return std::ranges::max(largest);
}

}  // namespace

double auroc(std::int64_t twice_wins, std::int64_t pairs) {
    if (pairs == 0) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(twice_wins) / (2.0 * static_cast<double>(pairs));
}

PairCounter::PairCounter(std::span<const double> positive_score,
                         std::span<const std::int32_t> positive_patient,
                         std::span<const double> negative_score,
                         std::span<const std::int32_t> negative_patient)
    : positives_(static_cast<std::int64_t>(positive_score.size())),
      negatives_(static_cast<std::int64_t>(negative_score.size())) {
    std::vector<Scored> rows;
    rows.reserve(positive_score.size() + negative_score.size());
    append(rows, positive_score, positive_patient, true);
    append(rows, negative_score, negative_patient, false);
    std::ranges::sort(rows, [](const Scored& a, const Scored& b) {
        return a.score != b.score ? a.score < b.score : a.positive > b.positive;
    });

    patients_.reserve(rows.size());
    for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
        Step step{0, 0};
        for (; end < rows.size() && rows[end].score == rows[begin].score; ++end) {
            ++(rows[end].positive ? step.positives : step.negatives);
            patients_.push_back(rows[end].patient);
            last_patient_ = std::max(last_patient_, rows[end].patient);
        }
        Step* const last = steps_.empty() ? nullptr : &steps_.back();
        if (last && last->negatives == 0 && step.negatives == 0) {
            last->positives += step.positives;
        } else if (last && last->positives == 0 && step.positives == 0) {
            last->negatives += step.negatives;
        } else {
            steps_.push_back(step);
        }
    }

    CANDOR_REQUIRE(fits(static_cast<std::uint64_t>(positives_), static_cast<std::uint64_t>(negatives_), 0),
                   std::to_string(positives_) + " x " + std::to_string(negatives_) +
                       " pairs: their count could pass 2^62");
    pairs_ = positives_ * negatives_;
    std::int64_t below = 0;
    for (const Step& step : steps_) {
        twice_wins_ += step.positives * (2 * below + step.negatives);
        below += step.negatives;
    }
}

template <class Sum>
void PairCounter::add_up(MatrixView<const std::uint16_t> weights, std::uint64_t* twice_wins,
                         std::uint64_t* positives, std::uint64_t* negatives) const {
    // 2 x the negatives below the step; the positives and the negatives of the step; all positives.
    std::array<Sum, resample_block> below{}, here_positive{}, here_negative{}, all_positive{};
    const std::int64_t n = weights.cols;
    const std::int32_t* next = patients_.data();
    const auto take = [&](std::int64_t rows, std::array<Sum, resample_block>& sum) {
        sum.fill(0);
        add_weights(weights, {next, static_cast<std::size_t>(rows)}, sum.data());
        next += rows;
    };
    for (const Step& step : steps_) {
        if (step.positives > 0) take(step.positives, here_positive);
        if (step.negatives > 0) take(step.negatives, here_negative);
        if (step.positives > 0 && step.negatives > 0) {
            for (std::int64_t b = 0; b < n; ++b) {
                below[b] += here_negative[b];
                twice_wins[b] += std::uint64_t{here_positive[b]} * below[b];
                below[b] += here_negative[b];
                all_positive[b] += here_positive[b];
            }
        } else if (step.positives > 0) {
            for (std::int64_t b = 0; b < n; ++b) {
                twice_wins[b] += std::uint64_t{here_positive[b]} * below[b];
                all_positive[b] += here_positive[b];
            }
        } else {
            for (std::int64_t b = 0; b < n; ++b) below[b] += 2 * here_negative[b];
        }
    }
    for (std::int64_t b = 0; b < n; ++b) {
        positives[b] = all_positive[b];
        negatives[b] = below[b] / 2;
    }
}

void PairCounter::count(MatrixView<const std::uint16_t> weights, std::span<std::int64_t> twice_wins,
                        std::span<std::int64_t> pairs) const {
    CANDOR_REQUIRE(weights.cols <= resample_block &&
                       static_cast<std::int64_t>(twice_wins.size()) == weights.cols &&
                       pairs.size() == twice_wins.size(),
                   std::to_string(weights.cols) + " resamples, " + std::to_string(twice_wins.size()) +
                       " and " + std::to_string(pairs.size()) + " sums");
    CANDOR_REQUIRE(last_patient_ < weights.rows,
                   "patient " + std::to_string(last_patient_) + " of " + std::to_string(weights.rows));

    std::array<std::uint64_t, resample_block> wins{}, positives{}, negatives{};
    // 32-bit sums wherever twice all the negatives, and all the positives, provably fit: always, but for
    // pools of 10^8 rows. Both ways are exact.
    const std::int64_t most = largest_weight(weights, patients_) * 2 * std::max(positives_, negatives_);
    if (most <= std::numeric_limits<std::uint32_t>::max()) {
        add_up<std::uint32_t>(weights, wins.data(), positives.data(), negatives.data());
    } else {
        add_up<std::uint64_t>(weights, wins.data(), positives.data(), negatives.data());
    }

    // Unsigned sums may have wrapped only where twice the pairs pass 2^62, which is refused here.
    for (std::size_t b = 0; b < pairs.size(); ++b) {
        CANDOR_REQUIRE(fits(positives[b], negatives[b], std::max({twice_wins[b], pairs[b], std::int64_t{0}})),
                       "resample " + std::to_string(b) + " of the block: the count of pairs could pass 2^62");
    }
    for (std::size_t b = 0; b < pairs.size(); ++b) {
        twice_wins[b] += static_cast<std::int64_t>(wins[b]);
        pairs[b] += static_cast<std::int64_t>(positives[b] * negatives[b]);
    }
}

}  // namespace candor::stats
