#include "candor/report/table_format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/report/cell_text.hpp"
#include "candor/report/escape.hpp"

namespace candor::report {

namespace {

constexpr std::array<std::pair<std::string_view, Format>, 5> formats{{{"text", Format::text},
                                                                      {"csv", Format::csv},
                                                                      {"json", Format::json},
                                                                      {"md", Format::md},
                                                                      {"tex", Format::tex}}};

using TextWriter = std::string (*)(std::string_view);
using Lines = std::vector<std::vector<std::string>>;  // the header, then the rows

bool is_text(const store::Column& column) {
    return std::holds_alternative<std::vector<std::string>>(column.values);
}

/// Headings and cells as people read them, escaped by `escape`.
Lines lines_for_people(const store::ResultTable& table, TextWriter escape) {
    Lines lines(static_cast<std::size_t>(table.rows()) + 1);
    for (const store::Column& column : table.columns) {
        lines[0].push_back(escape(heading(table, column)));
        for (std::int64_t row = 0; row < table.rows(); ++row) {
            lines[static_cast<std::size_t>(row) + 1].push_back(escape(cell_text(table, column, row)));
        }
    }
    return lines;
}

std::vector<std::int64_t> widths_of(const Lines& lines) {
    std::vector<std::int64_t> widths(lines[0].size(), 0);
    for (const auto& line : lines) {
        for (std::size_t c = 0; c < widths.size(); ++c)
            widths[c] = std::max(widths[c], display_width(line[c]));
    }
    return widths;
}

std::string as_text(const store::ResultTable& table) {
    const Lines lines = lines_for_people(table, plain_text);
    const auto widths = widths_of(lines);
    std::string out;
    for (std::size_t l = 0; l < lines.size(); ++l) {
        std::string line, rule;
        for (std::size_t c = 0; c < widths.size(); ++c) {
            const std::string_view gap = c ? "  " : "";
            line.append(gap).append(padded(lines[l][c], widths[c], !is_text(table.columns[c])));
            rule.append(gap).append(static_cast<std::size_t>(widths[c]), '-');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
        if (l == 0) out += rule + '\n';
    }
    return out;
}

std::string as_markdown(const store::ResultTable& table) {
    const Lines lines = lines_for_people(table, markdown_text);
    std::vector<std::int64_t> widths = widths_of(lines);
    for (std::int64_t& width : widths) width = std::max<std::int64_t>(width, 3);  // room for "--:"
    std::string out;
    for (std::size_t l = 0; l < lines.size(); ++l) {
        std::string line = "|", rule = "|";
        for (std::size_t c = 0; c < widths.size(); ++c) {
            const bool right = !is_text(table.columns[c]);
            line += ' ' + padded(lines[l][c], widths[c], right) + " |";
            rule +=
                ' ' + std::string(static_cast<std::size_t>(widths[c] - right), '-') + (right ? ": |" : " |");
        }
        out += line + '\n';
        if (l == 0) out += rule + '\n';
    }
    return out;
}

std::string as_tex(const store::ResultTable& table) {
    const Lines lines = lines_for_people(table, tex_text);
    std::string out = "% needs \\usepackage{booktabs}\n\\begin{tabular}{";
    for (const store::Column& column : table.columns) out += is_text(column) ? 'l' : 'r';
    out += "}\n\\toprule\n";
    for (std::size_t l = 0; l < lines.size(); ++l) {
        std::vector<std::string> cells = lines[l];
        for (std::size_t c = 0; c < cells.size(); ++c) {
            // A hyphen before a number is a minus sign, alone it stands for nothing.
            if (is_text(table.columns[c]) || !cells[c].starts_with('-')) continue;
            cells[c].replace(0, 1, cells[c].size() == 1 ? "--" : "$-$");
        }
        out += join_text(cells, " & ") + " \\\\\n";
        if (l == 0) out += "\\midrule\n";
    }
    return out + "\\bottomrule\n\\end{tabular}\n";
}

using RealWriter = std::string (*)(double);

std::string csv_real(double value) {
    return std::isnan(value) ? "" : format_real(value);
}

// JSON has no infinities either.
std::string json_real(double value) {
    return std::isfinite(value) ? format_real(value) : "null";
}

/// A value for programs.
std::string exact_value(const store::Column& column, std::int64_t row, TextWriter text, RealWriter real) {
    const auto at = static_cast<std::size_t>(row);
    if (const auto* names = std::get_if<std::vector<std::string>>(&column.values)) return text((*names)[at]);
    if (const auto* counts = std::get_if<std::vector<std::int64_t>>(&column.values)) {
        return std::to_string((*counts)[at]);
    }
    return real(std::get<std::vector<double>>(column.values)[at]);
}

std::string as_csv(const store::ResultTable& table) {
    std::string out;
    for (std::int64_t row = -1; row < table.rows(); ++row) {
        std::vector<std::string> fields;
        for (const store::Column& column : table.columns) {
            fields.push_back(row < 0 ? csv_field(column.name)
                                     : exact_value(column, row, csv_field, csv_real));
        }
        // An empty line would be no record to many readers.
        if (fields.size() == 1 && fields[0].empty()) fields[0] = "\"\"";
        out += join_text(fields, ",") + '\n';
    }
    return out;
}

std::string as_json(const store::ResultTable& table) {
    std::string out = "[";
    for (std::int64_t row = 0; row < table.rows(); ++row) {
        std::vector<std::string> members;
        for (const store::Column& column : table.columns) {
            members.push_back(json_string(column.name) + ": " +
                              exact_value(column, row, json_string, json_real));
        }
        out += (row ? ",\n  {" : "\n  {") + join_text(members, ", ") + '}';
    }
    return out + (table.rows() ? "\n]\n" : "]\n");
}

}  // namespace

Format parse_format(std::string_view name) {
    std::vector<std::string> known;
    for (const auto& [known_name, format] : formats) {
        if (name == known_name) return format;
        known.emplace_back(known_name);
    }
    const std::string near = nearest_name(name, known);
    throw UsageError("--format", '"' + std::string(name) + "\" is not known; use one of " +
                                     join_text(known, ", ") +
                                     (near.empty() ? "" : " (did you mean \"" + near + "\"?)"));
}

std::string format_table(const store::ResultTable& table, Format format) {
    switch (format) {
        case Format::text:
            return as_text(table);
        case Format::csv:
            return as_csv(table);
        case Format::json:
            return as_json(table);
        case Format::md:
            return as_markdown(table);
        case Format::tex:
            return as_tex(table);
    }
    CANDOR_REQUIRE(false, std::to_string(static_cast<int>(format)));
    return {};
}

}  // namespace candor::report
