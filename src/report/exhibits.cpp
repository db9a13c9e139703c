#include "candor/report/exhibits.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "candor/base/text.hpp"
#include "candor/report/cell_text.hpp"
#include "candor/report/escape.hpp"
#include "candor/report/rate.hpp"
#include "candor/report/table_columns.hpp"

namespace candor::report {

namespace {

std::string labels_of(const ReportData& data, const std::vector<std::string>& tasks) {
    std::vector<std::string> labels;
    for (const std::string& id : tasks) labels.push_back(data.task(id).label);
    return join_text(labels, ", ");
}

/// What is shown of D, as rate_of has it.
ExhibitCell rate_cell(const store::ResultTable& table, std::size_t row) {
    const Rate rate = rate_of(table, row);
    return rate.tied ? ExhibitCell::of(rate.shown)
                     : bounded_share_at(table, row, "d", "d_low", "d_high", "bound");
}

struct PanelValue {
    ExhibitCell cell;
    std::string encoder;
};

PanelValue panel_value(const store::ResultTable& panels, const std::string& task,
                       const std::string& statistic) {
    const auto row = find_row(panels, {{"task", task}, {"level", "micro"}, {"statistic", statistic}});
    if (!row) return {};
    return {share_at(panels, *row, "value", "low", "high"), texts(panels, "encoder")[*row]};
}

/// What the table `selection` says of a policy's errors on positives; undefined where it has no such row.
ExhibitCell missed(const store::ResultTable& selection, const std::string& task, const std::string& level,
                   const std::string& finding, const std::string& policy) {
    const auto row =
        find_row(selection, {{"task", task}, {"level", level}, {"finding", finding}, {"policy", policy}});
    return row ? errors_at(selection, *row, "miss") : ExhibitCell::of(NAN);
}

}  // namespace

std::string interval_note(const ReportData& data) {
    return "[" + significant(100 * data.overview.confidence, 3) + " % interval over patients]";
}

ExhibitCell errors_at(const store::ResultTable& selection, std::size_t row, const std::string& rate) {
    return bounded_share_at(selection, row, rate, rate + "_low", rate + "_high",
                            rate == "miss" ? "bound" : rate + "_bound");
}

void note_bounds(Exhibit& exhibit) {
    for (const auto& row : exhibit.rows) {
        if (std::ranges::all_of(row, [](const ExhibitCell& cell) { return std::isnan(cell.bound_low); }))
            continue;
        exhibit.notes.emplace_back(
            "Where every resample gives 0 or 100 percent, Clopper and Pearson's bound over patients stands "
            "in "
            "the interval's place.");
        return;
    }
}

ExhibitCell share_at(const store::ResultTable& table, std::size_t row, std::string_view value,
                     std::string_view low, std::string_view high) {
    return ExhibitCell::of(reals(table, value)[row], reals(table, low)[row], reals(table, high)[row]);
}

ExhibitCell bounded_share_at(const store::ResultTable& table, std::size_t row, std::string_view value,
                             std::string_view low, std::string_view high, const std::string& bound) {
    ExhibitCell cell = share_at(table, row, value, low, high);
    cell.bound_low = reals(table, bound + "_low")[row];
    cell.bound_high = reals(table, bound + "_high")[row];
    return cell;
}

std::map<std::string, std::string> task_files(const ReportData& data) {
    std::map<std::string, std::string> files;
    std::set<std::string> taken;
    for (const TaskFacts& task : data.tasks) {
        const std::string part = file_part(task.id);
        std::string name = part;
        for (int number = 2; !taken.insert(name).second; ++number) name = part + '-' + std::to_string(number);
        files[task.id] = name;
    }
    return files;
}

Exhibit datasets_exhibit(const ReportData& data) {
    Exhibit exhibit{"table-1-data", "Table 1a. The data.",
                    "Images that were asked about (labelled, of the splits asked for, in a scored cell), and "
                    "their patients; an image without a patient is its own."};
    exhibit.columns = {{"Data set", "dataset"},
                       {"Tasks", "tasks"},
                       {"Answered by", "reference"},
                       {"Images", "images", ValueKind::count},
                       {"Patients", "patients", ValueKind::count}};
    for (const DatasetFacts& dataset : data.datasets) {
        exhibit.rows.push_back(
            {ExhibitCell::of_text(dataset.label), ExhibitCell::of_text(labels_of(data, dataset.tasks)),
             ExhibitCell::of_text(dataset.reference.empty() ? "itself" : dataset.reference),
             ExhibitCell::of_count(dataset.images), ExhibitCell::of_count(dataset.patients)});
    }
    return exhibit;
}

Exhibit encoders_exhibit(const ReportData& data) {
    Exhibit exhibit{"table-1-panel", "Table 1b. The panel of encoders.",
                    "What the study file says of them; an anchor is randomly initialised."};
    exhibit.columns = {{"Encoder", "encoder"},
                       {"Domain", "domain"},
                       {"Objective", "objective"},
                       {"Parameters", "parameters", ValueKind::magnitude},
                       {"Year", "year", ValueKind::count},
                       {"Anchor", "anchor"},
                       {"Tasks", "tasks"}};
    for (const EncoderFacts& encoder : data.encoders) {
        exhibit.rows.push_back(
            {ExhibitCell::of_text(data.encoder(encoder.id)), ExhibitCell::of_text(encoder.domain),
             ExhibitCell::of_text(encoder.objective), ExhibitCell::of(encoder.parameters.value_or(NAN)),
             ExhibitCell::of_count(encoder.year.value_or(ExhibitCell::absent)),
             ExhibitCell::of_text(encoder.anchor ? "yes" : ""),
             ExhibitCell::of_text(
                 encoder.tasks.size() == data.tasks.size() ? "all" : labels_of(data, encoder.tasks))});
    }
    return exhibit;
}

Exhibit panel_exhibit(const ReportData& data, const std::string& task) {
    const TaskFacts& facts = data.task(task);
    const store::ResultTable& rows = data.overview.task_rows;
    const store::ResultTable* const heads = data.table("heads");
    const bool read = !head_aurocs(data, task).empty();
    const store::ResultTable* const retention = data.table("retention");
    const bool retained = retention && find_row(*retention, {{"task", task}, {"level", "micro"}});

    Exhibit exhibit{
        "table-2-panel-" + task_files(data).at(task), "Table 2. " + facts.label + ": the panel.",
        "D: discordance rate, chance 50.0, lower is better. Margin AUROC: of the score -DM, chance "
        "50.0, higher is better. " +
            std::string(read ? "Task AUROC: of the linear heads, mean of the findings. " : "") +
            (retained ? "Retention: cosine of the features before and after the evidence is "
                        "erased, lower is better. "
                      : "") +
            "In percent " + interval_note(data) +
            ". Bold is best, second best is underlined (Markdown: italic)."};
    exhibit.columns = {{"Encoder", "encoder"},
                       {"Positives", "queries", ValueKind::count},
                       {"D", "d", ValueKind::share, true, true},
                       {"Margin AUROC", "margin_auroc", ValueKind::share, true}};
    std::vector<Better> better{Better::lower, Better::higher};
    if (read) {
        exhibit.columns.push_back({"Task AUROC", "task_auroc", ValueKind::share, true});
        better.push_back(Better::higher);
    }
    if (retained) {
        exhibit.columns.push_back({"Retention", "retention", ValueKind::share, true});
        better.push_back(Better::lower);
    }
    bool tied = false, unread = false;
    for (const std::string& encoder : sorted_encoders(data, task)) {
        const auto row = find_row(rows, {{"task", task}, {"encoder", encoder}, {"level", "micro"}});
        tied = tied || rate_of(rows, *row).tied;
        std::vector<ExhibitCell> cells{
            ExhibitCell::of_text(data.encoder(encoder) + (data.is_anchor(encoder) ? " (anchor)" : "")),
            ExhibitCell::of_count(integers(rows, "queries")[*row]), rate_cell(rows, *row),
            share_at(rows, *row, "margin_auroc", "margin_auroc_low", "margin_auroc_high")};
        if (read) {
            const auto at = find_row(
                *heads, {{"task", task}, {"encoder", encoder}, {"level", "task"}, {"kind", "linear"}});
            cells.push_back(at ? share_at(*heads, *at, "auroc", "auroc_low", "auroc_high")
                               : ExhibitCell::of(NAN));
            unread = unread || std::isnan(cells.back().value);
        }
        if (retained) {
            const auto at = find_row(*retention, {{"task", task}, {"encoder", encoder}, {"level", "micro"}});
            cells.push_back(at ? share_at(*retention, *at, "retention", "low", "high")
                               : ExhibitCell::of(NAN));
        }
        exhibit.rows.push_back(std::move(cells));
    }
    for (std::size_t i = 0; i < better.size(); ++i) mark_best(exhibit, i + 2, better[i]);
    if (tied)
        exhibit.notes.push_back(
            "Where more than 1 % of an encoder's queries are ties, D counts them half and has no interval.");
    if (!read) exhibit.notes.push_back("This file has no heads of the task, so there is no task AUROC.");
    if (unread) exhibit.notes.push_back("A task AUROC is undefined where a finding has none.");
    if (!retained) exhibit.notes.push_back("This task has no erased features, so there is no retention.");
    note_bounds(exhibit);
    return exhibit;
}

Exhibit tasks_exhibit(const ReportData& data) {
    Exhibit exhibit{"table-3-collapse", "Table 3a. Collapse by task.",
                    "D in percent " + interval_note(data) +
                        ": lowest, median and highest of the task's encoders, and its anchor; chance 50.0."};
    exhibit.columns = {{"Task", "task"},
                       {"Encoders", "encoders", ValueKind::count},
                       {"Findings", "findings", ValueKind::count},
                       {"Positives", "queries", ValueKind::count},
                       {"Best", "best_encoder"},
                       {"its D", "best", ValueKind::share, true},
                       {"Median", "median", ValueKind::share, true},
                       {"Highest", "highest", ValueKind::share, true},
                       {"Anchor", "anchor", ValueKind::share, true}};
    const store::ResultTable& rows = data.overview.task_rows;
    for (const TaskFacts& task : data.tasks) {
        std::int64_t encoders = 0, findings = 0, queries = 0;
        for (const std::size_t i : rows_of(rows, task.id)) {
            if (texts(rows, "level")[i] != "micro") continue;
            ++encoders;
            findings = std::max(findings, integers(rows, "findings")[i]);
            queries = std::max(queries, integers(rows, "queries")[i]);
        }
        const PanelValue best = panel_value(data.overview.panels, task.id, "best");
        std::vector<ExhibitCell> cells{ExhibitCell::of_text(task.label),
                                       ExhibitCell::of_count(encoders),
                                       ExhibitCell::of_count(findings),
                                       ExhibitCell::of_count(queries),
                                       ExhibitCell::of_text(data.encoder(best.encoder)),
                                       best.cell};
        for (const char* statistic : {"median", "highest", "anchor"})
            cells.push_back(panel_value(data.overview.panels, task.id, statistic).cell);
        exhibit.rows.push_back(std::move(cells));
    }
    return exhibit;
}

namespace {

/// The share of the tests under the null `relabel` that reject; undefined without permutations.
ExhibitCell beyond_geometry(const store::ResultTable& overlap, const std::string& task) {
    const auto at = find_row(overlap, {{"task", task}, {"null", "relabel"}});
    const std::int64_t tests = at ? integers(overlap, "tests")[*at] : 0;
    if (tests == 0) return ExhibitCell::of(NAN);
    return ExhibitCell::of(static_cast<double>(integers(overlap, "rejected")[*at]) /
                           static_cast<double>(tests));
}

}  // namespace

Exhibit overlap_exhibit(const ReportData& data) {
    Exhibit exhibit{
        "table-3-overlap", "Table 3b. Blind-set overlap and error detection by task.",
        "Pairs: of two encoders on one finding, of both of which some positives are blind; above: in "
        "percent, with more in common than chance within contexts gives; significant: in percent, after "
        "control of the false discovery rate; beyond geometry: significant also where labels are permuted "
        "for "
        "both encoders, so that what they share of geometry is chance. Delta J: Jaccard index in excess of "
        "chance within contexts, in points."};
    exhibit.columns = {{"Task", "task"},
                       {"Pairs", "pairs_both_blind", ValueKind::count},
                       {"Above", "above_of_them", ValueKind::share},
                       {"Significant", "rejected_of_them", ValueKind::share},
                       {"Beyond geometry", "relabel_rejected_of_tests", ValueKind::share},
                       {"Delta J", "mean_delta_jaccard", ValueKind::share}};
    const store::ResultTable* const detection = data.table("detection");
    if (detection) {
        exhibit.caption +=
            " Impurity, confidence: AUROC of each score against the errors of the linear heads, "
            "within context, in percent " +
            interval_note(data) + "; gap: impurity less confidence, in points.";
        exhibit.columns.push_back({"Errors", "errors", ValueKind::count});
        exhibit.columns.push_back({"Impurity", "impurity_auroc", ValueKind::share, true});
        exhibit.columns.push_back({"Confidence", "confidence_auroc", ValueKind::share, true});
        exhibit.columns.push_back({"Gap", "gap", ValueKind::share, true});
    }
    const store::ResultTable& overlap = data.overview.across.overlap_summary;
    for (const TaskFacts& task : data.tasks) {
        const auto at = find_row(overlap, {{"task", task.id}, {"null", "stratified"}});
        const std::int64_t pairs =
            at ? integers(overlap, "tests")[*at] - integers(overlap, "one_empty")[*at] : 0;
        const auto of_pairs = [&](const char* column) {
            if (pairs == 0) return ExhibitCell::of(NAN);
            return ExhibitCell::of(static_cast<double>(integers(overlap, column)[*at]) /
                                   static_cast<double>(pairs));
        };
        exhibit.rows.push_back({ExhibitCell::of_text(task.label), ExhibitCell::of_count(pairs),
                                of_pairs("above"), of_pairs("rejected"), beyond_geometry(overlap, task.id),
                                ExhibitCell::of(at ? reals(overlap, "mean_delta_jaccard")[*at] : NAN)});
        if (!detection) continue;
        auto& cells = exhibit.rows.back();
        const auto of_score = [&](const char* score) {
            return find_row(*detection, {{"task", task.id}, {"level", "task"}, {"score", score}});
        };
        const auto impurity = of_score("impurity"), confidence = of_score("msp");
        if (impurity && confidence) {
            cells.push_back(ExhibitCell::of_count(integers(*detection, "errors")[*impurity]));
            cells.push_back(share_at(*detection, *impurity, "auroc", "auroc_low", "auroc_high"));
            cells.push_back(share_at(*detection, *confidence, "auroc", "auroc_low", "auroc_high"));
            cells.push_back(share_at(*detection, *confidence, "gap", "gap_low", "gap_high"));
        } else {
            cells.resize(exhibit.columns.size());
        }
    }
    if (!detection) {
        exhibit.notes.emplace_back(
            "This file has no table detection, so the columns of error detection are left out.");
    }
    return exhibit;
}

Exhibit consensus_exhibit(const ReportData& data, const std::string& task) {
    const TaskFacts& facts = data.task(task);
    Exhibit exhibit{
        "table-4-consensus-" + task_files(data).at(task),
        "Table 4. " + facts.label + ": consensus blind set and errors of heads.",
        "Blind: positives that more than half of the encoders place nearer to negatives; share in "
        "percent " +
            interval_note(data) +
            "; independent: what encoders would share that failed independently, each at its rate "
            "in the context; all, none: positives that every encoder, and no encoder, is blind to."};
    exhibit.columns = {{"Finding", "finding"},
                       {"n+", "positives", ValueKind::count},
                       {"Encoders", "encoders", ValueKind::count},
                       {"Blind", "blind", ValueKind::count},
                       {"Share", "share", ValueKind::share, true, true},
                       {"Independent", "independent_share", ValueKind::share},
                       {"All", "all_blind", ValueKind::count},
                       {"None", "none_blind", ValueKind::count}};
    const store::ResultTable* selection = data.table("selection");
    if (selection && rows_of(*selection, task).empty()) selection = nullptr;
    constexpr std::pair<const char*, const char*> policies[] = {{"Single", "single"},
                                                                {"Majority", "majority"},
                                                                {"Oracle", "oracle"},
                                                                {"Oracle if indep.", "independent"}};
    if (selection) {
        exhibit.caption +=
            " Scored: positives that the linear heads of every encoder scored, each at its threshold. "
            "Missed of "
            "these, in percent: single, mean of the encoders; majority, by more than half; oracle, by all, "
            "so a "
            "selector that is shown the label misses them too; the last, by all if encoders erred "
            "independently.";
        exhibit.columns.push_back({"Scored", "scored_positives", ValueKind::count});
        for (const auto& [title, policy] : policies)
            exhibit.columns.push_back({title, std::string(policy) + "_miss", ValueKind::share, true, true});
    }
    const auto add_selection = [&](const std::string& level, const std::string& finding) {
        if (!selection) return;
        auto& cells = exhibit.rows.back();
        const auto at = find_row(*selection, {{"task", task}, {"level", level}, {"finding", finding}});
        cells.push_back(
            ExhibitCell::of_count(at ? integers(*selection, "positives")[*at] : ExhibitCell::absent));
        for (const auto& [title, policy] : policies)
            cells.push_back(missed(*selection, task, level, finding, policy));
    };
    const store::ResultTable& table = data.overview.across.consensus;
    const auto add = [&](std::size_t i, const std::string& name) {
        const ExhibitCell share = bounded_share_at(table, i, "share", "low", "high", "bound");
        exhibit.rows.push_back({ExhibitCell::of_text(name),
                                ExhibitCell::of_count(integers(table, "positives")[i]),
                                ExhibitCell::of_count(integers(table, "encoders")[i]),
                                ExhibitCell::of_count(integers(table, "blind")[i]), share,
                                ExhibitCell::of(reals(table, "independent_share")[i]),
                                ExhibitCell::of_count(integers(table, "all_blind")[i]),
                                ExhibitCell::of_count(integers(table, "none_blind")[i])});
    };
    for (const std::string& level : {std::string("finding"), std::string("task")}) {
        for (const std::size_t i : rows_of(table, task)) {
            if (texts(table, "level")[i] != level) continue;
            if (level == "task" && exhibit.rows.size() == 1) continue;  // that finding again
            const std::string& finding = texts(table, "finding")[i];
            add(i, level == "task" ? "all findings" : finding);
            add_selection(level == "task" ? "micro" : "finding", finding);
            if (level != "task" || !selection) continue;
            exhibit.rows.emplace_back(exhibit.columns.size() - 1 - std::size(policies));
            exhibit.rows.back()[0] = ExhibitCell::of_text("mean of findings");
            add_selection("macro", "");
        }
    }
    if (!selection) {
        exhibit.notes.push_back(
            "No head of the task is scored under every encoder, so the columns of the heads' errors are left "
            "out.");
    }
    note_bounds(exhibit);
    return exhibit;
}

std::string verdict(const store::ResultTable& findings, std::size_t row) {
    if (std::isnan(reals(findings, "q")[row])) return "not tested";
    if (integers(findings, "reject")[row] == 0) return "not told from chance";
    return reals(findings, "rate_mid")[row] < 0.5 ? "below chance" : "above chance";
}

Exhibit rates_exhibit(const ReportData& data, const std::string& task) {
    const TaskFacts& facts = data.task(task);
    const store::ResultTable& table = data.overview.findings;
    Exhibit exhibit{
        "rates-" + task_files(data).at(task), facts.label + ": every rate.",
        "D and margin AUROC in percent " + interval_note(data) +
            ", chance 50.0; q: false discovery rate of the test of D against chance over the encoders "
            "and findings of the task."};
    exhibit.columns = {{"Encoder", "encoder"},
                       {"Finding", "finding"},
                       {"Positives", "queries", ValueKind::count},
                       {"Patients", "patients", ValueKind::count},
                       {"D", "d", ValueKind::share, true, true},
                       {"q", "q", ValueKind::probability},
                       {"Against chance", "verdict"},
                       {"Margin AUROC", "margin_auroc", ValueKind::share, true},
                       {"Beware", "beware"}};
    std::set<std::string> tests;
    for (const std::string& encoder : sorted_encoders(data, task)) {
        for (const std::size_t i : rows_of(table, task)) {
            if (texts(table, "encoder")[i] != encoder) continue;
            tests.insert(texts(table, "test")[i]);
            std::vector<std::string> beware;
            if (integers(table, "few_patients")[i] != 0) beware.emplace_back("few patients");
            if (integers(table, "all_equal")[i] != 0) beware.emplace_back("no spread");
            if (rate_of(table, i).tied) beware.emplace_back("ties");
            exhibit.rows.push_back(
                {ExhibitCell::of_text(data.encoder(encoder)),
                 ExhibitCell::of_text(texts(table, "finding")[i]),
                 ExhibitCell::of_count(integers(table, "queries")[i]),
                 ExhibitCell::of_count(integers(table, "patients")[i]), rate_cell(table, i),
                 ExhibitCell::of(reals(table, "q")[i]), ExhibitCell::of_text(verdict(table, i)),
                 share_at(table, i, "margin_auroc", "margin_auroc_low", "margin_auroc_high"),
                 ExhibitCell::of_text(join_text(beware, ", "))});
        }
    }
    exhibit.notes.push_back("Test: " + join_text(std::vector(tests.begin(), tests.end()), ", ") + ".");
    note_bounds(exhibit);
    return exhibit;
}

std::map<std::pair<std::string, std::string>, double> head_aurocs(const ReportData& data,
                                                                  const std::string& task) {
    const store::ResultTable* const heads = data.table("heads");
    std::map<std::pair<std::string, std::string>, double> aurocs;
    for (const std::size_t i : heads ? rows_of(*heads, task) : std::vector<std::size_t>()) {
        const double auroc = reals(*heads, "auroc")[i];
        if (texts(*heads, "kind")[i] == "linear" && texts(*heads, "level")[i] == "finding" &&
            !std::isnan(auroc))
            aurocs[{texts(*heads, "encoder")[i], texts(*heads, "finding")[i]}] = auroc;
    }
    return aurocs;
}

}  // namespace candor::report
