#include "candor/campaign/scored_heads_mpi.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "candor/base/bytes.hpp"
#include "candor/base/memory.hpp"
#include "candor/campaign/encoder_features.hpp"
#include "candor/campaign/search_plan.hpp"
#include "candor/instruments/confidence.hpp"
#include "candor/instruments/operating_point.hpp"
#include "candor/neighbors/memory_rows.hpp"
#include "candor/parallel/schedule.hpp"

namespace candor::campaign {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

std::map<DetectionJob, int> place(const parallel::Communicator& world, const study::Study& study,
                                  const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                                  const std::vector<DetectionJob>& jobs,
                                  const std::vector<std::int64_t>& dimensions) {
    std::vector<double> costs;
    for (const DetectionJob& job : jobs) {
        const std::size_t encoder = study.tasks[work[job.work].task].encoders[job.encoder];
        costs.push_back(detection_cost(work, heads, job, dimensions[encoder]));
    }
    const std::vector<int> placed = parallel::place_longest_first(costs, world.size());
    std::map<DetectionJob, int> rank_of;
    for (std::size_t j = 0; j < jobs.size(); ++j) rank_of.emplace(jobs[j], placed[j]);
    return rank_of;
}

/// What the members of one job's heads say: its ScoredHeads as far as outputs go.
struct Outputs {
    std::map<std::int32_t, Matrix<double>> test;  // by member: findings x test rows
    Matrix<double> validation;                    // of member 0
    std::vector<double> loss;                     // of member 0, by finding
};

/// Brings the outputs of linear heads to the ranks of their jobs. Collective.
std::map<DetectionJob, Outputs> deliver_outputs(const parallel::Communicator& world,
                                                const study::Study& study, const std::vector<TaskWork>& work,
                                                const HeadRowsOfWork& heads,
                                                const std::vector<TrainedHead>& trained,
                                                const std::map<DetectionJob, int>& rank_of) {
    std::vector<ByteWriter> writers(static_cast<std::size_t>(world.size()));
    for (const TrainedHead& head : trained) {
        if (head.job.kind != primary_head) continue;
        const DetectionJob job{head.job.work, head.job.encoder, head.job.dataset};
        const study::HeadRows& rows = heads[job.work][job.dataset];
        ByteWriter& out = writers[static_cast<std::size_t>(rank_of.at(job))];
        put(out, job);
        out.put(head.job.member);
        put_matrix(out, columns_of(head.result.asked,
                                   test_among(asked_rows(study, work[job.work].pool, rows), rows)));
        if (head.job.member > 0) continue;
        put_matrix(out, head.result.validation);
        out.put(std::span<const double>(head.result.loss));
    }
    std::vector<std::string> outgoing;
    for (ByteWriter& writer : writers) outgoing.push_back(writer.take());
    std::map<DetectionJob, Outputs> here;
    for (const std::string& bytes : world.exchange(outgoing)) {
        ByteReader in(bytes);
        while (!in.done()) {
            Outputs& outputs = here[get_detection_job(in)];
            const auto member = in.get<std::int32_t>();
            outputs.test[member] = get_matrix(in);
            if (member > 0) continue;
            outputs.validation = get_matrix(in);
            outputs.loss = in.get_many<double>();
        }
    }
    return here;
}

/// Computes what the journal does not have of the scores that look at features. @returns as far as it came.
std::map<DetectionJob, GeometricScores> score(const parallel::Communicator& world, const study::Study& study,
                                              const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                                              const std::map<DetectionJob, int>& rank_of,
                                              const std::vector<std::int64_t>& dimensions,
                                              const OpenScored& open, int threads, std::int64_t memory,
                                              ResultJournal& journal, parallel::StopRequest& stop,
                                              const Log& log) {
    const auto key_of = [](const DetectionJob& job) {
        ByteWriter out;
        put(out, job);
        return out.take();
    };
    // What earlier runs left goes to the ranks that the jobs have now.
    const ResultJournal::Earlier earlier = journal.earlier_mpi(world, Kept::scores);
    std::vector<ByteWriter> writers(static_cast<std::size_t>(world.size()));
    for (const auto& [key, result] : earlier.here) {
        ByteReader of_key(key);
        ByteWriter& out = writers[static_cast<std::size_t>(rank_of.at(get_detection_job(of_key)))];
        out.put(key);
        out.put(result);
    }
    std::vector<std::string> outgoing;
    for (ByteWriter& writer : writers) outgoing.push_back(writer.take());
    std::map<DetectionJob, GeometricScores> scores;
    for (const std::string& bytes : world.exchange(outgoing)) {
        ByteReader in(bytes);
        while (!in.done()) {
            const std::string key = in.get_text(), result = in.get_text();
            ByteReader of_key(key), of_result(result);
            const DetectionJob job = get_detection_job(of_key);
            scores.emplace(job, get_geometric_scores(of_result));
        }
    }

    std::vector<std::pair<DetectionJob, double>> mine;
    double total = 0;
    for (const auto& [job, rank] : rank_of) {
        if (rank != world.rank() || scores.contains(job)) continue;
        const std::size_t encoder = study.tasks[work[job.work].task].encoders[job.encoder];
        mine.emplace_back(job, detection_cost(work, heads, job, dimensions[encoder]));
        total += mine.back().second;
    }
    Progress progress(log, "scoring failures", total);
    for (const auto& [job, cost] : mine) {
        if (stop.requested()) break;
        const auto rows = open(job);
        const std::int64_t left =
            memory == 0 ? 0 : std::max<std::int64_t>(1, memory - resident_bytes() - memory_beside_search);
        auto scored = geometric_scores(study, work[job.work], heads[job.work][job.dataset], *rows, threads,
                                       left, [&] { return stop.requested(); });
        if (!scored) break;
        ByteWriter bytes;
        put(bytes, *scored);
        journal.keep(Kept::scores, key_of(job), bytes.take());
        scores.emplace(job, std::move(*scored));
        progress.advance(cost);
    }
    if (stop.requested()) journal.sync();
    return scores;
}

ScoredHeads put_together(const study::Study& study, const study::HeadRows& rows, const DetectionJob& job,
                         Outputs outputs, GeometricScores geometry) {
    ScoredHeads scored;
    scored.job = job;
    const auto findings = outputs.validation.rows();
    for (std::int64_t f = 0; f < findings; ++f) {
        std::vector<double> positives;
        const auto& labels = rows.validation.labels[static_cast<std::size_t>(f)];
        for (std::size_t i = 0; i < labels.size(); ++i) {
            if (labels[i] == 1) positives.push_back(outputs.validation.row(f)[i]);
        }
        // A head that did not see both labels has learnt nothing.
        const bool learnt = !std::isnan(outputs.loss[static_cast<std::size_t>(f)]);
        const auto point =
            learnt ? instruments::operating_point(positives, study.heads.sensitivity) : std::nullopt;
        scored.threshold.push_back(point ? std::optional(point->threshold) : std::nullopt);
    }
    const std::int64_t tests = outputs.test.at(0).cols();
    scored.ensemble = Matrix<double>(findings, tests);
    std::vector<double> z(outputs.test.size());
    for (std::int64_t f = 0; f < findings; ++f) {
        const bool learnt = !std::isnan(outputs.loss[static_cast<std::size_t>(f)]);
        for (std::int64_t i = 0; i < tests; ++i) {
            const auto at = static_cast<std::size_t>(i);
            std::size_t member = 0;
            for (const auto& [number, outputs_of] : outputs.test) z[member++] = outputs_of.row(f)[at];
            scored.ensemble.row(f)[at] = learnt && z.size() > 1 ? instruments::ensemble_score(z) : undefined;
        }
    }
    scored.test = std::move(outputs.test.at(0));
    scored.validation = std::move(outputs.validation);
    scored.geometry = std::move(geometry);
    return scored;
}

}  // namespace

OpenScored scored_rows_from_files(const Inputs& inputs, const std::vector<TaskWork>& work,
                                  const HeadRowsOfWork& heads) {
    return [&](const DetectionJob& job) -> std::unique_ptr<neighbors::RowSource> {
        const study::HeadRows& rows = heads[job.work][job.dataset];
        std::vector<TableRow> which = rows.training.rows;
        for (const PoolRow row : rows.test)
            which.push_back(work[job.work].pool.table_row[static_cast<std::size_t>(row.value)]);
        EncoderFeatures features(inputs, inputs.study.tasks[work[job.work].task].encoders[job.encoder]);
        return std::make_unique<neighbors::MemoryRows>(features.stored_rows(rows.dataset, which));
    };
}

std::vector<ScoredHeads> score_heads_mpi(const parallel::Communicator& world, const study::Study& study,
                                         const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                                         const std::vector<TrainedHead>& trained,
                                         const std::vector<std::int64_t>& dimensions, const OpenScored& open,
                                         int threads, std::int64_t memory, ResultJournal& journal,
                                         parallel::StopRequest& stop, const Log& log) {
    const std::vector<DetectionJob> jobs = detection_jobs(study, work, heads);
    const auto rank_of = place(world, study, work, heads, jobs, dimensions);
    auto scores =
        score(world, study, work, heads, rank_of, dimensions, open, threads, memory, journal, stop, log);
    stop.rendezvous();
    std::vector<ScoredHeads> scored;
    for (auto& [job, of_members] : deliver_outputs(world, study, work, heads, trained, rank_of))
        scored.push_back(put_together(study, heads[job.work][job.dataset], job, std::move(of_members),
                                      std::move(scores.at(job))));
    return scored;
}

}  // namespace candor::campaign
