#include "candor/campaign/detection_mpi.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "candor/base/bytes.hpp"
#include "candor/base/error.hpp"
#include "candor/base/memory.hpp"
#include "candor/base/threads.hpp"
#include "candor/campaign/encoder_features.hpp"
#include "candor/campaign/lines.hpp"
#include "candor/campaign/search_plan.hpp"
#include "candor/instruments/confidence.hpp"
#include "candor/instruments/detection.hpp"
#include "candor/instruments/operating_point.hpp"
#include "candor/neighbors/memory_rows.hpp"
#include "candor/parallel/schedule.hpp"
#include "candor/stats/resampling.hpp"

namespace candor::campaign {

namespace {

using instruments::ByScore;
using instruments::DetectionScore;
using instruments::DetectionSummary;
using instruments::DetectionTally;
using instruments::Estimate;

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr Estimate no_estimate{undefined, undefined, undefined, 0, false};

// ---- which rank has what ----

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

Matrix<double> columns(const Matrix<double>& all, const std::vector<std::size_t>& which) {
    Matrix<double> out(all.rows(), std::ssize(which));
    for (std::int64_t r = 0; r < all.rows(); ++r) {
        for (std::size_t i = 0; i < which.size(); ++i) out.row(r)[i] = all.row(r)[which[i]];
    }
    return out;
}

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
        put_matrix(
            out, columns(head.result.asked, test_among(asked_rows(study, work[job.work].pool, rows), rows)));
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
        // A head that saw no label has learnt nothing: its outputs are initial values.
        const bool learnt = !std::isnan(outputs.loss[static_cast<std::size_t>(f)]);
        const auto point =
            learnt ? instruments::operating_point(positives, study.heads.sensitivity) : std::nullopt;
        scored.threshold.push_back(point ? std::optional(point->threshold) : std::nullopt);
    }
    const std::int64_t tests = outputs.test.at(0).cols();
    scored.ensemble = Matrix<double>(findings, tests);
    std::vector<double> z(outputs.test.size());
    for (std::int64_t f = 0; f < findings; ++f) {
        for (std::int64_t i = 0; i < tests; ++i) {
            const auto at = static_cast<std::size_t>(i);
            std::size_t member = 0;
            for (const auto& [number, outputs_of] : outputs.test) z[member++] = outputs_of.row(f)[at];
            scored.ensemble.row(f)[at] = z.size() > 1 ? instruments::ensemble_score(z) : undefined;
        }
    }
    scored.test = std::move(outputs.test.at(0));
    scored.validation = std::move(outputs.validation);
    scored.geometry = std::move(geometry);
    return scored;
}

// ---- what is counted ----

/// What a row of the table is about. The order of the levels is the table's.
enum class Level : std::int32_t { cell, encoder, dataset, context, task };

/// Positions where the level has one, else 0.
struct Group {
    std::size_t work = 0;
    Level level = Level::cell;
    std::size_t encoder = 0, dataset = 0, finding = 0, context = 0;

    auto operator<=>(const Group&) const = default;
};

/// Why a cell, or its comparison, is undefined.
enum class Why : std::int32_t { defined, untrained, one_label, no_threshold, no_rows, no_error, all_errors };

constexpr std::array<const char*, 7> texts{"",
                                           "no training row is labelled",
                                           "training rows of one label alone",
                                           "no threshold: no positive in validation",
                                           "no labelled test row has k labelled training rows in its context",
                                           "the head makes no error",
                                           "the head is right nowhere"};

std::string text_of(Why why) {
    return texts[static_cast<std::size_t>(why)];
}

/// What is told of a cell. Plain numbers only: it travels between ranks as bytes.
struct CellSummary {
    Group group;
    Why why = Why::defined;
    std::int64_t without_neighbors = 0;
    DetectionSummary summary{};
    ByScore<Estimate> aurc{};
    instruments::RiskCurves risk{};
};

/// Pooled over parts of cells: counts, and who they are of.
struct Pooled {
    DetectionTally tally;
    std::set<std::int32_t> patients;
    std::int64_t without_neighbors = 0;
    ByScore<std::vector<Estimate>> gaps;  // of the parts
};

/// The rows of one cell that take part.
struct CellRows {
    CellSummary told;
    std::vector<std::size_t> row;  // positions in HeadRows::test
    std::vector<std::int8_t> errs;
    std::vector<std::int32_t> patient, context;
    Matrix<double> scores;
};

Why why_no_head(const study::HeadRows& heads, std::size_t finding, const ScoredHeads& scored) {
    const auto& labels = heads.training.labels[finding];
    const bool positive = std::ranges::find(labels, std::int8_t{1}) != labels.end(),
               negative = std::ranges::find(labels, std::int8_t{0}) != labels.end();
    if (!positive && !negative) return Why::untrained;
    if (!positive || !negative) return Why::one_label;
    return scored.threshold[finding] ? Why::defined : Why::no_threshold;
}

CellRows rows_of(const TaskWork& work, const study::HeadRows& heads, const ScoredHeads& scored,
                 std::size_t finding) {
    CellRows cell;
    const auto f = static_cast<std::int64_t>(finding);
    cell.told.group = {scored.job.work, Level::cell, scored.job.encoder, scored.job.dataset, finding, 0};
    cell.told.why = why_no_head(heads, finding, scored);
    if (cell.told.why != Why::defined) return cell;
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
    cell.told.why = cell.row.empty()                 ? Why::no_rows
                    : errors == 0                    ? Why::no_error
                    : errors == std::ssize(cell.row) ? Why::all_errors
                                                     : Why::defined;
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
            const Matrix<double> scores = columns(cell.scores, which);
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

/// Counts one job's cells, adds them to the groups that they belong to, and tells of each.
void count(const study::Study& study, const TaskWork& work, const study::HeadRows& heads,
           const ScoredHeads& scored, int threads, std::vector<CellSummary>& told,
           std::map<Group, Pooled>& groups) {
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
    const auto add_gaps = [](Pooled& pooled, const DetectionSummary& summary) {
        for (std::size_t s = 0; s < instruments::detection_scores; ++s)
            pooled.gaps[s].push_back(summary.gap[s].estimate);
    };
    for (const Part& part : parts) {
        of_cell[part.cell] += part.tally;
        patients[part.cell].insert(part.patients.begin(), part.patients.end());
        Pooled& context =
            groups[{scored.job.work, Level::context, 0, 0, 0, static_cast<std::size_t>(part.context)}];
        context.tally += part.tally;
        context.patients.insert(part.patients.begin(), part.patients.end());
        add_gaps(context,
                 instruments::summarise(part.tally, std::ssize(part.patients), study.bootstrap.confidence));
    }
    for (std::size_t c = 0; c < cells.size(); ++c) {
        CellSummary& one = cells[c].told;
        if (of_cell[c].resampled.empty())
            of_cell[c].resampled.resize(static_cast<std::size_t>(resampling.resamples()));
        one.summary = instruments::summarise(of_cell[c], std::ssize(patients[c]), study.bootstrap.confidence);
        told.push_back(one);
        for (const Group& group : {Group{one.group.work, Level::encoder, one.group.encoder, 0, 0, 0},
                                   Group{one.group.work, Level::dataset, 0, one.group.dataset, 0, 0},
                                   Group{one.group.work, Level::task, 0, 0, 0, 0}}) {
            Pooled& pooled = groups[group];
            pooled.tally += of_cell[c];
            pooled.patients.insert(patients[c].begin(), patients[c].end());
            pooled.without_neighbors += one.without_neighbors;
            add_gaps(pooled, one.summary);
        }
    }
}

// ---- messages ----

void put_pooled(ByteWriter& out, const Group& group, const Pooled& pooled) {
    out.put(group);
    out.put(pooled.tally.observed);
    out.put(std::span<const instruments::DetectionCounts>(pooled.tally.resampled));
    out.put(pooled.tally.undefined);
    const std::vector<std::int32_t> patients(pooled.patients.begin(), pooled.patients.end());
    out.put(std::span<const std::int32_t>(patients));
    out.put(pooled.without_neighbors);
    for (const auto& gaps : pooled.gaps) out.put(std::span<const Estimate>(gaps));
}

void add_pooled(ByteReader& in, std::map<Group, Pooled>& groups) {
    Pooled& pooled = groups[in.get<Group>()];
    DetectionTally tally;
    tally.observed = in.get<instruments::DetectionCounts>();
    tally.resampled = in.get_many<instruments::DetectionCounts>();
    tally.undefined = in.get<ByScore<bool>>();
    pooled.tally += tally;
    const auto patients = in.get_many<std::int32_t>();
    pooled.patients.insert(patients.begin(), patients.end());
    pooled.without_neighbors += in.get<std::int64_t>();
    for (auto& gaps : pooled.gaps) {
        const auto more = in.get_many<Estimate>();
        gaps.insert(gaps.end(), more.begin(), more.end());
    }
}

// ---- the table ----

struct Line {
    std::string task, level, encoder, dataset, context, finding, score;
    std::int64_t rows = 0, errors = 0, pairs = 0, patients = 0, without_neighbors = 0;
    bool few_patients = false;
    Estimate auroc = no_estimate, aurc = no_estimate, gap = no_estimate;
    Verdict verdict;
    instruments::GapCounts cells;
    double disagreement = undefined;
    std::string why_not;
};

void put_line(Rows& rows, const Line& line) {
    rows.put("task", line.task);
    rows.put("level", line.level);
    rows.put("encoder", line.encoder);
    rows.put("dataset", line.dataset);
    rows.put("context", line.context);
    rows.put("finding", line.finding);
    rows.put("score", line.score);
    rows.put("rows", line.rows);
    rows.put("errors", line.errors);
    rows.put("pairs", line.pairs);
    rows.put("patients", line.patients);
    rows.put("few_patients", line.few_patients);
    rows.put("without_neighbors", line.without_neighbors);
    put_estimate(rows, "auroc", "auroc_low", "auroc_high", line.auroc);
    rows.put("n_boot_valid", line.auroc.valid);
    put_estimate(rows, "aurc", "aurc_low", "aurc_high", line.aurc);
    put_estimate(rows, "gap", "gap_low", "gap_high", line.gap);
    rows.put("gap_n_boot_valid", line.gap.valid);
    put_verdict(rows, line.verdict);
    rows.put("won", line.cells.wins);
    rows.put("lost", line.cells.losses);
    rows.put("even", line.cells.level);
    rows.put("undecided", line.cells.undefined);
    rows.put("clearly_won", line.cells.clear_wins);
    rows.put("clearly_lost", line.cells.clear_losses);
    rows.put("confidence_disagreement", line.disagreement);
    rows.put("undefined", line.why_not);
}

/// A line a score of one cell or group, as far as its summary goes.
std::vector<Line> lines_of(const study::Study& study, const TaskWork& work, const Group& group,
                           const DetectionSummary& summary, std::int64_t without_neighbors) {
    constexpr std::array<const char*, 5> names{"cell", "encoder", "dataset", "context", "task"};
    const study::Task& task = study.tasks[work.task];
    Line line;
    line.task = task.id;
    line.level = names[static_cast<std::size_t>(group.level)];
    if (group.level == Level::cell || group.level == Level::encoder)
        line.encoder = study.encoders[task.encoders[group.encoder]].id;
    if (group.level == Level::cell || group.level == Level::dataset)
        line.dataset = study.datasets[task.datasets[group.dataset]].id;
    if (group.level == Level::cell) line.finding = task.findings[group.finding];
    if (group.level == Level::context) line.context = work.pool.contexts[group.context];
    line.rows = summary.rows;
    line.errors = summary.errors;
    line.pairs = summary.pairs;
    line.patients = summary.patients;
    line.few_patients = summary.few_patients;
    line.without_neighbors = without_neighbors;
    line.disagreement = summary.confidence_disagreement;
    std::vector<Line> lines(instruments::detection_scores, line);
    for (std::size_t s = 0; s < lines.size(); ++s) {
        lines[s].score = instruments::name_of(static_cast<DetectionScore>(s));
        lines[s].auroc = summary.auroc[s];
        lines[s].gap = summary.gap[s].estimate;
        lines[s].verdict.p = summary.gap[s].p;
    }
    return lines;
}

/// Says of each line why it has no AUROC, where it has none.
void explain(std::vector<Line>& lines, Why why, std::size_t from) {
    for (std::size_t i = from; i < lines.size(); ++i) {
        if (!std::isnan(lines[i].auroc.value)) continue;
        lines[i].why_not = why != Why::defined            ? text_of(why)
                           : lines[i].pairs == 0          ? "no context has an error and a right row"
                           : lines[i].score == "ensemble" ? "an ensemble of one"
                                                          : "no training row differs from its class's mean";
    }
}

void add_task(const study::Study& study, const TaskWork& work, const std::vector<CellSummary>& cells,
              const std::map<Group, Pooled>& groups, std::vector<Line>& lines,
              std::vector<TestFamily>& families) {
    const study::Task& task = study.tasks[work.task];
    ByScore<TestFamily> tests;
    ByScore<std::vector<std::size_t>> tested;  // lines
    for (std::size_t s = 0; s < tests.size(); ++s) {
        tests[s] = TestFamily::bootstrap(
            "impurity less " + std::string(instruments::name_of(static_cast<DetectionScore>(s))), task.id);
    }
    for (const CellSummary& cell : cells) {
        const std::size_t first = lines.size();
        std::ranges::move(lines_of(study, work, cell.group, cell.summary, cell.without_neighbors),
                          std::back_inserter(lines));
        for (std::size_t s = 0; s < instruments::detection_scores; ++s) {
            lines[first + s].aurc = cell.aurc[s];
            if (s == at(DetectionScore::impurity)) continue;
            const instruments::Gap& gap = cell.summary.gap[s];
            lines[first + s].cells = instruments::count_gaps(std::span(&gap.estimate, 1));
            tests[s].p.push_back(gap.p);
            if (gap.estimate.valid > 0) tests[s].smallest_p = std::min(tests[s].smallest_p, gap.smallest_p);
            tested[s].push_back(first + s);
        }
        explain(lines, cell.why, first);
    }
    for (std::size_t s = 0; s < tests.size(); ++s) {
        if (tested[s].empty()) continue;
        const std::vector<Verdict> verdicts = tests[s].verdicts(study.test.alpha);
        for (std::size_t i = 0; i < verdicts.size(); ++i) lines[tested[s][i]].verdict = verdicts[i];
        families.push_back(std::move(tests[s]));
    }
    for (const auto& [group, pooled] : groups) {
        const std::size_t first = lines.size();
        const DetectionSummary summary =
            instruments::summarise(pooled.tally, std::ssize(pooled.patients), study.bootstrap.confidence);
        std::ranges::move(lines_of(study, work, group, summary, pooled.without_neighbors),
                          std::back_inserter(lines));
        for (std::size_t s = 0; s < instruments::detection_scores; ++s) {
            if (s != at(DetectionScore::impurity))
                lines[first + s].cells = instruments::count_gaps(pooled.gaps[s]);
        }
        explain(lines, Why::defined, first);
    }
}

/// A point of the table `risk_coverage`.
struct RiskLine {
    std::string task, level, encoder, score;
    std::int64_t cells = 0;
    double coverage = undefined, risk = undefined;
};

void put_risk_line(Rows& rows, const RiskLine& line) {
    rows.put("task", line.task);
    rows.put("level", line.level);
    rows.put("encoder", line.encoder);
    rows.put("score", line.score);
    rows.put("cells", line.cells);
    rows.put("coverage", line.coverage);
    rows.put("risk", line.risk);
}

/// Mean curves of the cells of each encoder, then of the task. A score that is undefined in one of them has
/// none: means of different cells cannot be compared.
void add_risks(const study::Study& study, const TaskWork& work, const std::vector<CellSummary>& cells,
               std::vector<RiskLine>& lines) {
    const study::Task& task = study.tasks[work.task];
    const auto add = [&](RiskLine line, std::optional<std::size_t> encoder) {
        std::vector<const instruments::RiskCurves*> curves;
        for (const CellSummary& cell : cells) {
            if (cell.summary.rows > 0 && (!encoder || cell.group.encoder == *encoder))
                curves.push_back(&cell.risk);
        }
        if (curves.empty()) return;
        line.cells = std::ssize(curves);
        for (std::size_t s = 0; s <= instruments::detection_scores; ++s) {
            const bool oracle = s == instruments::detection_scores;
            line.score = oracle ? "oracle" : instruments::name_of(static_cast<DetectionScore>(s));
            for (std::size_t i = 0; i < instruments::risk_points; ++i) {
                double sum = 0;
                for (const auto* curve : curves) sum += (oracle ? curve->oracle : curve->of[s])[i];
                line.coverage = static_cast<double>(i + 1) / static_cast<double>(instruments::risk_points);
                line.risk = sum / static_cast<double>(curves.size());
                lines.push_back(line);
            }
        }
    };
    for (std::size_t e = 0; e < task.encoders.size(); ++e)
        add({task.id, "encoder", study.encoders[task.encoders[e]].id, "", 0, undefined, undefined}, e);
    add({task.id, "task", "", "", 0, undefined, undefined}, std::nullopt);
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

DetectionResults detection_mpi(const parallel::Communicator& world, const study::Study& study,
                               const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                               const std::vector<TrainedHead>& trained,
                               const std::vector<std::int64_t>& dimensions, const OpenScored& open,
                               int threads, std::int64_t memory, ResultJournal& journal,
                               parallel::StopRequest& stop, const Log& log) {
    DetectionResults results;
    const std::vector<DetectionJob> jobs = detection_jobs(study, work, heads);
    const auto rank_of = place(world, study, work, heads, jobs, dimensions);
    auto scores =
        score(world, study, work, heads, rank_of, dimensions, open, threads, memory, journal, stop, log);
    stop.rendezvous();
    auto outputs = deliver_outputs(world, study, work, heads, trained, rank_of);

    std::vector<CellSummary> told;
    std::map<Group, Pooled> groups;
    Progress progress(log, "resampling failures", static_cast<double>(outputs.size()));
    for (auto& [job, of_members] : outputs) {
        if (stop.requested()) break;
        const study::HeadRows& rows = heads[job.work][job.dataset];
        results.here.push_back(
            put_together(study, rows, job, std::move(of_members), std::move(scores.at(job))));
        count(study, work[job.work], rows, results.here.back(), threads, told, groups);
        progress.advance(1);
    }
    stop.rendezvous();
    ByteWriter mine;
    for (const CellSummary& cell : told) {
        mine.put('c');
        mine.put(cell);
    }
    for (const auto& [group, pooled] : groups) {
        mine.put('g');
        put_pooled(mine, group, pooled);
    }
    const std::vector<std::string> gathered = world.gather(mine.take());
    if (world.rank() != 0) return results;
    told.clear();
    groups.clear();
    for (const std::string& bytes : gathered) {
        ByteReader in(bytes);
        while (!in.done()) {
            if (in.get<char>() == 'c') {
                told.push_back(in.get<CellSummary>());
            } else {
                add_pooled(in, groups);
            }
        }
    }
    std::ranges::sort(told, {}, [](const CellSummary& cell) {
        return std::tuple(cell.group.work, cell.group.dataset, cell.group.encoder, cell.group.finding);
    });
    std::vector<Line> lines;
    std::vector<RiskLine> risks;
    for (std::size_t w = 0; w < work.size(); ++w) {
        std::vector<CellSummary> cells;
        std::ranges::copy_if(told, std::back_inserter(cells),
                             [&](const CellSummary& cell) { return cell.group.work == w; });
        std::map<Group, Pooled> of_work;
        for (auto& [group, pooled] : groups) {
            if (group.work == w) of_work.emplace(group, std::move(pooled));
        }
        add_task(study, work[w], cells, of_work, lines, results.families);
        add_risks(study, work[w], cells, risks);
    }
    results.table = table_of("detection", lines, put_line);
    results.risk = table_of("risk_coverage", risks, put_risk_line);
    return results;
}

}  // namespace candor::campaign
