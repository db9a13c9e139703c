#include "candor/stats/auroc.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "candor/base/error.hpp"
#include "stats/weight_kernels.hpp"

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
        PairStep step{0, 0};
        for (; end < rows.size() && rows[end].score == rows[begin].score; ++end) {
            ++(rows[end].positive ? step.positives : step.negatives);
            patients_.push_back(rows[end].patient);
            last_patient_ = std::max(last_patient_, rows[end].patient);
        }
        PairStep* const last = steps_.empty() ? nullptr : &steps_.back();
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
    for (const PairStep& step : steps_) {
        twice_wins_ += step.positives * (2 * below + step.negatives);
        below += step.negatives;
    }
}

void PairCounter::count(MatrixView<const Weight> weights, std::span<std::int64_t> twice_wins,
                        std::span<std::int64_t> pairs) const {
    CANDOR_REQUIRE(weights.cols <= resample_block &&
                       static_cast<std::int64_t>(twice_wins.size()) == weights.cols &&
                       pairs.size() == twice_wins.size(),
                   std::to_string(weights.cols) + " resamples, " + std::to_string(twice_wins.size()) +
                       " and " + std::to_string(pairs.size()) + " sums");
    CANDOR_REQUIRE(last_patient_ < weights.rows,
                   "patient " + std::to_string(last_patient_) + " of " + std::to_string(weights.rows));
    CANDOR_REQUIRE(weights.stride >= resample_block, "stride " + std::to_string(weights.stride));

    PairSums sums;
    add_pairs(weights, steps_, patients_, sums);

    // Unsigned sums may have wrapped only where twice the pairs pass 2^62, which is refused here.
    for (std::size_t b = 0; b < pairs.size(); ++b) {
        CANDOR_REQUIRE(
            fits(sums.positives[b], sums.negatives[b], std::max({twice_wins[b], pairs[b], std::int64_t{0}})),
            "resample " + std::to_string(b) + " of the block: the count of pairs could pass 2^62");
    }
    for (std::size_t b = 0; b < pairs.size(); ++b) {
        twice_wins[b] += static_cast<std::int64_t>(sums.twice_wins[b]);
        pairs[b] += static_cast<std::int64_t>(sums.positives[b] * sums.negatives[b]);
    }
}

}  // namespace candor::stats
