#include "candor/report/drift_figure.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/report/escape.hpp"

namespace candor::report {

namespace {

template <class T>
const std::vector<T>& values(const store::ResultTable& table, const char* column) {
    const store::Column* const found = table.find(column);
    CANDOR_REQUIRE(found != nullptr, column);
    return std::get<std::vector<T>>(found->values);
}

/// A line of the figure.
struct Line {
    std::string rule;
    double negatives;  ///< to a positive
    std::int64_t images;
    const char *label, *colour;
    int dashes, mark;
};

const std::vector<Line>& lines() {
    static const std::vector<Line> all{
        {"unequal", 9, 1, "unequal, 9 negatives a positive", orange, 1, 9},
        {"unequal", 3, 1, "unequal, 3", orange, 2, 9},
        {"unequal", 1, 1, "unequal, 1", orange, 3, 9},
        {"literal", 3, 1, "literal", "#009e73", 1, 5},
        {"equal", 3, 1, "equal", blue, 1, 7},
        {"distinct", 1, 5, "distinct, 5 images a patient", blue, 3, 6},
        {"equal", 1, 2, "equal, 2 images a patient", grey, 1, 11},
        {"equal", 1, 5, "equal, 5", grey, 2, 11},
        {"equal", 1, 10, "equal, 10", grey, 3, 11},
    };
    return all;
}

}  // namespace

Figure drift_figure(const store::ResultTable& drift, const std::string& name) {
    const auto& rule = values<std::string>(drift, "rule");
    const auto& n = values<std::int64_t>(drift, "n");
    const auto& images = values<std::int64_t>(drift, "images");
    const auto& prevalence = values<double>(drift, "prevalence");
    const auto& rate = values<double>(drift, "rate");
    FigureData data({"line", "n", "percent"}, {"what"});
    std::string plot;
    for (std::size_t l = 0; l < lines().size(); ++l) {
        const Line& line = lines()[l];
        const auto number = static_cast<double>(l + 1);
        for (std::size_t i = 0; i < rule.size(); ++i) {
            const double negatives = 1 / prevalence[i] - 1;
            if (rule[i] == line.rule && images[i] == line.images &&
                std::abs(negatives - line.negatives) < 0.01)
                data.add({number, static_cast<double>(n[i]), 100 * rate[i]}, {line.label});
        }
        plot += (l == 0 ? "plot '" + name + ".csv'" : std::string(", \\\n     ''")) +
                " using 2:($1 == " + std::to_string(l + 1) + " ? $3 : 1/0) with linespoints linecolor rgb '" +
                line.colour + "' dashtype " + std::to_string(line.dashes) + " pointtype " +
                std::to_string(line.mark) + " pointsize 0.45 title " + gnuplot_string(line.label);
    }
    Figure figure;
    figure.name = name;
    figure.title = "Chance under the candidate rules";
    figure.caption =
        "Mean discordance rate of shuffled labels, k = 5, over the candidates a side (where patients have "
        "several "
        "images: patients a side).";
    figure.description =
        "Lines of the rate over the number of candidates: equal and distinct at 50 percent, literal falling "
        "to it, "
        "unequal far above it, equal with several images a patient far below it.";
    figure.data = data.csv();
    constexpr double height = 3.6;
    figure.script = figure_script(
        name, two_columns, height,
        "set key outside right center Left reverse samplen 2\nset logscale x\nset xrange [5:240]\n"
        "set xtics (6, 10, 20, 50, 100, 200)\nset yrange [0:100]\nset xlabel 'candidates a side'\n"
        "set ylabel 'discordance rate of shuffled labels, %'\nset grid linecolor rgb '#e5e5e5'\n" +
            plot + "\n");
    return figure;
}

}  // namespace candor::report
