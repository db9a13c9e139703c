#include "candor/instruments/tally.hpp"

#include <limits>

#include "candor/base/error.hpp"

namespace candor::instruments {

namespace {

double ratio(double numerator, std::int64_t denominator) {
    return denominator == 0 ? std::numeric_limits<double>::quiet_NaN()
                            : numerator / static_cast<double>(denominator);
}

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
    discordant += other.discordant;
    ties += other.ties;
    queries += other.queries;
    twice_wins += other.twice_wins;
    pairs += other.pairs;
    positive_right += other.positive_right;
    positives += other.positives;
    negative_right += other.negative_right;
    negatives += other.negatives;
    return *this;
}

double Counts::rate() const {
    return ratio(static_cast<double>(discordant), queries);
}

double Counts::rate_mid() const {
    return ratio(static_cast<double>(2 * discordant + ties) / 2, queries);
}

double Counts::margin_auroc() const {
    return stats::auroc(twice_wins, pairs);
}

double Counts::balanced_accuracy() const {
    return (ratio(static_cast<double>(positive_right) / 2, positives) +
            ratio(static_cast<double>(negative_right) / 2, negatives)) /
           2;
}

Tally& Tally::operator+=(const Tally& other) {
    observed += other.observed;
    unpermuted += other.unpermuted;
    if (discordant_by_draw.empty()) discordant_by_draw.resize(other.discordant_by_draw.size());
    CANDOR_REQUIRE(discordant_by_draw.size() == other.discordant_by_draw.size(), "draws differ");
    for (std::size_t r = 0; r < discordant_by_draw.size(); ++r)
        discordant_by_draw[r] += other.discordant_by_draw[r];
    for (const auto part : {&Tally::resampled, &Tally::permuted, &Tally::subsampled}) {
        std::vector<Counts>& mine = this->*part;
        if (mine.empty()) mine.resize((other.*part).size());
        CANDOR_REQUIRE(mine.size() == (other.*part).size(), "resamples differ");
        for (std::size_t b = 0; b < mine.size(); ++b) mine[b] += (other.*part)[b];
    }
    return *this;
}

void CellCounter::add_column(std::int64_t Counts::*target, const stats::RowPatients& rows,
                             std::span<const std::int64_t> value) {
    columns_.push_back({stats::WeightedSums(rows, value), target});
    observed_.observed.*target += columns_.back().sums.observed();
}

CellCounter::CellCounter(std::span<const std::int32_t> patient, MatrixView<const std::int8_t> discordant,
                         MatrixView<const std::int8_t> ties, std::span<const double> margin,
                         std::int64_t positives) {
    const auto p = static_cast<std::size_t>(positives);
    const std::int64_t draws = discordant.cols;
    const stats::RowPatients of_positives(patient.first(p));
    std::vector<std::int64_t> value(p);
    observed_.discordant_by_draw.assign(static_cast<std::size_t>(draws), 0);
    for (std::size_t i = 0; i < p; ++i) {
        const auto row = discordant.row(static_cast<std::int64_t>(i));
        for (std::size_t r = 0; r < row.size(); ++r) {
            value[i] += row[r];
            observed_.discordant_by_draw[r] += row[r];
        }
    }
    add_column(&Counts::discordant, of_positives, value);
    for (std::size_t i = 0; i < p; ++i) {
        value[i] = 0;
        for (const std::int8_t tie : ties.row(static_cast<std::int64_t>(i))) value[i] += tie;
    }
    add_column(&Counts::ties, of_positives, value);
    value.assign(p, draws);
    add_column(&Counts::queries, of_positives, value);
    if (margin.empty()) return;

    const auto right = [&](std::size_t from, std::size_t to, double sign) {
        std::vector<std::int64_t> halves;
        for (std::size_t i = from; i < to; ++i) {
            halves.push_back(sign * margin[i] > 0 ? 2 : margin[i] == 0 ? 1 : 0);
        }
        return halves;
    };
    const std::size_t all = margin.size();
    add_column(&Counts::positive_right, of_positives, right(0, p, -1));
    add_column(&Counts::positives, of_positives, std::vector<std::int64_t>(p, 1));
    const stats::RowPatients of_negatives(patient.subspan(p));
    add_column(&Counts::negative_right, of_negatives, right(p, all, +1));
    add_column(&Counts::negatives, of_negatives, std::vector<std::int64_t>(all - p, 1));

    std::vector<double> score(all);
    for (std::size_t i = 0; i < all; ++i) score[i] = -margin[i];
    pairs_.emplace_back(std::span(score).first(p), patient.first(p), std::span(score).subspan(p),
                        patient.subspan(p));
    observed_.observed.twice_wins = pairs_.front().twice_wins();
    observed_.observed.pairs = pairs_.front().pairs();
}

void CellCounter::count(MatrixView<const stats::Weight> weights, std::span<Counts> into) const {
    const auto width = static_cast<std::size_t>(weights.cols);
    std::vector<std::int64_t> sums(width), pairs(width);
    for (const Column& column : columns_) {
        sums.assign(width, 0);
        column.sums.add(weights, sums);
        for (std::size_t b = 0; b < width; ++b) into[b].*column.target += sums[b];
    }
    for (const stats::PairCounter& counter : pairs_) {
        sums.assign(width, 0);
        pairs.assign(width, 0);
        counter.count(weights, sums, pairs);
        for (std::size_t b = 0; b < width; ++b) {
            into[b].twice_wins += sums[b];
            into[b].pairs += pairs[b];
        }
    }
}

}  // namespace candor::instruments
