#include "candor/report/figure.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/report/escape.hpp"

namespace candor::report {

FigureData::FigureData(std::vector<std::string> numbers, std::vector<std::string> names) {
    numbers.insert(numbers.end(), names.begin(), names.end());
    csv_ = join_text(numbers, ",") + '\n';
}

void FigureData::add(const std::vector<double>& numbers, const std::vector<std::string>& names) {
    std::vector<std::string> fields;
    for (const double value : numbers) fields.push_back(std::isnan(value) ? "" : format_real(value));
    for (const std::string& name : names) fields.push_back(csv_field(plain_text(name)));
    csv_ += join_text(fields, ",") + '\n';
    ++rows_;
}

std::string figure_script(const std::string& name, double width, double height, const std::string& body) {
    const auto pixels = [](double inches) { return std::to_string(std::lround(96 * inches)); };
    const auto inches = [](double value) { return format_fixed(value, 2); };
    return "# Draws " + name + ".svg and " + name + ".pdf from " + name + ".csv: gnuplot " + name +
           ".gp\n"
           "reset session\n"
           "set encoding utf8\n"
           "set datafile separator comma\n"
           "set datafile commentschars ''\n"
           "set key off\n"
           "set border 3 linecolor rgb '#444444'\n"
           "set tics nomirror scale 0.5\n"
           "set terminal svg size " +
           pixels(width) + "," + pixels(height) +
           " font 'Helvetica,10.7' noenhanced background 'white'\n"
           "set output '" +
           name + ".svg'\n" + body +
           "if (strstrt(GPVAL_TERMINALS, 'pdfcairo') > 0) {\n"
           "    set terminal pdfcairo size " +
           inches(width) + "," + inches(height) +
           " font 'Helvetica,8' noenhanced linewidth 1.2 background 'white'\n"
           "    set output '" +
           name +
           ".pdf'\n"
           "    replot\n"
           "}\n"
           "set output\n";
}

std::string named_tics(const std::string& axis, const std::vector<std::string>& labels,
                       const std::string& options) {
    std::vector<std::string> tics;
    for (std::size_t i = 0; i < labels.size(); ++i)
        tics.push_back(gnuplot_tic(labels[i]) + ' ' + std::to_string(i + 1));
    return "set " + axis + ' ' + options + " (" + join_text(tics, ", ") + ")\n";
}

double label_width(const std::vector<std::string>& labels) {
    std::int64_t longest = 0;
    for (const std::string& label : labels) longest = std::max(longest, display_width(label));
    return 0.062 * static_cast<double>(longest);
}

}  // namespace candor::report
