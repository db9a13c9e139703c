#include "candor/campaign/detection_work.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/instruments/class_distances.hpp"
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

/// The training and test rows that some finding labels, and their labels by finding.
struct LabelledRows {
    std::vector<std::size_t> training, test;  // positions in HeadRows
    std::vector<std::vector<std::int8_t>> training_labels, test_labels;

    std::vector<instruments::FindingLabels> labels() const {
        std::vector<instruments::FindingLabels> out;
        for (std::size_t f = 0; f < training_labels.size(); ++f)
            out.push_back({training_labels[f], test_labels[f]});
        return out;
    }
};

LabelledRows labelled_rows(const TaskWork& work, const study::HeadRows& heads) {
    const std::size_t findings = heads.training.labels.size();
    LabelledRows out;
    const auto add = [&](std::size_t rows, auto label, auto& which, auto& labels) {
        labels.resize(findings);
        for (std::size_t i = 0; i < rows; ++i) {
            bool any = false;
            for (std::size_t f = 0; f < findings && !any; ++f) any = label(f, i) >= 0;
            if (!any) continue;
            which.push_back(i);
            for (std::size_t f = 0; f < findings; ++f) labels[f].push_back(label(f, i));
        }
    };
    add(
        heads.training.rows.size(), [&](std::size_t f, std::size_t i) { return heads.training.labels[f][i]; },
        out.training, out.training_labels);
    add(
        heads.test.size(),
        [&](std::size_t f, std::size_t i) {
            return test_label(work, heads, f, static_cast<std::int64_t>(i));
        },
        out.test, out.test_labels);
    return out;
}

/// Distances of all findings' test rows from the classes of all their training rows.
/// @returns false where it was stopped.
bool measure_distances(const TaskWork& work, const study::HeadRows& heads, const neighbors::RowSource& rows,
                       int threads, const std::function<bool()>& stops, Matrix<double>& out) {
    const LabelledRows labelled = labelled_rows(work, heads);
    std::vector<ContextRow> training, test;
    for (const std::size_t i : labelled.training) training.emplace_back(static_cast<std::int64_t>(i));
    for (const std::size_t i : labelled.test)
        test.emplace_back(std::ssize(heads.training.rows) + static_cast<std::int64_t>(i));
    const auto found = instruments::class_distances(rows, training, test, labelled.labels(), threads, stops);
    if (!found) return false;
    for (std::int64_t f = 0; f < found->rows(); ++f) {
        for (std::size_t i = 0; i < labelled.test.size(); ++i)
            out.row(f)[labelled.test[i]] = found->row(f)[i];
    }
    return true;
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

double detection_cost(const std::vector<TaskWork>& work, const HeadRowsOfWork& heads, const DetectionJob& job,
                      std::int64_t dimension) {
    const study::HeadRows& rows = heads[job.work][job.dataset];
    const LabelledRows labelled = labelled_rows(work[job.work], rows);
    double met = 0;
    for (const auto& [context, sides] : by_context(work[job.work], rows))
        met += static_cast<double>(sides.first.size()) * static_cast<double>(sides.second.size());
    return 2 * met * static_cast<double>(dimension) +
           instruments::plan_distances(labelled.labels(), dimension).flops;
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
    if (!measure_distances(work, heads, rows, threads, stops, scores.mahalanobis)) return std::nullopt;
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
