#include "candor/report/blind_figures.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "candor/base/text.hpp"
#include "candor/report/cell_text.hpp"
#include "candor/report/escape.hpp"
#include "candor/report/exhibits.hpp"
#include "candor/report/figure_parts.hpp"
#include "candor/report/table_columns.hpp"

namespace candor::report {

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
                   std::fabs(delta) > 0.66 * end ? 16777215.0 : 0.0},
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
