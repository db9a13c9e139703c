#include "candor/report/head_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "candor/base/text.hpp"
#include "candor/report/cell_text.hpp"
#include "candor/report/escape.hpp"
#include "candor/report/exhibits.hpp"
#include "candor/report/figure_parts.hpp"
#include "candor/report/head_exhibits.hpp"
#include "candor/report/table_columns.hpp"

namespace candor::report {

namespace {

/// How a curve is drawn: told apart by colour, by dashes and, in grey, by its marks.
struct Stroke {
    const char* colour;
    int dashes, mark;
};

/// In the order of `shown_scores`.
constexpr std::array<Stroke, 6> strokes{{{"#0072b2", 1, 7},
                                         {"#d55e00", 1, 9},
                                         {"#009e73", 2, 4},
                                         {"#cc79a7", 4, 12},
                                         {"#56b4e9", 5, 6},
                                         {"#000000", 3, 2}}};

}  // namespace

std::optional<Figure> risk_coverage(const ReportData& data, const std::string& task, std::string& absent) {
    const std::string label = data.task(task).label;
    const store::ResultTable* const table = data.table("risk_coverage");
    // By coverage, then by score.
    std::map<double, std::map<std::string, double>> risks;
    std::int64_t cells = 0;
    for (const std::size_t i : table ? rows_of(*table, task) : std::vector<std::size_t>()) {
        if (texts(*table, "level")[i] != "task") continue;
        risks[std::round(1000 * reals(*table, "coverage")[i]) / 10][texts(*table, "score")[i]] =
            100 * reals(*table, "risk")[i];
        cells = integers(*table, "cells")[i];
    }
    if (risks.empty()) {
        absent = label + ": no errors of heads are scored, so there are no risk-coverage curves.";
        return std::nullopt;
    }
    const std::string name = "risk-coverage-" + file_of(data, task);
    std::vector<std::string> columns{"coverage"};
    for (const auto& [score, words] : shown_scores())
        columns.push_back(score == "msp" ? "confidence" : std::string(score));
    columns.emplace_back("oracle");
    FigureData points(columns, {});
    double largest = 0;
    for (const auto& [coverage, of] : risks) {
        std::vector<double> values{coverage};
        for (const auto& [score, words] : shown_scores()) values.push_back(of.at(std::string(score)));
        values.push_back(of.at("oracle"));
        for (std::size_t c = 1; c < values.size(); ++c) largest = std::fmax(largest, values[c]);
        points.add(values, {});
    }
    const auto& whole = risks.rbegin()->second;
    std::vector<std::string> words;
    const auto at_most = [&](double coverage) { return std::prev(risks.upper_bound(coverage + 1e-9)); };
    const auto& kept = at_most(80)->second;
    std::string curves;
    for (std::size_t s = 0; s < shown_scores().size(); ++s) {
        const auto& [score, shown] = shown_scores()[s];
        const double risk = kept.at(std::string(score));
        if (std::isnan(risk)) continue;
        words.push_back(std::string(shown) + ' ' + format_fixed(risk, 1));
        const Stroke& stroke = strokes[s];
        curves += (curves.empty() ? "" : ", \\\n     ") + std::string("'") + name +
                  ".csv' using 1:" + std::to_string(s + 2) + " with linespoints dashtype " +
                  std::to_string(stroke.dashes) + " pointtype " + std::to_string(stroke.mark) +
                  " pointsize 0.5 pointinterval 4 linewidth 1.3 linecolor rgb '" + stroke.colour +
                  "' title '" + std::string(shown) + "'";
    }
    Figure figure{
        name,
        label + ": errors that are left when the least certain images are given up",
        "Share of errors among the rows that are kept, from the most certain on; means over " +
            counted(cells, "cell", "cells") +
            " (encoder, data set, finding). Broken line: all rows kept. Grey: every error given up first, "
            "below which no score can be. Curves have no intervals here; those of their areas are in the "
            "table detection.",
        "Risk-coverage curves. With all rows kept " + format_fixed(whole.at("oracle"), 1) +
            " percent err; with 80 percent kept: " + join_text(words, ", ") + ", at best " +
            format_fixed(kept.at("oracle"), 1) + ".",
        points.csv(),
        ""};
    const double end = std::clamp(5 * std::ceil((largest + 0.5) / 5), 5.0, 100.0);
    figure.script = figure_script(
        name, one_column, 3.0,
        "set xrange [0:100]\nset yrange [0:" + text_of(end) +
            "]\nset xlabel 'rows kept (coverage), %'\nset ylabel 'errors among them (risk), %'\n"
            "set grid linecolor rgb '#e5e5e5'\nset key outside top center horizontal maxcols 2 width -2 "
            "samplen 3 font "
            "',7'\n" +
            chance_line("graph 0, first " + text_of(whole.at("oracle")),
                        "graph 1, first " + text_of(whole.at("oracle"))) +
            "plot '" + name + ".csv' using 1:" + std::to_string(columns.size()) +
            " with filledcurves x1 fillstyle solid noborder linecolor rgb '#dddddd' notitle, \\\n     " +
            curves + "\n");
    return figure;
}

std::optional<Figure> selection_by_policy(const ReportData& data, const std::string& task,
                                          std::string& absent) {
    const std::string label = data.task(task).label;
    const store::ResultTable* const table = data.table("selection");
    const std::string name = "policies-" + file_of(data, task);
    FigureData points({"number", "balanced_error", "low", "high", "kind"}, {"policy"});
    std::vector<std::string> labels, words;
    double largest = 0;
    for (const std::size_t i : table ? rows_of(*table, task) : std::vector<std::size_t>()) {
        if (texts(*table, "level")[i] != "macro") continue;
        const std::string& policy = texts(*table, "policy")[i];
        const double error = 100 * reals(*table, "balanced_error")[i];
        if (std::isnan(error)) continue;
        const double low = 100 * reals(*table, "balanced_error_low")[i],
                     high = 100 * reals(*table, "balanced_error_high")[i];
        labels.push_back(policy);
        std::ranges::replace(labels.back(), '_', ' ');
        const bool needs_labels = policy == "oracle" || policy == "independent";
        points.add({static_cast<double>(labels.size()), error, std::isnan(low) ? error : low,
                    std::isnan(high) ? error : high, needs_labels ? 1.0 : 0.0},
                   {policy});
        largest = std::fmax(largest, std::isnan(high) ? error : high);
        words.push_back(labels.back() + ' ' +
                        with_interval(error / 100, reals(*table, "balanced_error_low")[i],
                                      reals(*table, "balanced_error_high")[i]));
    }
    if (labels.empty()) {
        const auto row = table ? find_row(*table, {{"task", task}, {"level", "macro"}}) : std::nullopt;
        absent =
            label + (row ? ": no policy has a balanced error over the findings: " +
                               texts(*table, "undefined")[*row] + "."
                     : sorted_encoders(data, task).size() < 2
                         ? ": with one encoder there is nothing to select."
                         : ": no head is scored under every encoder, so there is no selection among them.");
        return std::nullopt;
    }
    Figure figure{
        name,
        label + ": how far would selecting an encoder by image go?",
        "Balanced error of each policy with its " + interval_words(data) +
            ", mean of the findings. Triangles: the oracle, which needs the label, and what it would have if "
            "encoders erred independently.",
        "Dot plot, balanced error in percent: " + join_text(words, "; ") + ".",
        points.csv(),
        ""};
    const Rows placed = rows_frame(labels, 0.17, 0.15);
    figure.script = figure_script(
        name, placed.width, placed.height,
        placed.frame +
            "set xrange [0:" + text_of(std::clamp(10 * std::ceil((largest + 1) / 10), 10.0, 100.0)) +
            "]\nset yrange [" + std::to_string(labels.size()) + ".6:0.4]\n" + named_tics("ytics", labels) +
            "set xlabel 'balanced error, %'\nset grid xtics linecolor rgb '#e5e5e5'\n" +
            intervals_in_rows(name));
    return figure;
}

}  // namespace candor::report
