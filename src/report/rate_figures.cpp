#include "candor/report/rate_figures.hpp"

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
                       std::isnan(d) || (d > 18 && d < 90) ? 0.0 : 16777215.0},
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
            "set label 'chance' at 50, graph 0.97 right offset -0.5,0 textcolor rgb '#444444' font ',7'\n" +
            intervals_in_rows(name));
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

}  // namespace candor::report
