#include "candor/campaign/detection_work.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/threads.hpp"
#include "candor/instruments/mahalanobis.hpp"
#include "candor/instruments/training_neighbors.hpp"
#include "candor/neighbors/memory_rows.hpp"
#include "candor/neighbors/search.hpp"

namespace candor::campaign {

namespace {

using Scores = Matrix<double> GeometricScores::*;
constexpr std::array<Scores, 3> all_scores{&GeometricScores::impurity, &GeometricScores::distance,
                                           &GeometricScores::mahalanobis};

/// Positions among the training rows (first) and the test rows (second) of one context.
using Sides = std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>;

std::map<std::int32_t, Sides> by_context(const TaskWork& work, const study::HeadRows& heads) {
    std::map<std::int32_t, Sides> contexts;
    for (std::size_t i = 0; i < heads.test.size(); ++i) {
        contexts[work.pool.context[static_cast<std::size_t>(heads.test[i].value)]].second.push_back(
            static_cast<std::int64_t>(i));
    }
    for (std::size_t i = 0; i < heads.training.rows.size(); ++i) {
        const auto at = contexts.find(heads.training.context[i]);
        if (at != contexts.end()) at->second.first.push_back(static_cast<std::int64_t>(i));
    }
    return contexts;
}

std::int8_t test_label(const TaskWork& work, const study::HeadRows& heads, std::size_t finding,
                       std::int64_t row) {
    const PoolRow at = heads.test[static_cast<std::size_t>(row)];
    return work.pool.labels[finding][static_cast<std::size_t>(at.value)];
}

/// What the nearest training rows of one context say of its test rows.
void ask_neighbors(const study::Study& study, const TaskWork& work, const study::HeadRows& heads,
                   const neighbors::RowSource& rows, const Sides& sides,
                   const neighbors::SearchOptions& options, GeometricScores& scores) {
    const auto training = std::ssize(heads.training.rows);
    std::vector<ContextRow> which;
    for (const std::int64_t i : sides.first) which.emplace_back(i);
    for (const std::int64_t i : sides.second) which.emplace_back(training + i);
    const neighbors::RowSubset here(rows, std::move(which));

    const std::size_t findings = heads.training.labels.size();
    std::vector<instruments::TrainingRows> asked(findings);
    std::vector<std::vector<std::int64_t>> tested(findings);  // positions in HeadRows::test
    for (std::size_t f = 0; f < findings; ++f) {
        for (std::size_t i = 0; i < sides.first.size(); ++i) {
            const std::int8_t label = heads.training.labels[f][static_cast<std::size_t>(sides.first[i])];
            if (label < 0) continue;
            asked[f].training.emplace_back(static_cast<std::int64_t>(i));
            asked[f].label.push_back(label);
        }
        for (std::size_t i = 0; i < sides.second.size(); ++i) {
            if (test_label(work, heads, f, sides.second[i]) < 0) continue;
            asked[f].test.emplace_back(static_cast<std::int64_t>(sides.first.size() + i));
            tested[f].push_back(sides.second[i]);
        }
    }
    const auto found = instruments::training_neighbors(here, asked, study.op.k, options);
    for (std::size_t f = 0; f < findings; ++f) {
        const auto row = static_cast<std::int64_t>(f);
        for (std::size_t i = 0; i < tested[f].size(); ++i) {
            const auto at = static_cast<std::size_t>(tested[f][i]);
            scores.impurity.row(row)[at] = found[f].impurity[i];
            scores.distance.row(row)[at] = found[f].distance[i];
        }
    }
}

/// Distances of one finding's test rows from the classes of all its training rows.
void measure_distances(const TaskWork& work, const study::HeadRows& heads, const neighbors::RowSource& rows,
                       std::size_t finding, std::span<double> out) {
    std::vector<ContextRow> training, test;
    std::vector<std::int8_t> label;
    for (std::size_t i = 0; i < heads.training.rows.size(); ++i) {
        if (heads.training.labels[finding][i] < 0) continue;
        training.emplace_back(static_cast<std::int64_t>(i));
        label.push_back(heads.training.labels[finding][i]);
    }
    std::vector<std::size_t> tested;
    for (std::size_t i = 0; i < heads.test.size(); ++i) {
        if (test_label(work, heads, finding, static_cast<std::int64_t>(i)) < 0) continue;
        test.emplace_back(std::ssize(heads.training.rows) + static_cast<std::int64_t>(i));
        tested.push_back(i);
    }
    const auto fitted = instruments::Mahalanobis::fit(rows, training, label);
    if (!fitted) return;
    const std::vector<double> distances = fitted->distances(rows, test, 1);
    for (std::size_t i = 0; i < tested.size(); ++i) out[tested[i]] = distances[i];
}

}  // namespace

std::vector<DetectionJob> detection_jobs(const study::Study& study, const std::vector<TaskWork>& work,
                                         const HeadRowsOfWork& heads) {
    std::vector<DetectionJob> jobs;
    for (const HeadJob& head : head_jobs(study, work, heads)) {
        if (head.kind == primary_head && head.member == 0)
            jobs.push_back({head.work, head.encoder, head.dataset});
    }
    return jobs;
}

double detection_cost(const study::Study& study, const std::vector<TaskWork>& work,
                      const HeadRowsOfWork& heads, const DetectionJob& job, std::int64_t dimension) {
    const study::HeadRows& rows = heads[job.work][job.dataset];
    const auto findings = static_cast<double>(study.tasks[work[job.work].task].findings.size());
    const auto d = static_cast<double>(dimension);
    const double all = static_cast<double>(rows.training.rows.size() + rows.test.size());
    double met = 0;
    for (const auto& [context, sides] : by_context(work[job.work], rows))
        met += static_cast<double>(sides.first.size()) * static_cast<double>(sides.second.size());
    return 2 * met * d + findings * all * d * d;
}

std::optional<GeometricScores> geometric_scores(const study::Study& study, const TaskWork& work,
                                                const study::HeadRows& heads,
                                                const neighbors::RowSource& rows, int threads,
                                                std::int64_t memory, const std::function<bool()>& stops) {
    neighbors::SearchOptions options;
    options.block_rows = instruments::training_block_rows;
    options.threads = threads;
    options.memory = memory;
    const auto findings = std::ssize(heads.training.labels), tests = std::ssize(heads.test);
    GeometricScores scores;
    for (const Scores one : all_scores) {
        scores.*one = Matrix<double>(findings, tests);
        for (std::int64_t f = 0; f < findings; ++f)
            std::ranges::fill((scores.*one).row(f), std::numeric_limits<double>::quiet_NaN());
    }
    for (const auto& [context, sides] : by_context(work, heads)) {
        if (stops()) return std::nullopt;
        ask_neighbors(study, work, heads, rows, sides, options, scores);
    }
    for (std::int64_t first = 0; first < findings; first += threads) {
        if (stops()) return std::nullopt;
        for_each_on_threads(threads, std::min<std::int64_t>(threads, findings - first), [&](std::int64_t i) {
            measure_distances(work, heads, rows, static_cast<std::size_t>(first + i),
                              scores.mahalanobis.row(first + i));
        });
    }
    return scores;
}

void put(ByteWriter& out, const DetectionJob& job) {
    for (const std::size_t n : {job.work, job.encoder, job.dataset}) out.put(n);
}

DetectionJob get_detection_job(ByteReader& in) {
    DetectionJob job;
    for (std::size_t* n : {&job.work, &job.encoder, &job.dataset}) *n = in.get<std::size_t>();
    return job;
}

void put(ByteWriter& out, const GeometricScores& scores) {
    for (const Scores one : all_scores) put_matrix(out, scores.*one);
}

GeometricScores get_geometric_scores(ByteReader& in) {
    GeometricScores scores;
    for (const Scores one : all_scores) scores.*one = get_matrix(in);
    CANDOR_REQUIRE(scores.impurity.rows() == scores.mahalanobis.rows() &&
                       scores.impurity.cols() == scores.mahalanobis.cols() &&
                       scores.impurity.cols() == scores.distance.cols(),
                   std::to_string(scores.impurity.cols()) + " and " +
                       std::to_string(scores.mahalanobis.cols()) + " rows");
    return scores;
}

}  // namespace candor::campaign
