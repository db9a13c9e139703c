#include "candor/campaign/detection_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "candor/campaign/lines.hpp"
#include "candor/instruments/detection.hpp"

namespace candor::campaign {

namespace {

using instruments::ByScore;
using instruments::DetectionScore;
using instruments::DetectionSummary;
using instruments::Estimate;
using instruments::no_estimate;

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

constexpr std::array<const char*, 7> texts{"",
                                           "no training row is labelled",
                                           "training rows of one label alone",
                                           "no threshold: no positive in validation",
                                           "no labelled test row has k labelled training rows in its context",
                                           "the head makes no error",
                                           "the head is right nowhere"};

std::string text_of(DetectionReason why) {
    return texts[static_cast<std::size_t>(why)];
}

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
std::vector<Line> lines_of(const study::Study& study, const TaskWork& work, const DetectionGroup& group,
                           const DetectionSummary& summary, std::int64_t without_neighbors) {
    constexpr std::array<const char*, 5> names{"cell", "encoder", "dataset", "context", "task"};
    const study::Task& task = study.tasks[work.task];
    Line line;
    line.task = task.id;
    line.level = names[static_cast<std::size_t>(group.level)];
    if (group.level == DetectionLevel::cell || group.level == DetectionLevel::encoder)
        line.encoder = study.encoders[task.encoders[group.encoder]].id;
    if (group.level == DetectionLevel::cell || group.level == DetectionLevel::dataset)
        line.dataset = study.datasets[task.datasets[group.dataset]].id;
    if (group.level == DetectionLevel::cell) line.finding = task.findings[group.finding];
    if (group.level == DetectionLevel::context) line.context = work.pool.contexts[group.context];
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
void explain(std::vector<Line>& lines, DetectionReason why, std::size_t from) {
    for (std::size_t i = from; i < lines.size(); ++i) {
        if (!std::isnan(lines[i].auroc.value)) continue;
        lines[i].why_not = why != DetectionReason::defined ? text_of(why)
                           : lines[i].pairs == 0           ? "no context has an error and a right row"
                           : lines[i].score == "ensemble"  ? "an ensemble of one"
                                                           : "no training row differs from its class's mean";
    }
}

void add_task(const study::Study& study, const TaskWork& work, std::size_t number,
              const std::vector<DetectionCell>& cells,
              const std::map<DetectionGroup, PooledDetection>& groups, std::vector<Line>& lines,
              std::vector<TestFamily>& families) {
    const study::Task& task = study.tasks[work.task];
    ByScore<TestFamily> tests;
    ByScore<std::vector<std::size_t>> tested;  // lines
    for (std::size_t s = 0; s < tests.size(); ++s) {
        tests[s] = TestFamily::bootstrap(
            "impurity less " + std::string(instruments::name_of(static_cast<DetectionScore>(s))), task.id);
    }
    for (const DetectionCell& cell : cells) {
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
        if (group.work != number) continue;
        const std::size_t first = lines.size();
        const DetectionSummary summary =
            instruments::summarise(pooled.tally, std::ssize(pooled.patients), study.bootstrap.confidence);
        std::ranges::move(lines_of(study, work, group, summary, pooled.without_neighbors),
                          std::back_inserter(lines));
        for (std::size_t s = 0; s < instruments::detection_scores; ++s) {
            if (s != at(DetectionScore::impurity))
                lines[first + s].cells = instruments::count_gaps(pooled.gaps[s]);
        }
        explain(lines, DetectionReason::defined, first);
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
void add_risks(const study::Study& study, const TaskWork& work, const std::vector<DetectionCell>& cells,
               std::vector<RiskLine>& lines) {
    const study::Task& task = study.tasks[work.task];
    const auto add = [&](RiskLine line, std::optional<std::size_t> encoder) {
        std::vector<const instruments::RiskCurves*> curves;
        for (const DetectionCell& cell : cells) {
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

DetectionTables detection_tables(const study::Study& study, const std::vector<TaskWork>& work,
                                 const std::vector<DetectionCell>& cells,
                                 const std::map<DetectionGroup, PooledDetection>& groups) {
    DetectionTables tables;
    std::vector<Line> lines;
    std::vector<RiskLine> risks;
    for (std::size_t w = 0; w < work.size(); ++w) {
        std::vector<DetectionCell> of_work;
        std::ranges::copy_if(cells, std::back_inserter(of_work),
                             [&](const DetectionCell& cell) { return cell.group.work == w; });
        add_task(study, work[w], w, of_work, groups, lines, tables.families);
        add_risks(study, work[w], of_work, risks);
    }
    tables.detection = table_of("detection", lines, put_line);
    tables.risk_coverage = table_of("risk_coverage", risks, put_risk_line);
    return tables;
}

}  // namespace candor::campaign
