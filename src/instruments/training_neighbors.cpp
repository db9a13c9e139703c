#include "candor/instruments/training_neighbors.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "candor/base/error.hpp"

namespace candor::instruments {

TrainingQuestion::TrainingQuestion(const TrainingRows& rows) : rows_(&rows) {
    std::vector<ContextRow> training = rows.training, test = rows.test;
    std::ranges::sort(training);
    std::ranges::sort(test);
    std::vector<ContextRow> both;
    std::ranges::set_intersection(training, test, std::back_inserter(both));
    CANDOR_REQUIRE(both.empty(),
                   "row " + std::to_string(both.front().value) + " is for training and for test");
    reach_.assign(rows.test.size(), Reach{std::ssize(rows.training), -1});
}

NeighborScores neighbor_scores(const neighbors::NeighborSets& nearest, std::span<const std::int8_t> label) {
    const std::int64_t k = nearest.k, queries = std::ssize(nearest.values) / k;
    NeighborScores scores;
    for (std::int64_t q = 0; q < queries; ++q) {
        std::int64_t positives = 0;
        for (const neighbors::Neighbor& one : nearest.of(q)) {
            CANDOR_REQUIRE(
                one.position >= 0 && one.position < std::ssize(label),
                "position " + std::to_string(one.position) + " of " + std::to_string(label.size()));
            const std::int8_t its = label[static_cast<std::size_t>(one.position)];
            CANDOR_REQUIRE(its == 0 || its == 1, "training row " + std::to_string(one.position) +
                                                     " has label " + std::to_string(its));
            positives += its;
        }
        scores.impurity.push_back(static_cast<double>(k - std::abs(2 * positives - k)) /
                                  static_cast<double>(k));
        scores.distance.push_back(1 - nearest.of(q).back().cosine);
    }
    return scores;
}

std::vector<NeighborScores> training_neighbors(const neighbors::RowSource& rows,
                                               std::span<const TrainingRows> findings, int k,
                                               const neighbors::SearchOptions& options) {
    CANDOR_REQUIRE(k >= 1, "k = " + std::to_string(k));
    constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
    std::vector<NeighborScores> scores(findings.size());
    std::vector<TrainingQuestion> asked;
    std::vector<std::size_t> finding_of;
    for (std::size_t f = 0; f < findings.size(); ++f) {
        const TrainingRows& finding = findings[f];
        CANDOR_REQUIRE(finding.training.size() == finding.label.size(),
                       std::to_string(finding.training.size()) + " training rows, " +
                           std::to_string(finding.label.size()) + " labels");
        if (finding.test.empty()) continue;
        if (std::ssize(finding.training) < k) {
            scores[f].impurity.assign(finding.test.size(), undefined);
            scores[f].distance = scores[f].impurity;
            continue;
        }
        asked.emplace_back(finding);
        finding_of.push_back(f);
    }
    if (asked.empty()) return scores;
    std::vector<neighbors::Question> questions;
    for (const TrainingQuestion& one : asked) questions.push_back(one.question());
    const std::vector<neighbors::NeighborSets> nearest = neighbors::census(rows, questions, k, options);
    for (std::size_t q = 0; q < asked.size(); ++q)
        scores[finding_of[q]] = neighbor_scores(nearest[q], findings[finding_of[q]].label);
    return scores;
}

}  // namespace candor::instruments
