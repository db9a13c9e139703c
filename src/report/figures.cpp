#include "candor/report/figures.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "candor/base/text.hpp"
#include "candor/report/cell_text.hpp"
#include "candor/report/escape.hpp"
#include "candor/report/exhibits.hpp"
#include "candor/report/rate.hpp"
#include "candor/report/table_columns.hpp"

namespace candor::report {

namespace {

constexpr std::size_t most_findings = 60;           // of a figure; more are in the tables
constexpr std::size_t most_findings_in_words = 16;  // columns that leave room for their numbers
constexpr std::size_t name_length = 26;

std::vector<std::string> labels_of(const ReportData& data, const std::vector<std::string>& encoders,
                                   std::size_t length = name_length) {
    std::vector<std::string> labels;
    for (const std::string& id : encoders)
        labels.push_back(shortened(data.encoder(id), length) + (data.is_anchor(id) ? " (anchor)" : ""));
    return labels;
}

std::string text_of(double number) {
    return format_fixed(number, 2);
}

std::string chance_line(const std::string& from, const std::string& to) {
    return "set arrow from " + from + " to " + to +
           " nohead dashtype 2 linewidth 1.5 linecolor rgb '#444444' back\n";
}

/// Between 0 and what holds `largest` percent and, always, chance.
double upper_end(double largest) {
    return std::isnan(largest) ? 60 : std::clamp(10 * std::ceil((largest + 1) / 10), 60.0, 100.0);
}

std::string interval_words(const ReportData& data) {
    return significant(100 * data.overview.confidence, 3) + " % interval over patients";
}

/// The plot's rectangle in inches from the edges: gnuplot guesses the room that names take, and badly.
std::string frame(double width, double height, double left, double right, double top, double bottom) {
    return "set lmargin at screen " + format_fixed(left / width, 4) + "\nset rmargin at screen " +
           format_fixed(1 - right / width, 4) + "\nset tmargin at screen " +
           format_fixed(1 - top / height, 4) + "\nset bmargin at screen " + format_fixed(bottom / height, 4) +
           "\n";
}

/// Rows under each other with names on the left.
struct Rows {
    double width, height;
    std::string frame;
};

Rows rows_frame(const std::vector<std::string>& labels, double row_height, double right) {
    const double left = label_width(labels) + 0.2, top = 0.1, bottom = 0.55;
    const double width = std::max(one_column, left + 1.7 + right);
    const double height = row_height * (static_cast<double>(labels.size()) + 0.4) + top + bottom;
    return {width, height, frame(width, height, left, right, top, bottom)};
}

std::string file_of(const ReportData& data, const std::string& task) {
    return task_files(data).at(task);
}

/// Rates of (encoder, finding) of a task.
std::map<std::pair<std::string, std::string>, std::size_t> finding_rows(const ReportData& data,
                                                                        const std::string& task) {
    std::map<std::pair<std::string, std::string>, std::size_t> rows;
    const store::ResultTable& table = data.overview.findings;
    for (const std::size_t i : rows_of(table, task))
        rows[{texts(table, "encoder")[i], texts(table, "finding")[i]}] = i;
    return rows;
}

/// The findings of a task that have a row, in the study's order.
std::vector<std::string> scored_findings(const ReportData& data, const std::string& task) {
    std::set<std::string> with_row;
    const store::ResultTable& table = data.overview.findings;
    for (const std::size_t i : rows_of(table, task)) with_row.insert(texts(table, "finding")[i]);
    std::vector<std::string> findings;
    for (const std::string& finding : data.task(task).findings) {
        if (with_row.contains(finding)) findings.push_back(finding);
    }
    return findings;
}

std::string cut_words(std::size_t shown, std::size_t all) {
    return shown < all ? " The first " + std::to_string(shown) + " of " + std::to_string(all) +
                             " findings are drawn; all are in the tables."
                       : "";
}

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

}  // namespace

std::optional<Figure> heat_map(const ReportData& data, const std::string& task, std::string& absent) {
    const std::string label = data.task(task).label;
    const auto encoders = sorted_encoders(data, task);
    const auto findings = scored_findings(data, task);
    const auto rows = finding_rows(data, task);
    if (encoders.empty() || findings.empty()) {
        absent = label + ": no rate was scored.";
        return std::nullopt;
    }
    const std::size_t shown = std::min(findings.size(), most_findings);
    const bool worded = shown <= most_findings_in_words;
    const std::string name = "heat-map-" + file_of(data, task);
    FigureData cells({"finding_number", "encoder_number", "d", "above_chance", "text", "text_colour"},
                     {"encoder", "finding"});
    std::string texts_at;  // numbers with their marks are no numbers, so they stand in the script
    std::size_t below = 0, above = 0;
    for (std::size_t e = 0; e < encoders.size(); ++e) {
        for (std::size_t f = 0; f < shown; ++f) {
            const auto at = rows.find({encoders[e], findings[f]});
            Rate rate;
            if (at != rows.end()) rate = rate_of(data.overview.findings, at->second);
            const double d = 100 * rate.shown;
            const bool marked = rate.excludes_half && d > 50;
            if (rate.excludes_half && !std::isnan(d)) ++(d < 50 ? below : above);
            const double kind = std::isnan(d) ? 2 : rate.excludes_half ? 0 : 1;  // 1: "=" behind the number
            cells.add({static_cast<double>(f + 1), static_cast<double>(e + 1), d, marked ? 1.0 : 0.0, kind,
                       std::isnan(d) || (d > 22 && d < 90) ? 0.0 : 16777215.0},
                      {data.encoder(encoders[e]), findings[f]});
        }
    }
    std::vector<std::string> finding_labels;
    for (std::size_t f = 0; f < shown; ++f) finding_labels.push_back(shortened(findings[f], name_length));
    const auto encoder_labels = labels_of(data, encoders);
    const double names = label_width(encoder_labels), titles = label_width(finding_labels);
    const double cell =
        worded ? 0.36 : std::clamp((two_columns - names - 0.4) / static_cast<double>(shown), 0.07, 0.36);
    const double width = std::max(one_column, names + 0.3 + cell * static_cast<double>(shown) + 0.75);
    const double height = 0.2 * static_cast<double>(encoders.size()) + 0.75 * titles + 0.45;
    // One fixed frame, since gnuplot guesses the room of turned names badly.
    const double left = names + 0.15, right = width - 0.75, top = 0.12, bottom = 0.78 * titles + 0.2;
    Figure figure{
        name,
        label + ": discordance rate by encoder and finding",
        "D in percent; white is chance (50), blue below it, orange with a frame above it. = : the " +
            interval_words(data) + " holds 50." +
            (worded ? "" : " Too many findings for their numbers, which are in the tables.") +
            cut_words(shown, findings.size()),
        "Heat map of " + std::to_string(encoders.size()) + " encoders by " + std::to_string(shown) +
            " findings; the interval lies below 50 in " + std::to_string(below) + " cells and above in " +
            std::to_string(above) + ". The numbers are in the table of every rate.",
        cells.csv(),
        ""};
    const std::string csv = "'" + name + ".csv'";
    std::string body =
        "set xrange [0.5:" + std::to_string(shown) + ".5]\nset yrange [" + std::to_string(encoders.size()) +
        ".5:0.5]\nset lmargin at screen " + format_fixed(left / width, 4) + "\nset rmargin at screen " +
        format_fixed(right / width, 4) + "\nset tmargin at screen " + format_fixed(1 - top / height, 4) +
        "\nset bmargin at screen " + format_fixed(bottom / height, 4) + "\nunset border\n" +
        named_tics("ytics", encoder_labels, "scale 0") +
        named_tics("xtics", finding_labels,
                   std::string("scale 0 rotate by 45 right") + (worded ? "" : " font ',6'")) +
        "set cbrange [0:100]\n"
        "set palette defined (0 '#08306b', 25 '#5a9bd0', 50 '#ffffff', 75 '#f0a04b', 100 '#8c3d04')\n"
        "set cbtics ('0' 0, '25' 25, 'chance' 50, '75' 75, '100' 100)\n"
        "set colorbox user origin " +
        format_fixed((right + 0.1) / width, 4) + "," + format_fixed(bottom / height, 4) + " size " +
        format_fixed(0.1 / width, 4) + "," + format_fixed((height - top - bottom) / height, 4) + "\n";
    body +=
        "plot " + csv +
        " using 1:2:(0.48):(0.47):3 with boxxyerror fillstyle solid noborder fillcolor palette, \\\n     '' "
        "using 1:2:($5 == 2 ? 0.48 : NaN):(0.47) with boxxyerror fillstyle pattern 4 linecolor rgb "
        "'#bbbbbb', \\\n     '' using 1:2:($4 == 1 ? 0.46 : NaN):(0.44) with boxxyerror fillstyle empty "
        "linecolor rgb 'black' linewidth 1.2";
    if (worded) {
        body +=
            ", \\\n     '' using 1:2:($5 == 2 ? '-' : sprintf($5 == 1 ? '%.1f=' : '%.1f', $3)):6 with labels "
            "font ',7' textcolor rgb variable";
    }
    figure.script = figure_script(name, width, height, body + "\n");
    return figure;
}

std::optional<Figure> forest(const ReportData& data, const std::string& task, std::string& absent) {
    const std::string label = data.task(task).label;
    const auto encoders = sorted_encoders(data, task);
    const store::ResultTable& table = data.overview.task_rows;
    const std::string name = "forest-" + file_of(data, task);
    FigureData points({"number", "d", "d_low", "d_high", "anchor"}, {"encoder"});
    double largest = NAN;
    std::vector<std::string> words;
    for (std::size_t e = 0; e < encoders.size(); ++e) {
        const auto row = find_row(table, {{"task", task}, {"encoder", encoders[e]}, {"level", "micro"}});
        const Rate rate = rate_of(table, *row);
        // Without an interval the mark stands alone.
        const double low = std::isnan(rate.low) ? rate.shown : rate.low;
        const double high = std::isnan(rate.high) ? rate.shown : rate.high;
        points.add({static_cast<double>(e + 1), 100 * rate.shown, 100 * low, 100 * high,
                    data.is_anchor(encoders[e]) ? 1.0 : 0.0},
                   {data.encoder(encoders[e])});
        largest = std::fmax(largest, 100 * high);
        words.push_back(data.encoder(encoders[e]) + ' ' + with_interval(rate.shown, rate.low, rate.high));
    }
    if (encoders.empty() || std::isnan(largest)) {
        absent = label + ": no rate was scored.";
        return std::nullopt;
    }
    const auto labels = labels_of(data, encoders);
    Figure figure{
        name,
        label + ": discordance rate of each encoder",
        "D over all findings with its " + interval_words(data) +
            "; 0: every positive beside its own kind; triangle: the anchor. The planted encoders that "
            "bracket such a panel are no part of a study.",
        "Forest plot, D in percent: " + join_text(words, "; ") + ". Chance is 50.",
        points.csv(),
        ""};
    const Rows rows = rows_frame(labels, 0.17, 0.15);
    figure.script = figure_script(
        name, rows.width, rows.height,
        rows.frame + "set xrange [0:" + text_of(upper_end(largest)) + "]\nset yrange [" +
            std::to_string(encoders.size()) + ".6:0.2]\n" + named_tics("ytics", labels) +
            "set xtics 10\nset xlabel 'discordance rate D, %'\nset grid xtics linecolor rgb '#e5e5e5'\n" +
            chance_line("50, graph 0", "50, graph 1") +
            "set label 'chance' at 50, graph 0.97 right offset -0.5,0 textcolor rgb '#444444' font ',7'\n"
            "plot '" +
            name +
            ".csv' using ($5 == 0 ? $2 : NaN):1:3:4 with xerrorbars pointtype 7 pointsize 0.5 linewidth "
            "1.2 linecolor rgb '" +
            blue +
            "', \\\n     '' using ($5 == 1 ? $2 : NaN):1:3:4 with xerrorbars "
            "pointtype 9 pointsize 0.7 linewidth 1.2 linecolor rgb '" +
            orange + "'\n");
    return figure;
}

std::optional<Figure> collapse_by_task(const ReportData& data, std::string& absent) {
    const std::string name = "collapse-by-task";
    const store::ResultTable& table = data.overview.task_rows;
    FigureData points({"d", "number", "kind", "median"}, {"task", "encoder"});
    std::vector<std::string> labels;
    double largest = NAN;
    for (std::size_t t = 0; t < data.tasks.size(); ++t) {
        const TaskFacts& task = data.tasks[t];
        labels.push_back(shortened(task.label, name_length));
        for (const std::string& encoder : sorted_encoders(data, task.id)) {
            const auto row = find_row(table, {{"task", task.id}, {"encoder", encoder}, {"level", "micro"}});
            const double d = 100 * rate_of(table, *row).shown;
            const auto facts = std::ranges::find(data.encoders, encoder, &EncoderFacts::id);
            const bool own =
                facts != data.encoders.end() && !task.domain.empty() && facts->domain == task.domain;
            points.add({d, static_cast<double>(t + 1),
                        data.is_anchor(encoder) ? 2.0
                        : own                   ? 1.0
                                                : 0.0,
                        NAN},
                       {task.label, data.encoder(encoder)});
            largest = std::fmax(largest, d);
        }
        const auto median =
            find_row(data.overview.panels, {{"task", task.id}, {"level", "micro"}, {"statistic", "median"}});
        if (median)
            points.add(
                {NAN, static_cast<double>(t + 1), 3, 100 * reals(data.overview.panels, "value")[*median]},
                {task.label, "median"});
    }
    if (points.rows() == 0 || std::isnan(largest)) {
        absent = "No rate was scored.";
        return std::nullopt;
    }
    Figure figure{
        name,
        "Discordance rate per task",
        "D over all findings, a mark an encoder. Filled circles: encoders of the task's own domain; open: "
        "others; triangles: the anchor; bars: the median of all.",
        "Dot plot of D by task; the numbers are in table 3 and in the table of each panel.",
        points.csv(),
        ""};
    const Rows rows = rows_frame(labels, 0.22, 0.15);
    figure.script = figure_script(
        name, rows.width, rows.height,
        rows.frame + "set xrange [0:" + text_of(upper_end(largest)) + "]\nset yrange [" +
            std::to_string(labels.size()) + ".6:0.2]\n" + named_tics("ytics", labels) +
            "set xtics 10\nset xlabel 'discordance rate D, %'\nset grid xtics linecolor rgb '#e5e5e5'\n" +
            chance_line("50, graph 0", "50, graph 1") + "plot '" + name +
            ".csv' using ($3 == 0 ? $1 : NaN):2 with points pointtype 6 pointsize 0.6 linewidth 1.2 "
            "linecolor rgb '" +
            grey +
            "', \\\n     '' using ($3 == 1 ? $1 : NaN):2 with points pointtype 7 pointsize 0.6 linecolor rgb "
            "'" +
            blue +
            "', \\\n     '' using ($3 == 2 ? $1 : NaN):2 with points pointtype 9 pointsize 0.8 linecolor rgb "
            "'" +
            orange +
            "', \\\n     '' using ($3 == 3 ? $4 : NaN):2:(0):(0.38) with vectors nohead linewidth 2 "
            "linecolor rgb 'black', \\\n"
            "     '' using ($3 == 3 ? $4 : NaN):2:(0):(-0.38) with vectors nohead linewidth 2 linecolor rgb "
            "'black'\n");
    return figure;
}

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
    std::string caption = "A mark an encoder with its " + interval_words(data) + "s; triangle: the anchor.";
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
        absent =
            data.task(task).label + ": this file has no heads, so there is no task AUROC to set against D.";
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

std::optional<Figure> overlap_matrix(const ReportData& data, const std::string& task, std::string& absent) {
    const std::string label = data.task(task).label;
    const auto encoders = sorted_encoders(data, task);
    const store::ResultTable* const table = data.table("overlap");
    if (!table || encoders.size() < 2) {
        absent = label + ": fewer than two encoders, so no overlap.";
        return std::nullopt;
    }
    std::map<std::string, std::size_t> position;
    for (std::size_t e = 0; e < encoders.size(); ++e) position[encoders[e]] = e + 1;
    struct Pair {
        double sum = 0;
        std::int64_t tests = 0, defined = 0, rejected = 0;
    };
    std::map<std::pair<std::size_t, std::size_t>, Pair> pairs;
    for (const std::size_t i : rows_of(*table, task)) {
        if (texts(*table, "level")[i] != "finding" || texts(*table, "null")[i] != "stratified") continue;
        const auto a = position.find(texts(*table, "encoder_a")[i]);
        const auto b = position.find(texts(*table, "encoder_b")[i]);
        if (a == position.end() || b == position.end()) continue;
        Pair& pair = pairs[std::minmax(a->second, b->second)];
        const double delta = reals(*table, "delta_jaccard")[i];
        if (!std::isnan(delta)) {
            pair.sum += delta;
            ++pair.defined;
        }
        if (!std::isnan(reals(*table, "q")[i])) ++pair.tests;
        pair.rejected += integers(*table, "reject")[i] != 0;
    }
    const std::string name = "overlap-" + file_of(data, task);
    FigureData cells({"column", "row", "delta_j", "rejected", "tests", "text_colour"},
                     {"encoder_row", "encoder_column"});
    double largest = 0;
    std::int64_t tests = 0, rejected = 0;
    for (const auto& [place, pair] : pairs) {
        const double delta = pair.defined ? 100 * pair.sum / static_cast<double>(pair.defined) : NAN;
        largest = std::fmax(largest, std::fabs(delta));
        tests += pair.tests;
        rejected += pair.rejected;
    }
    const double end = std::max(10.0, 5 * std::ceil(largest / 5));
    for (const auto& [place, pair] : pairs) {
        const double delta = pair.defined ? 100 * pair.sum / static_cast<double>(pair.defined) : NAN;
        cells.add({static_cast<double>(place.second), static_cast<double>(place.first), delta,
                   static_cast<double>(pair.rejected), static_cast<double>(pair.tests),
                   std::fabs(delta) > 0.55 * end ? 16777215.0 : 0.0},
                  {data.encoder(encoders[place.first - 1]), data.encoder(encoders[place.second - 1])});
    }
    if (tests == 0) {
        absent = label + ": no pair of encoders has an overlap to test.";
        return std::nullopt;
    }
    const auto labels = labels_of(data, encoders, 22);
    const double names = label_width(labels);
    const double cell = 0.33, height_of = 0.22, n = static_cast<double>(encoders.size());
    const double left = names + 0.15, plot = cell * n, width = std::max(one_column, left + plot + 0.7);
    const double bottom = 0.78 * names + 0.2, top = 0.12, height = height_of * n + bottom + top;
    Figure figure{
        name,
        label + ": do two encoders fail on the same images?",
        "Above the diagonal: delta J in points, how much more two blind sets share than chance within "
        "contexts gives, mean over findings. Below: findings in which it is significant, of those tested "
        "(framed where any is). Encoders that share geometry confuse the same images whatever the finding.",
        "Matrix of " + std::to_string(pairs.size()) + " pairs of encoders: " + std::to_string(rejected) +
            " of " + std::to_string(tests) + " tests are significant. The numbers are in the table overlap.",
        cells.csv(),
        ""};
    figure.script = figure_script(
        name, width, height,
        "set xrange [0.5:" + std::to_string(encoders.size()) + ".5]\nset yrange [" +
            std::to_string(encoders.size()) + ".5:0.5]\nset lmargin at screen " +
            format_fixed(left / width, 4) + "\nset rmargin at screen " +
            format_fixed((left + plot) / width, 4) + "\nset tmargin at screen " +
            format_fixed(1 - top / height, 4) + "\nset bmargin at screen " +
            format_fixed(bottom / height, 4) + "\nunset border\n" + named_tics("ytics", labels, "scale 0") +
            named_tics("xtics", labels, "scale 0 rotate by 45 right") + "set cbrange [" + text_of(-end) +
            ":" + text_of(end) +
            "]\nset palette defined (-1 '#8c3d04', 0 '#ffffff', 1 '#08306b')\n"
            "set cbtics (" +
            gnuplot_string(format_fixed(-end, 0)) + " " + text_of(-end) + ", '0' 0, " +
            gnuplot_string(format_fixed(end, 0)) + " " + text_of(end) + ")\nset colorbox user origin " +
            format_fixed((left + plot + 0.12) / width, 4) + "," + format_fixed(bottom / height, 4) +
            " size " + format_fixed(0.1 / width, 4) + "," +
            format_fixed((height - top - bottom) / height, 4) + "\nplot '" + name +
            ".csv' using 1:2:(0.48):(0.47):3 with boxxyerror fillstyle solid noborder fillcolor palette, \\\n"
            "     '' using 1:2:(sprintf('%.1f', $3 == 0 ? 0 : $3)):6 with labels font ',6' textcolor rgb "
            "variable, \\\n"
            "     '' using 2:1:($4 > 0 ? 0.46 : NaN):(0.44) with boxxyerror fillstyle empty linecolor rgb "
            "'black', \\\n"
            "     '' using 2:1:(sprintf('%d/%d', $4, $5)) with labels font ',6' textcolor rgb '#333333'\n");
    return figure;
}

std::optional<Figure> rules_over_prevalence(const ReportData& data, std::string& absent) {
    const store::ResultTable& rules = data.overview.rules;
    const std::string name = "rules-over-prevalence";
    FigureData points({"prevalence", "d", "unequal"}, {"task", "encoder", "finding", "rule"});
    bool corrected = false, uncorrected = false;
    double widest = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rules.rows()); ++i) {
        if (texts(rules, "level")[i] != "finding") continue;
        const std::string& rule = texts(rules, "rule")[i];
        const double d = 100 * reals(rules, "d")[i], prevalence = 100 * reals(rules, "prevalence")[i];
        if ((rule != "equal" && rule != "unequal") || std::isnan(d) || std::isnan(prevalence)) continue;
        (rule == "equal" ? corrected : uncorrected) = true;
        widest = std::max(widest, prevalence);
        points.add({prevalence, d, rule == "unequal" ? 1.0 : 0.0},
                   {texts(rules, "task")[i], data.encoder(texts(rules, "encoder")[i]),
                    texts(rules, "finding")[i], rule});
    }
    if (!corrected || !uncorrected) {
        absent =
            "Corrected against uncorrected rates: the run asked only for one of the rules equal and unequal; "
            "run with --ablations, or with also = [\"unequal\"].";
        return std::nullopt;
    }
    Figure figure{
        name,
        "Corrected and uncorrected rate over prevalence",
        "A mark an encoder and finding. Dots: equal candidates of both kinds, whose chance level is 50 at "
        "every prevalence; crosses: all candidates, where a rare finding looks collapsed whatever the "
        "encoder.",
        "Scatter plot of " + std::to_string(points.rows()) +
            " rates over prevalence, under the rules equal and unequal.",
        points.csv(),
        ""};
    figure.script = figure_script(
        name, one_column, 2.6,
        "set xrange [0:" + text_of(std::min(100.0, 10 * std::ceil(widest / 10))) +
            "]\nset yrange [0:100]\nset xlabel 'prevalence of the finding among the labelled, %'\n"
            "set ylabel 'discordance rate D, %'\nset grid linecolor rgb '#e5e5e5'\nset key outside top "
            "center horizontal samplen 1\n" +
            chance_line("graph 0, first 50", "graph 1, first 50") + "plot '" + name +
            ".csv' using 1:($3 == 1 ? $2 : NaN) with points pointtype 2 pointsize 0.45 linecolor rgb '" +
            orange +
            "' title 'unequal', \\\n     '' using 1:($3 == 0 ? $2 : NaN) with points pointtype "
            "7 pointsize 0.4 "
            "linecolor rgb '" +
            blue + "' title 'equal'\n");
    return figure;
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
        if (std::isnan(cap) || std::isnan(margin)) continue;
        largest = std::max({largest, cap, margin});
        violations += integers(*heads, "violations")[i];
        points.add({cap, margin, texts(*heads, "kind")[i] == "hidden" ? 1.0 : 0.0},
                   {texts(*heads, "dataset")[i], data.encoder(texts(*heads, "encoder")[i]),
                    texts(*heads, "finding")[i]});
    }
    if (points.rows() == 0) {
        absent = label + ": this file has no heads, so there are no margins to set against the caps.";
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

std::optional<Figure> consensus_by_finding(const ReportData& data, const std::string& task,
                                           std::string& absent) {
    const std::string label = data.task(task).label;
    const store::ResultTable& table = data.overview.across.consensus;
    std::vector<std::size_t> rows;
    for (const std::size_t i : rows_of(table, task)) {
        if (texts(table, "level")[i] == "finding" && integers(table, "encoders")[i] > 1 &&
            !std::isnan(reals(table, "share")[i]))
            rows.push_back(i);
    }
    if (rows.empty()) {
        absent = label + ": fewer than two encoders, so no consensus.";
        return std::nullopt;
    }
    std::ranges::stable_sort(rows, std::greater(), [&](std::size_t i) { return reals(table, "share")[i]; });
    const std::size_t all = rows.size();
    rows.resize(std::min(all, most_findings));
    const std::string name = "consensus-" + file_of(data, task);
    FigureData points({"number", "share", "low", "high", "independent", "blind", "positives"}, {"finding"});
    std::vector<std::string> labels, words;
    double largest = 0;
    for (const std::size_t i : rows) {
        const double share = 100 * reals(table, "share")[i], low = 100 * reals(table, "low")[i];
        const double high = 100 * reals(table, "high")[i],
                     independent = 100 * reals(table, "independent_share")[i];
        labels.push_back(shortened(texts(table, "finding")[i], name_length));
        points.add(
            {static_cast<double>(labels.size()), share, std::isnan(low) ? share : low,
             std::isnan(high) ? share : high, independent, static_cast<double>(integers(table, "blind")[i]),
             static_cast<double>(integers(table, "positives")[i])},
            {texts(table, "finding")[i]});
        largest = std::fmax(largest, std::fmax(std::isnan(high) ? share : high, independent));
        words.push_back(texts(table, "finding")[i] + ' ' + std::to_string(integers(table, "blind")[i]) +
                        " of " + std::to_string(integers(table, "positives")[i]));
    }
    Figure figure{
        name,
        label + ": positives that most encoders are blind to",
        "Share with its " + interval_words(data) +
            ", and blind of positives on the right. Diamonds: what encoders would share that failed "
            "independently." +
            cut_words(rows.size(), all),
        "Dot plot: " + join_text(words, "; ") + ".",
        points.csv(),
        ""};
    const Rows placed = rows_frame(labels, 0.17, 0.75);
    figure.script = figure_script(
        name, placed.width, placed.height,
        placed.frame +
            "set xrange [0:" + text_of(std::clamp(10 * std::ceil((largest + 1) / 10), 20.0, 100.0)) +
            "]\nset yrange [" + std::to_string(labels.size()) + ".6:0.4]\n" + named_tics("ytics", labels) +
            "set xlabel 'positives that most encoders are blind to, %'\nset grid xtics "
            "linecolor rgb '#e5e5e5'\n"
            "plot '" +
            name + ".csv' using 5:1 with points pointtype 12 pointsize 0.7 linecolor rgb '" + grey +
            "', \\\n     '' using 2:1:3:4 with xerrorbars pointtype 7 pointsize 0.5 linewidth 1.2 linecolor "
            "rgb '" +
            blue +
            "', \\\n     '' using (graph_right):1:(sprintf('%d of %d', $6, $7)) with labels left offset "
            "0.5,0 font ',6'\n");
    // The right end of the axis, whatever it is set to.
    const std::string before = "plot '" + name;
    figure.script.insert(
        figure.script.find(before),
        "graph_right = " + text_of(std::clamp(10 * std::ceil((largest + 1) / 10), 20.0, 100.0)) + "\n");
    return figure;
}

}  // namespace candor::report
