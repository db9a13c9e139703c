#include "candor/report/head_exhibits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "candor/report/cell_text.hpp"
#include "candor/report/exhibits.hpp"
#include "candor/report/table_columns.hpp"

namespace candor::report {

namespace {

/// The table, where it has rows of the task.
const store::ResultTable* table_of(const ReportData& data, const std::string& name, const std::string& task) {
    const store::ResultTable* const table = data.table(name);
    return table && !rows_of(*table, task).empty() ? table : nullptr;
}

std::string spaced(std::string text) {
    std::ranges::replace(text, '_', ' ');
    return text;
}

}  // namespace

const std::vector<ShownScore>& shown_scores() {
    static const std::vector<ShownScore> scores{
        {"msp", "Confidence"},          {"threshold_distance", "Threshold distance"},
        {"ensemble", "Ensemble"},       {"neighbor_distance", "Neighbor distance"},
        {"mahalanobis", "Mahalanobis"}, {"impurity", "Impurity"}};
    return scores;
}

std::optional<Exhibit> detection_exhibit(const ReportData& data, const std::string& task) {
    const store::ResultTable* const table = table_of(data, "detection", task);
    if (!table) return std::nullopt;
    Exhibit exhibit{
        "detection-" + task_files(data).at(task),
        data.task(task).label + ": which errors of the heads are flagged?",
        "Errors: share of the test rows on which the linear heads err at their thresholds. Then the AUROC of "
        "each score against these errors, within context, in percent " +
            interval_note(data) + ", chance 50.0, higher is better."};
    exhibit.columns = {{"Encoder", "encoder"},
                       {"Rows", "rows", ValueKind::count},
                       {"Errors", "error_share", ValueKind::share}};
    for (const auto& [score, words] : shown_scores())
        exhibit.columns.push_back({std::string(words),
                                   (score == "msp" ? "confidence" : std::string(score)) + "_auroc",
                                   ValueKind::share, true});
    const auto add = [&](const std::string& level, const std::string& encoder, const std::string& name) {
        std::vector<ExhibitCell> cells{ExhibitCell::of_text(name)};
        for (const auto& [score, words] : shown_scores()) {
            const auto at = find_row(
                *table,
                {{"task", task}, {"level", level}, {"encoder", encoder}, {"score", std::string(score)}});
            if (!at) return;
            if (cells.size() == 1) {
                const auto rows = integers(*table, "rows")[*at];
                cells.push_back(ExhibitCell::of_count(rows));
                cells.push_back(ExhibitCell::of(static_cast<double>(integers(*table, "errors")[*at]) /
                                                static_cast<double>(rows)));
            }
            cells.push_back(share_at(*table, *at, "auroc", "auroc_low", "auroc_high"));
        }
        exhibit.rows.push_back(std::move(cells));
    };
    for (const std::string& encoder : sorted_encoders(data, task))
        add("encoder", encoder, data.encoder(encoder) + (data.is_anchor(encoder) ? " (anchor)" : ""));
    add("task", "", "all encoders");
    const auto whole = find_row(*table, {{"task", task}, {"level", "task"}});
    if (whole) {
        const double apart = reals(*table, "confidence_disagreement")[*whole];
        exhibit.notes.push_back(
            "Confidence is minus the larger class probability; max logit and energy order alike" +
            (std::isnan(apart) ? std::string()
             : apart == 0      ? " (the same AUROC)"
                               : " (AUROCs differ by at most " + significant(apart, 2) + ")") +
            ". It is measured from an output of 0, threshold distance from the head's threshold.");
        const std::int64_t without = integers(*table, "without_neighbors")[*whole];
        if (without > 0)
            exhibit.notes.push_back(
                counted(without, "row", "rows") +
                " with fewer than k training rows in their context take no part, for any score.");
    }
    return exhibit;
}

std::optional<Exhibit> gaps_exhibit(const ReportData& data, const std::string& task) {
    const store::ResultTable* const table = table_of(data, "detection", task);
    if (!table) return std::nullopt;
    Exhibit exhibit{
        "gaps-" + task_files(data).at(task),
        data.task(task).label + ": neighborhood impurity against other scores.",
        "Gap: AUROC of impurity less that of the score, pooled over cells, in points " + interval_note(data) +
            ". A cell is an encoder, data set and finding; in how many of them impurity is above and below "
            "the score, and in how many significantly (bootstrap, false discovery rate over the cells of "
            "the task)."};
    exhibit.columns = {{"Data", "dataset"},
                       {"Score", "score"},
                       {"Gap", "gap", ValueKind::share, true},
                       {"Cells", "cells", ValueKind::count},
                       {"Above", "above", ValueKind::count},
                       {"Above, signif.", "significantly_above", ValueKind::count},
                       {"Below", "below", ValueKind::count},
                       {"Below, signif.", "significantly_below", ValueKind::count}};
    // Rejections of the cells by data set ("": of all) and score: above, below.
    std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, std::int64_t>> rejected;
    for (const std::size_t i : rows_of(*table, task)) {
        if (texts(*table, "level")[i] != "cell" || integers(*table, "reject")[i] == 0) continue;
        for (const std::string& dataset : {std::string(), texts(*table, "dataset")[i]}) {
            auto& [above, below] = rejected[{dataset, texts(*table, "score")[i]}];
            ++(reals(*table, "gap")[i] > 0 ? above : below);
        }
    }
    const auto add = [&](const std::string& level, const std::string& dataset, const std::string& name) {
        for (const auto& [score, words] : shown_scores()) {
            const auto at = find_row(
                *table,
                {{"task", task}, {"level", level}, {"dataset", dataset}, {"score", std::string(score)}});
            if (!at || score == "impurity") continue;
            const std::int64_t above = integers(*table, "won")[*at], below = integers(*table, "lost")[*at];
            const auto [above_rejected, below_rejected] = rejected[{dataset, std::string(score)}];
            exhibit.rows.push_back({ExhibitCell::of_text(name), ExhibitCell::of_text(std::string(words)),
                                    share_at(*table, *at, "gap", "gap_low", "gap_high"),
                                    ExhibitCell::of_count(above + below + integers(*table, "even")[*at]),
                                    ExhibitCell::of_count(above), ExhibitCell::of_count(above_rejected),
                                    ExhibitCell::of_count(below), ExhibitCell::of_count(below_rejected)});
        }
    };
    add("task", "", "all");
    std::vector<const DatasetFacts*> asked;
    for (const DatasetFacts& dataset : data.datasets) {
        if (find_row(*table, {{"task", task}, {"level", "dataset"}, {"dataset", dataset.id}}))
            asked.push_back(&dataset);
    }
    if (asked.size() > 1) {
        for (const DatasetFacts* const dataset : asked) add("dataset", dataset->id, dataset->label);
    }
    return exhibit;
}

std::optional<Exhibit> selection_exhibit(const ReportData& data, const std::string& task) {
    const store::ResultTable* const table = table_of(data, "selection", task);
    const auto single = table ? find_row(*table, {{"task", task}, {"level", "macro"}, {"policy", "single"}})
                              : std::optional<std::size_t>();
    if (!single) return std::nullopt;
    Exhibit exhibit{
        "selection-" + task_files(data).at(task),
        data.task(task).label + ": how far would selecting an encoder by image go?",
        "Over the test rows that the linear heads of all " +
            std::to_string(integers(*table, "encoders")[*single]) +
            " encoders scored, each at its own threshold: missed share of the positives, share of the "
            "negatives that "
            "err, their mean, and how much of the gap between single and oracle is closed, in percent " +
            interval_note(data) +
            ". Single: an encoder at random; majority: wrong where more than half are; oracle: where all "
            "are, which "
            "needs the label; independent: what the oracle would have if encoders erred independently; the "
            "four others "
            "choose without labels."};
    exhibit.columns = {{"Pooling", "level"},
                       {"Policy", "policy"},
                       {"Missed", "miss", ValueKind::share, true, true},
                       {"False alarms", "false_alarm", ValueKind::share, true, true},
                       {"Balanced error", "balanced_error", ValueKind::share, true},
                       {"Gap closed", "gap_closed", ValueKind::share, true}};
    for (const char* level : {"macro", "micro"}) {
        for (const std::size_t i : rows_of(*table, task)) {
            if (texts(*table, "level")[i] != level) continue;
            exhibit.rows.push_back(
                {ExhibitCell::of_text(level), ExhibitCell::of_text(spaced(texts(*table, "policy")[i])),
                 errors_at(*table, i, "miss"), errors_at(*table, i, "false_alarm"),
                 share_at(*table, i, "balanced_error", "balanced_error_low", "balanced_error_high"),
                 share_at(*table, i, "gap_closed", "gap_closed_low", "gap_closed_high")});
        }
    }
    exhibit.notes.push_back(counted(integers(*table, "positives")[*single], "positive", "positives") +
                            " and " +
                            counted(integers(*table, "negatives")[*single], "negative", "negatives") +
                            " of " + counted(integers(*table, "findings")[*single], "finding", "findings") +
                            "; macro: mean of the findings' rates, micro: all cases together. Which of the "
                            "rules is best was seen on these "
                            "very cases.");
    note_bounds(exhibit);
    return exhibit;
}

}  // namespace candor::report
