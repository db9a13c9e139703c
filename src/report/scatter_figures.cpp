#include "candor/report/scatter_figures.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "candor/base/text.hpp"
#include "candor/report/cell_text.hpp"
#include "candor/report/escape.hpp"
#include "candor/report/exhibits.hpp"
#include "candor/report/figure_parts.hpp"
#include "candor/report/rate.hpp"
#include "candor/report/table_columns.hpp"

namespace candor::report {

namespace {

/// A value for each (encoder, finding) against D.
std::optional<Figure> against_d(const ReportData& data, const std::string& task, const std::string& name,
                                const std::string& what, const std::string& axis,
                                const std::map<std::pair<std::string, std::string>, double>& values,
                                std::string& absent) {
    const std::string label = data.task(task).label;
    FigureData points({"x", "d", "anchor"}, {"encoder", "finding"});
    double largest = NAN, least = NAN, most = NAN;
    for (const auto& [key, row] : finding_rows(data, task)) {
        const auto value = values.find(key);
        const double d = 100 * rate_of(data.overview.findings, row).shown;
        if (value == values.end() || std::isnan(value->second) || std::isnan(d)) continue;
        const double x = 100 * value->second;
        points.add({x, d, data.is_anchor(key.first) ? 1.0 : 0.0}, {data.encoder(key.first), key.second});
        largest = std::fmax(largest, d);
        least = std::fmin(least, x);
        most = std::fmax(most, x);
    }
    if (points.rows() < 3) {
        absent = label + ": fewer than three (encoder, finding) have both D and " + what + ".";
        return std::nullopt;
    }
    Figure figure{name,
                  label + ": " + what + " against D",
                  "A mark an encoder and finding (" + std::to_string(points.rows()) +
                      "); triangles: the anchor. Broken lines: chance.",
                  "Scatter plot of " + std::to_string(points.rows()) + " points: " + what + " from " +
                      format_fixed(least, 1) + " to " + format_fixed(most, 1) + ", D up to " +
                      format_fixed(largest, 1) + " percent.",
                  points.csv(),
                  ""};
    const double left = std::min(45.0, 5 * std::floor(least / 5));
    figure.script =
        figure_script(name, one_column, 2.6,
                      "set xrange [" + text_of(left) + ":100]\nset yrange [0:" + text_of(upper_end(largest)) +
                          "]\nset xlabel " + gnuplot_string(axis) +
                          "\nset ylabel 'discordance rate D, %'\nset grid linecolor rgb '#e5e5e5'\n" +
                          chance_line("graph 0, first 50", "graph 1, first 50") +
                          chance_line("50, graph 0", "50, graph 1") + "plot '" + name +
                          ".csv' using 1:($3 == 0 ? $2 : NaN) with points pointtype 7 pointsize 0.45 "
                          "linecolor rgb '" +
                          blue +
                          "', \\\n     '' using 1:($3 == 1 ? $2 : NaN) with points pointtype 9 "
                          "pointsize 0.6 linecolor rgb '" +
                          orange + "'\n");
    return figure;
}

bool has_heads(const ReportData& data, const std::string& task) {
    const store::ResultTable* const heads = data.table("heads");
    return heads && find_row(*heads, {{"task", task}, {"level", "task"}});
}

}  // namespace

std::optional<Figure> retention_against_d(const ReportData& data, const std::string& task,
                                          std::string& absent) {
    const std::string label = data.task(task).label;
    const std::string name = "retention-" + file_of(data, task);
    const store::ResultTable* const retention = data.table("retention");
    const store::ResultTable& rates = data.overview.task_rows;
    FigureData points({"d", "retention", "d_low", "d_high", "retention_low", "retention_high", "anchor"},
                      {"encoder"});
    std::vector<std::string> words;
    struct Name {
        double x, y;
        std::string text;
    };
    std::vector<Name> placed;
    double largest = NAN, least = NAN;
    const auto encoders = retention ? sorted_encoders(data, task) : std::vector<std::string>();
    for (const std::string& encoder : encoders) {
        const auto at = find_row(*retention, {{"task", task}, {"encoder", encoder}, {"level", "micro"}});
        const auto row = find_row(rates, {{"task", task}, {"encoder", encoder}, {"level", "micro"}});
        if (!at || std::isnan(reals(*retention, "retention")[*at])) continue;
        const Rate rate = rate_of(rates, *row);
        if (std::isnan(rate.shown)) continue;
        const double value = 100 * reals(*retention, "retention")[*at];
        const double low = 100 * reals(*retention, "low")[*at], high = 100 * reals(*retention, "high")[*at];
        const double d = 100 * rate.shown;
        points.add({d, value, std::isnan(rate.low) ? d : 100 * rate.low,
                    std::isnan(rate.high) ? d : 100 * rate.high, std::isnan(low) ? value : low,
                    std::isnan(high) ? value : high, data.is_anchor(encoder) ? 1.0 : 0.0},
                   {data.encoder(encoder)});
        placed.push_back({std::isnan(rate.high) ? d : 100 * rate.high, value,
                          shortened(data.encoder(encoder), name_length)});
        largest = std::fmax(largest, std::isnan(rate.high) ? d : 100 * rate.high);
        least = std::fmin(least, std::isnan(low) ? value : low);
        words.push_back(data.encoder(encoder) + " retention " + format_fixed(value, 1) + ", D " +
                        percent(rate.shown));
    }
    if (points.rows() == 0) {
        absent = label + ": no erased features, so there is no retention.";
        return std::nullopt;
    }
    // Names stand right of the intervals, those that would touch pushed upwards.
    const double bottom = std::max(-100.0, 10 * std::floor((least - 2) / 10)), apart = (103 - bottom) / 28;
    std::ranges::sort(placed, {}, &Name::y);
    std::string names;
    double last = bottom;
    for (const Name& label_at : placed) {
        last = std::max(label_at.y, last + apart);
        names += "set label " + gnuplot_string(label_at.text) + " at " + format_real(label_at.x) + "," +
                 format_real(last) + " left offset 0.5,0 font ',6' textcolor rgb '#333333'\n";
    }
    std::string caption =
        "A mark an encoder, each rate with its " + interval_words(data) + "; triangle: the anchor.";
    const auto link = find_row(data.overview.across.associations,
                               {{"task", task}, {"x", "retention"}, {"y", "d"}, {"group", "panel"}});
    if (link && !std::isnan(reals(data.overview.across.associations, "value")[*link])) {
        const store::ResultTable& associations = data.overview.across.associations;
        const double exact = reals(associations, "exact_p")[*link];
        caption += " Spearman over " + std::to_string(integers(associations, "n")[*link]) + " encoders " +
                   significant(reals(associations, "value")[*link], 3) + ", p " +
                   significant(std::isnan(exact) ? reals(associations, "p")[*link] : exact, 3) + ".";
    }
    Figure figure{name,         label + ": retention against D",
                  caption,      "Scatter plot, in percent: " + join_text(words, "; ") + ".",
                  points.csv(), ""};
    figure.script = figure_script(
        name, one_column, 2.9,
        "set xrange [0:" + text_of(upper_end(largest)) + "]\nset yrange [" + text_of(bottom) +
            ":103]\nset xlabel 'discordance rate D, %'\nset ylabel 'retention after erasing the evidence, "
            "%'\n"
            "set grid linecolor rgb '#e5e5e5'\n" +
            chance_line("50, graph 0", "50, graph 1") + names + "plot '" + name +
            ".csv' using ($7 == 0 ? $1 : NaN):2:3:4:5:6 with xyerrorbars pointtype 7 pointsize 0.5 linecolor "
            "rgb '" +
            blue +
            "', \\\n     '' using ($7 == 1 ? $1 : NaN):2:3:4:5:6 with xyerrorbars pointtype 9 pointsize 0.7 "
            "linecolor rgb '" +
            orange + "'\n");
    return figure;
}

std::optional<Figure> auroc_against_d(const ReportData& data, const std::string& task, std::string& absent) {
    const auto values = head_aurocs(data, task);
    if (values.empty()) {
        absent = data.task(task).label +
                 (has_heads(data, task) ? ": no AUROC of a linear head is defined, so there is none"
                                        : ": this file has no heads, so there is no task AUROC") +
                 " to set against D.";
        return std::nullopt;
    }
    return against_d(data, task, "auroc-" + file_of(data, task), "task AUROC", "AUROC of the linear heads, %",
                     values, absent);
}

std::optional<Figure> margin_against_d(const ReportData& data, const std::string& task, std::string& absent) {
    std::map<std::pair<std::string, std::string>, double> values;
    const store::ResultTable& table = data.overview.findings;
    for (const auto& [key, row] : finding_rows(data, task)) values[key] = reals(table, "margin_auroc")[row];
    return against_d(data, task, "margin-" + file_of(data, task), "margin AUROC", "margin AUROC, %", values,
                     absent);
}

std::optional<Figure> margins_against_caps(const ReportData& data, const std::string& task,
                                           std::string& absent) {
    const std::string label = data.task(task).label;
    const store::ResultTable* const heads = data.table("heads");
    const std::string name = "caps-" + file_of(data, task);
    FigureData points({"cap1_median", "margin_median", "hidden"}, {"dataset", "encoder", "finding"});
    double largest = 0;
    std::int64_t violations = 0;
    for (const std::size_t i : heads ? rows_of(*heads, task) : std::vector<std::size_t>()) {
        const double cap = reals(*heads, "cap1_median")[i], margin = reals(*heads, "margin_median")[i];
        if (texts(*heads, "level")[i] != "dataset" || std::isnan(cap) || std::isnan(margin)) continue;
        largest = std::max({largest, cap, margin});
        violations += integers(*heads, "violations")[i];
        points.add({cap, margin, texts(*heads, "kind")[i] == "hidden" ? 1.0 : 0.0},
                   {texts(*heads, "dataset")[i], data.encoder(texts(*heads, "encoder")[i]),
                    texts(*heads, "finding")[i]});
    }
    if (points.rows() == 0) {
        absent =
            label +
            (has_heads(data, task) ? ": no head separates a discordant case" : ": this file has no heads") +
            ", so there are no margins to set against the caps.";
        return std::nullopt;
    }
    Figure figure{
        name,
        label + ": margins of heads against their caps",
        "Medians over the discordant cases that a head separates: normalised margin m/L against the cap of "
        "Corollary 1; a mark a head, crosses: hidden. Nothing may lie above the line; cases that do: " +
            std::to_string(violations) + ".",
        "Scatter plot of " + std::to_string(points.rows()) + " heads; " + std::to_string(violations) +
            " cases lie above the cap.",
        points.csv(),
        ""};
    const std::string end = significant(1.1 * largest, 3);
    figure.script = figure_script(
        name, one_column, 2.6,
        "set xrange [0:" + end + "]\nset yrange [0:" + end +
            "]\nset xlabel 'cap on the margin'\nset ylabel 'margin m/L'\n"
            "set grid linecolor rgb '#e5e5e5'\nplot '" +
            name +
            ".csv' using 1:($3 == 0 ? $2 : NaN) with points pointtype 7 pointsize 0.45 linecolor rgb '" +
            blue +
            "', \\\n     '' using 1:($3 == 1 ? $2 : NaN) with points pointtype 2 pointsize 0.45 linecolor "
            "rgb '" +
            orange + "', \\\n     x with lines dashtype 2 linecolor rgb '#444444'\n");
    return figure;
}

}  // namespace candor::report
