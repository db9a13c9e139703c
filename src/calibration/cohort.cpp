#include "calibration/cohort.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "candor/neighbors/census.hpp"
#include "candor/neighbors/row_set.hpp"
#include "candor/stats/resampling.hpp"

namespace candor::calibration {

using instruments::Counts;
using instruments::NearList;
using instruments::Participants;
using instruments::RowWorlds;
using instruments::Worlds;
using instruments::worlds_a_word;

double Draws::normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
}

Cohort make_cohort(const CohortShape& shape, Draws& draws) {
    std::vector<instruments::LabelledRow> rows;
    std::vector<std::vector<float>> features;
    std::vector<double> centre(static_cast<std::size_t>(shape.dimension));
    for (std::int64_t p = 0; p < shape.positive_patients + shape.negative_patients; ++p) {
        const std::int64_t count =
            shape.all_images
                ? shape.images
                : 1 + static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(shape.images)));
        const bool positive = p < shape.positive_patients;
        for (double& c : centre) c = shape.shared * draws.normal();
        for (std::int64_t i = 0; i < count; ++i) {
            instruments::LabelledRow row;
            row.label = positive ? 1 : 0;
            row.patient = static_cast<std::int32_t>(p);
            row.identity = static_cast<std::int32_t>(rows.size());
            rows.push_back(row);
            std::vector<float> x;
            for (const double c : centre) x.push_back(static_cast<float>(c + draws.normal()));
            if (positive) x[0] += static_cast<float>(shape.signal);
            features.push_back(std::move(x));
        }
    }
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    draws.shuffle(order);
    Cohort cohort{{}, Matrix<float>(std::ssize(rows), shape.dimension)};
    for (std::size_t i = 0; i < order.size(); ++i) {
        cohort.rows.push_back(rows[order[i]]);
        std::ranges::copy(features[order[i]], cohort.features.row(static_cast<std::int64_t>(i)).begin());
    }
    return cohort;
}

std::vector<NearList> whole_lists(MatrixView<const float> features) {
    Matrix<float> copy(features.rows, features.cols);
    for (std::int64_t i = 0; i < features.rows; ++i) std::ranges::copy(features.row(i), copy.row(i).begin());
    const neighbors::RowSet rows{neighbors::StoredRows(std::move(copy))};
    const auto n = static_cast<std::size_t>(rows.rows());
    std::vector<double> cosine(n * n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < i; ++j)
            cosine[i * n + j] = cosine[j * n + i] = rows.cosine(ContextRow(static_cast<std::int64_t>(i)),
                                                                ContextRow(static_cast<std::int64_t>(j)));
    }
    std::vector<NearList> lists(n);
    for (std::size_t i = 0; i < n; ++i) {
        NearList& list = lists[i];
        for (std::size_t j = 0; j < n; ++j) {
            if (j != i) list.row.push_back(static_cast<std::int32_t>(j));
        }
        std::ranges::stable_sort(list.row, std::greater(),
                                 [&](std::int32_t j) { return cosine[i * n + static_cast<std::size_t>(j)]; });
        for (const std::int32_t j : list.row)
            list.cosine.push_back(cosine[i * n + static_cast<std::size_t>(j)]);
        list.whole = true;
    }
    return lists;
}

std::vector<NearList> near_lists(MatrixView<const float> features, int length) {
    Matrix<float> copy(features.rows, features.cols);
    for (std::int64_t i = 0; i < features.rows; ++i) std::ranges::copy(features.row(i), copy.row(i).begin());
    const neighbors::RowSet rows{neighbors::StoredRows(std::move(copy))};
    std::vector<ContextRow> all;
    std::vector<Reach> reach;
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
        all.emplace_back(i);
        reach.push_back({rows.rows(), i});
    }
    const neighbors::Question question{all, all, reach, length};
    const auto found = std::move(neighbors::census(rows, {&question, 1}, length, {}).front());
    std::vector<NearList> lists(all.size());
    for (std::size_t i = 0; i < lists.size(); ++i) {
        for (const neighbors::Neighbor& one : found.of(static_cast<std::int64_t>(i))) {
            lists[i].row.push_back(static_cast<std::int32_t>(one.position));
            lists[i].cosine.push_back(one.cosine);
        }
    }
    return lists;
}

Figures figures_of(const Cohort& cohort, const instruments::RoleRules& rules, std::uint64_t seed,
                   std::int64_t permutations, std::int64_t draws) {
    return figures_of(cohort, rules, seed, permutations, draws, instruments::wide_share);
}

Figures figures_of(const Cohort& cohort, const instruments::RoleRules& rules, std::uint64_t seed,
                   std::int64_t permutations, std::int64_t draws, double share) {
    const Participants all(cohort.rows, rules);
    Figures figures;
    if (!all.scored()) return figures;
    Matrix<float> features(all.size(), cohort.features.cols());
    std::int32_t patients = 0;
    for (std::int64_t i = 0; i < all.size(); ++i) {
        std::ranges::copy(cohort.features.row(all.chosen()[static_cast<std::size_t>(i)]),
                          features.row(i).begin());
        patients = std::max(patients, all.rows()[static_cast<std::size_t>(i)].patient + 1);
    }
    const std::vector<NearList> lists = whole_lists(features.view());
    const auto count = [&](const std::vector<RowWorlds>& roles, std::int64_t worlds, bool blind) {
        return instruments::count_worlds(lists, roles, all.unit(), rules.k, static_cast<int>(worlds), true,
                                         blind ? all.positives() : 0);
    };
    figures.positives = all.positives();
    instruments::WorldCounts observed = count(all.observed(), 1, true);
    figures.observed = observed.counts.front();
    figures.blind = std::move(observed.blind);
    figures.words = observed.words;
    for (std::int64_t first = 0; first < permutations; first += worlds_a_word) {
        const std::int64_t worlds = std::min(worlds_a_word, permutations - first);
        const auto counted = count(all.permuted(seed, "calibrate", first, worlds), worlds, true);
        figures.permuted.insert(figures.permuted.end(), counted.counts.begin(), counted.counts.end());
        figures.permuted_blind.insert(figures.permuted_blind.end(), counted.blind.begin(),
                                      counted.blind.end());
    }
    for (std::int64_t first = 0; first < draws; first += worlds_a_word) {
        const std::int64_t worlds = std::min(worlds_a_word, draws - first);
        const auto drawn = instruments::draw_patients(seed, "calibrate", patients, share, first, worlds);
        const auto counted = count(all.subsampled(drawn), worlds, false);
        figures.subsampled.insert(figures.subsampled.end(), counted.counts.begin(), counted.counts.end());
    }
    return figures;
}

instruments::RoleRules rules_of(int k, bool distinct) {
    instruments::RoleRules rules;
    rules.k = k;
    rules.by_patient = distinct;
    return rules;
}

instruments::Replicates resampled_rate(std::span<const std::int32_t> cluster,
                                       std::span<const std::int8_t> discordant, std::int64_t clusters,
                                       std::uint64_t seed) {
    constexpr std::int64_t resamples = 500;
    Matrix<std::int8_t> hits(std::ssize(discordant), 1), ties(std::ssize(discordant), 1);
    for (std::size_t i = 0; i < discordant.size(); ++i) {
        hits.row(static_cast<std::int64_t>(i))[0] = discordant[i];
        ties.row(static_cast<std::int64_t>(i))[0] = 0;
    }
    const instruments::CellCounter counter(cluster, hits.view(), ties.view(), {}, std::ssize(discordant));
    instruments::Tally tally = counter.observed();
    tally.resampled.resize(static_cast<std::size_t>(resamples));
    const stats::Resampling resampling(seed, "calibrate", clusters, resamples);
    resampling.for_each_block([&](MatrixView<const stats::Weight> weights, std::int64_t first) {
        counter.count(weights,
                      std::span(tally.resampled)
                          .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(weights.cols)));
    });
    return instruments::replicates(tally, &Counts::rate);
}

instruments::Replicates resampled_rate(const Cohort& cohort, const Figures& figures, bool by_row,
                                       std::uint64_t seed) {
    // The blind positives in the order of their rows are those who ask.
    std::vector<std::int8_t> discordant;
    std::vector<std::int32_t> cluster;
    std::int32_t clusters = 0, row = 0;
    for (const instruments::LabelledRow& one : cohort.rows) {
        const std::int32_t mine = by_row ? row++ : one.patient;
        clusters = std::max(clusters, mine + 1);
        if (one.label != 1) continue;
        const auto at = discordant.size();
        discordant.push_back(figures.blind[at / 64] >> (at % 64) & 1);
        cluster.push_back(mine);
    }
    return resampled_rate(cluster, discordant, clusters, seed);
}

Verdict mean_verdict(std::string what, std::span<const double> values, double expected, double errors) {
    double sum = 0, squares = 0, count = 0;
    for (const double v : values) {
        if (std::isnan(v)) continue;
        sum += v;
        ++count;
    }
    const double mean = sum / count;
    for (const double v : values) squares += std::isnan(v) ? 0 : (v - mean) * (v - mean);
    const double error = std::sqrt(squares / (count - 1) / count);
    return {"", std::move(what), expected, mean, expected - errors * error, expected + errors * error, error,
            {}};
}

Verdict share_verdict(std::string what, std::int64_t hits, std::int64_t count, double expected, double low,
                      double high) {
    const auto n = static_cast<double>(count);
    const double error = std::sqrt(expected * (1 - expected) / n);
    return {"",
            std::move(what),
            expected,
            static_cast<double>(hits) / n,
            low - 3 * error,
            high + 3 * error,
            error,
            {}};
}

Verdict shown(Verdict verdict) {
    verdict.low = verdict.high = std::numeric_limits<double>::quiet_NaN();
    return verdict;
}

}  // namespace candor::calibration
