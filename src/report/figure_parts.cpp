#include "candor/report/figure_parts.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "candor/base/text.hpp"
#include "candor/report/cell_text.hpp"
#include "candor/report/escape.hpp"
#include "candor/report/exhibits.hpp"
#include "candor/report/figure.hpp"
#include "candor/report/table_columns.hpp"

namespace candor::report {

std::vector<std::string> labels_of(const ReportData& data, const std::vector<std::string>& encoders,
                                   std::size_t length) {
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

double upper_end(double largest) {
    return std::isnan(largest) ? 60 : std::clamp(10 * std::ceil((largest + 1) / 10), 60.0, 100.0);
}

std::string interval_words(const ReportData& data) {
    return significant(100 * data.overview.confidence, 3) + " % interval over patients";
}

std::string frame(double width, double height, double left, double right, double top, double bottom) {
    return "set lmargin at screen " + format_fixed(left / width, 4) + "\nset rmargin at screen " +
           format_fixed(1 - right / width, 4) + "\nset tmargin at screen " +
           format_fixed(1 - top / height, 4) + "\nset bmargin at screen " + format_fixed(bottom / height, 4) +
           "\n";
}

Rows rows_frame(const std::vector<std::string>& labels, double row_height, double right) {
    const double left = label_width(labels) + 0.2, top = 0.1, bottom = 0.55;
    const double width = std::max(one_column, left + 1.7 + right);
    const double height = row_height * (static_cast<double>(labels.size()) + 0.4) + top + bottom;
    return {width, height, frame(width, height, left, right, top, bottom)};
}

std::string intervals_in_rows(const std::string& name) {
    const auto marks = [](const char* kind, const char* mark, const char* colour) {
        return std::string(" using ($5 == ") + kind + " ? $2 : NaN):1:3:4 with xerrorbars " + mark +
               " linewidth 1.2 linecolor rgb '" + colour + "'";
    };
    return "plot '" + name + ".csv'" + marks("0", "pointtype 7 pointsize 0.5", blue) + ", \\\n     ''" +
           marks("1", "pointtype 9 pointsize 0.7", orange) + "\n";
}

std::string file_of(const ReportData& data, const std::string& task) {
    return task_files(data).at(task);
}

std::map<std::pair<std::string, std::string>, std::size_t> finding_rows(const ReportData& data,
                                                                        const std::string& task) {
    std::map<std::pair<std::string, std::string>, std::size_t> rows;
    const store::ResultTable& table = data.overview.findings;
    for (const std::size_t i : rows_of(table, task))
        rows[{texts(table, "encoder")[i], texts(table, "finding")[i]}] = i;
    return rows;
}

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

}  // namespace candor::report
