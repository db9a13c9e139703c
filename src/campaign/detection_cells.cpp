#include "candor/campaign/detection_cells.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "candor/base/threads.hpp"
#include "candor/instruments/confidence.hpp"
#include "candor/instruments/operating_point.hpp"
#include "candor/stats/resampling.hpp"

namespace candor::campaign {

namespace {

using instruments::DetectionScore;
using instruments::DetectionSummary;
using instruments::DetectionTally;
using instruments::Estimate;
using instruments::no_estimate;

/// The rows of one cell that take part.
struct CellRows {
    DetectionCell told;
    std::vector<std::size_t> row;  // positions in HeadRows::test
    std::vector<std::int8_t> errs;
    std::vector<std::int32_t> patient, context;
    Matrix<double> scores;
};

DetectionReason why_no_head(const study::HeadRows& heads, std::size_t finding, const ScoredHeads& scored) {
    const auto& labels = heads.training.labels[finding];
    const bool positive = std::ranges::find(labels, std::int8_t{1}) != labels.end(),
               negative = std::ranges::find(labels, std::int8_t{0}) != labels.end();
    if (!positive && !negative) return DetectionReason::untrained;
    if (!positive || !negative) return DetectionReason::one_label;
    return scored.threshold[finding] ? DetectionReason::defined : DetectionReason::no_threshold;
}

CellRows rows_of(const TaskWork& work, const study::HeadRows& heads, const ScoredHeads& scored,
                 std::size_t finding) {
    CellRows cell;
    const auto f = static_cast<std::int64_t>(finding);
    cell.told.group = {
        scored.job.work, DetectionLevel::cell, scored.job.encoder, scored.job.dataset, finding, 0};
    cell.told.why = why_no_head(heads, finding, scored);
    if (cell.told.why != DetectionReason::defined) return cell;
    const double threshold = *scored.threshold[finding];
    for (std::size_t i = 0; i < heads.test.size(); ++i) {
        const auto at = static_cast<std::size_t>(heads.test[i].value);
        const std::int8_t label = work.pool.labels[finding][at];
        if (label < 0) continue;
        if (std::isnan(scored.geometry.impurity.row(f)[i])) {
            ++cell.told.without_neighbors;
            continue;
        }
        cell.row.push_back(i);
        cell.errs.push_back(instruments::head_errs(scored.test.row(f)[i], threshold, label));
        cell.patient.push_back(work.pool.patient[at]);
        cell.context.push_back(work.pool.context[at]);
    }
    cell.scores =
        Matrix<double>(static_cast<std::int64_t>(instruments::detection_scores), std::ssize(cell.row));
    for (std::size_t r = 0; r < cell.row.size(); ++r) {
        const std::size_t i = cell.row[r];
        const double z = scored.test.row(f)[i];
        const auto put_score = [&](DetectionScore score, double value) {
            cell.scores.row(static_cast<std::int64_t>(at(score)))[r] = value;
        };
        put_score(DetectionScore::impurity, scored.geometry.impurity.row(f)[i]);
        put_score(DetectionScore::msp, instruments::msp_score(z));
        put_score(DetectionScore::max_logit, instruments::max_logit_score(z));
        put_score(DetectionScore::energy, instruments::energy_score(z));
        put_score(DetectionScore::ensemble, scored.ensemble.row(f)[i]);
        put_score(DetectionScore::mahalanobis, scored.geometry.mahalanobis.row(f)[i]);
        put_score(DetectionScore::neighbor_distance, scored.geometry.distance.row(f)[i]);
        put_score(DetectionScore::threshold_distance, instruments::threshold_distance_score(z, threshold));
    }
    const auto errors = std::ranges::count(cell.errs, std::int8_t{1});
    cell.told.why = cell.row.empty()                 ? DetectionReason::no_rows
                    : errors == 0                    ? DetectionReason::no_error
                    : errors == std::ssize(cell.row) ? DetectionReason::all_errors
                                                     : DetectionReason::defined;
    return cell;
}

/// One context of a cell while it is counted.
struct Part {
    std::size_t cell = 0;
    std::int32_t context = 0;
    instruments::DetectionCounter counter;
    DetectionTally tally;
    std::set<std::int32_t> patients;
};

std::vector<Part> parts_of(const std::vector<CellRows>& cells) {
    std::vector<Part> parts;
    for (std::size_t c = 0; c < cells.size(); ++c) {
        const CellRows& cell = cells[c];
        std::map<std::int32_t, std::vector<std::size_t>> by_context;
        for (std::size_t r = 0; r < cell.row.size(); ++r) by_context[cell.context[r]].push_back(r);
        for (const auto& [context, which] : by_context) {
            std::vector<std::int8_t> errs;
            std::vector<std::int32_t> patient;
            for (const std::size_t r : which) {
                errs.push_back(cell.errs[r]);
                patient.push_back(cell.patient[r]);
            }
            const Matrix<double> scores = columns_of(cell.scores, which);
            parts.push_back({c,
                             context,
                             instruments::DetectionCounter(scores.view(), errs, patient),
                             {},
                             {patient.begin(), patient.end()}});
            parts.back().tally = parts.back().counter.observed();
        }
    }
    return parts;
}

}  // namespace

void count_detection(const study::Study& study, const TaskWork& work, const study::HeadRows& heads,
                     const ScoredHeads& scored, int threads, std::vector<DetectionCell>& told,
                     std::map<DetectionGroup, PooledDetection>& groups) {
    const study::Task& task = study.tasks[work.task];
    std::vector<CellRows> cells;
    for (std::size_t f = 0; f < task.findings.size(); ++f) cells.push_back(rows_of(work, heads, scored, f));
    std::vector<Part> parts = parts_of(cells);
    const stats::Resampling resampling(study.seed, task.id, work.pool.clusters, study.bootstrap.resamples);
    for (Part& part : parts) part.tally.resampled.resize(static_cast<std::size_t>(resampling.resamples()));
    resampling.for_each_block([&](MatrixView<const stats::Weight> weights, std::int64_t first) {
        for_each_on_threads(threads, std::ssize(parts), [&](std::int64_t i) {
            Part& part = parts[static_cast<std::size_t>(i)];
            part.counter.count(weights, std::span(part.tally.resampled)
                                            .subspan(static_cast<std::size_t>(first),
                                                     static_cast<std::size_t>(weights.cols)));
        });
    });
    for_each_on_threads(threads, std::ssize(cells), [&](std::int64_t i) {
        CellRows& cell = cells[static_cast<std::size_t>(i)];
        std::ranges::fill(cell.told.aurc, no_estimate);
        if (cell.row.empty()) return;
        const auto areas =
            instruments::risk_coverage(cell.scores.view(), cell.errs, cell.patient, resampling);
        for (std::size_t s = 0; s < areas.size(); ++s)
            cell.told.aurc[s] = instruments::estimate(areas[s], study.bootstrap.confidence);
        cell.told.risk = instruments::risk_curves(cell.scores.view(), cell.errs);
    });

    std::vector<DetectionTally> of_cell(cells.size());
    std::vector<std::set<std::int32_t>> patients(cells.size());
    const auto add_gaps = [](PooledDetection& pooled, const DetectionSummary& summary) {
        for (std::size_t s = 0; s < instruments::detection_scores; ++s)
            pooled.gaps[s].push_back(summary.gap[s].estimate);
    };
    for (const Part& part : parts) {
        of_cell[part.cell] += part.tally;
        patients[part.cell].insert(part.patients.begin(), part.patients.end());
        PooledDetection& context = groups[{scored.job.work, DetectionLevel::context, 0, 0, 0,
                                           static_cast<std::size_t>(part.context)}];
        context.tally += part.tally;
        context.patients.insert(part.patients.begin(), part.patients.end());
        add_gaps(context,
                 instruments::summarise(part.tally, std::ssize(part.patients), study.bootstrap.confidence));
    }
    for (std::size_t c = 0; c < cells.size(); ++c) {
        DetectionCell& one = cells[c].told;
        if (of_cell[c].resampled.empty())
            of_cell[c].resampled.resize(static_cast<std::size_t>(resampling.resamples()));
        one.summary = instruments::summarise(of_cell[c], std::ssize(patients[c]), study.bootstrap.confidence);
        told.push_back(one);
        for (const DetectionGroup& group :
             {DetectionGroup{one.group.work, DetectionLevel::encoder, one.group.encoder, 0, 0, 0},
              DetectionGroup{one.group.work, DetectionLevel::dataset, 0, one.group.dataset, 0, 0},
              DetectionGroup{one.group.work, DetectionLevel::task, 0, 0, 0, 0}}) {
            PooledDetection& pooled = groups[group];
            pooled.tally += of_cell[c];
            pooled.patients.insert(patients[c].begin(), patients[c].end());
            pooled.without_neighbors += one.without_neighbors;
            add_gaps(pooled, one.summary);
        }
    }
}

void put_pooled(ByteWriter& out, const DetectionGroup& group, const PooledDetection& pooled) {
    out.put(group);
    out.put(pooled.tally.observed);
    out.put(std::span<const instruments::DetectionCounts>(pooled.tally.resampled));
    out.put(pooled.tally.undefined);
    const std::vector<std::int32_t> patients(pooled.patients.begin(), pooled.patients.end());
    out.put(std::span<const std::int32_t>(patients));
    out.put(pooled.without_neighbors);
    for (const auto& gaps : pooled.gaps) out.put(std::span<const Estimate>(gaps));
}

void add_pooled(ByteReader& in, std::map<DetectionGroup, PooledDetection>& groups) {
    PooledDetection& pooled = groups[in.get<DetectionGroup>()];
    DetectionTally tally;
    tally.observed = in.get<instruments::DetectionCounts>();
    tally.resampled = in.get_many<instruments::DetectionCounts>();
    tally.undefined = in.get<instruments::ByScore<bool>>();
    pooled.tally += tally;
    const auto patients = in.get_many<std::int32_t>();
    pooled.patients.insert(patients.begin(), patients.end());
    pooled.without_neighbors += in.get<std::int64_t>();
    for (auto& gaps : pooled.gaps) {
        const auto more = in.get_many<Estimate>();
        gaps.insert(gaps.end(), more.begin(), more.end());
    }
}

}  // namespace candor::campaign
