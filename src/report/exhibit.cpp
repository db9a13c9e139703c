#include "candor/report/exhibit.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "candor/base/text.hpp"
#include "candor/report/cell_text.hpp"
#include "candor/report/escape.hpp"
#include "candor/report/table_columns.hpp"

namespace candor::report {

namespace {

constexpr std::size_t rows_of_a_page = 40;
constexpr std::int64_t widest_words = 40;  // of a column whose texts are not broken

bool is_text(const ExhibitColumn& column) {
    return column.kind == ValueKind::text;
}

/// 86000000 is "86M"; three significant digits.
std::string magnitude(double value) {
    if (std::isnan(value)) return "-";
    constexpr std::pair<double, const char*> units[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}};
    for (const auto& [unit, letter] : units) {
        if (value >= 0.9995 * unit) return significant(value / unit, 3) + letter;
    }
    return significant(value, 3);
}

std::string real_field(double value) {
    return std::isnan(value) ? "" : format_real(value);
}

/// Minus signs of numbers, as in "[-1.0, 2.0]" and "2.0e-05", in math mode; "--" for what is undefined.
std::string tex_number(const std::string& text) {
    if (text == "-") return "--";
    std::string out;
    for (const char c : text) {
        if (c == '-') {
            out += "$-$";
        } else {
            out += c;
        }
    }
    return out;
}

/// The value and its interval apart: the value alone is marked.
std::pair<std::string, std::string> parts_of(const ExhibitColumn& column, const ExhibitCell& cell) {
    const std::string whole = value_text(column, cell);
    if (column.kind != ValueKind::share) return {whole, ""};
    const auto blank = whole.find(' ');
    if (blank == std::string::npos) return {whole, ""};
    return {whole.substr(0, blank), whole.substr(blank)};
}

/// Packages whose absence a reader of the log would have to guess.
bool beyond_latin(const std::string& text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        // U+0180 and above: C6 80 and later.
        if (static_cast<unsigned char>(text[i]) >= 0xC6) return true;
    }
    return false;
}

/// Lines under each other, the first where the row's others are.
std::string stacked(const std::vector<std::string>& lines, const char* skip) {
    return "\\begin{tabular}[t]{@{}r@{}}" + join_text(lines, std::string("\\\\") + skip) + "\\end{tabular}";
}

/// @param wide  the interval stands below its value
std::string tex_cell(const ExhibitColumn& column, const ExhibitCell& cell, bool wide) {
    if (is_text(column)) return tex_text(cell.text);
    const auto [value, interval] = parts_of(column, cell);
    std::string text = tex_number(value);
    if (cell.mark == Mark::best) text = "\\textbf{" + text + "}";
    if (cell.mark == Mark::second) text = "\\underline{" + text + "}";
    if (interval.empty()) return text;
    const std::string ends = tex_number(interval.substr(1));
    return wide ? stacked({text, "{\\tiny " + ends + "}"}, "[-.5ex]") : text + " {\\scriptsize " + ends + "}";
}

std::string markdown_cell(const ExhibitColumn& column, const ExhibitCell& cell) {
    if (is_text(column)) return markdown_text(cell.text);
    const auto [value, interval] = parts_of(column, cell);
    const char* const mark = cell.mark == Mark::best ? "**" : cell.mark == Mark::second ? "*" : "";
    return mark + value + mark + interval;
}

std::string html_cell(const ExhibitColumn& column, const ExhibitCell& cell) {
    if (is_text(column)) return html_text(cell.text);
    const auto [value, interval] = parts_of(column, cell);
    std::string text = html_text(value);
    if (cell.mark == Mark::best) text = "<strong>" + text + "<span class=\"said\"> best</span></strong>";
    if (cell.mark == Mark::second) text = "<u>" + text + "<span class=\"said\"> second best</span></u>";
    return interval.empty() ? text : text + "<small>" + html_text(interval) + "</small>";
}

/// What the page's script sorts by: the number behind the text, "" where there is none.
std::string sort_key(const ExhibitColumn& column, const ExhibitCell& cell) {
    if (is_text(column)) return html_text(cell.text);
    if (column.kind == ValueKind::count)
        return cell.count == ExhibitCell::absent ? "" : std::to_string(cell.count);
    return real_field(cell.value);
}

}  // namespace

ExhibitCell ExhibitCell::of_text(std::string text) {
    ExhibitCell cell;
    cell.text = std::move(text);
    return cell;
}

ExhibitCell ExhibitCell::of_count(std::int64_t count) {
    ExhibitCell cell;
    cell.count = count;
    return cell;
}

ExhibitCell ExhibitCell::of(double value, double low, double high) {
    ExhibitCell cell;
    cell.value = value;
    cell.low = low;
    cell.high = high;
    return cell;
}

std::string value_text(const ExhibitColumn& column, const ExhibitCell& cell) {
    switch (column.kind) {
        case ValueKind::text:
            return cell.text;
        case ValueKind::count:
            return cell.count == ExhibitCell::absent ? "-" : std::to_string(cell.count);
        case ValueKind::share:
            if (!column.interval) return percent(cell.value);
            return std::isnan(cell.bound_low) ? with_interval(cell.value, cell.low, cell.high)
                                              : with_interval(cell.value, cell.bound_low, cell.bound_high);
        case ValueKind::probability:
        case ValueKind::number:
            return significant(cell.value, 3);
        case ValueKind::magnitude:
            return magnitude(cell.value);
    }
    return {};
}

void mark_best(Exhibit& exhibit, std::size_t column, Better better) {
    std::set<double> values;  // the best first
    std::size_t defined = 0;
    for (const auto& row : exhibit.rows) {
        const double value = row[column].value;
        if (std::isnan(value)) continue;
        ++defined;
        values.insert(better == Better::lower ? value : -value);
    }
    if (defined < 3) return;
    const double first = *values.begin();
    const double next = values.size() > 1 ? *std::next(values.begin()) : first;
    std::size_t best = 0;
    for (auto& row : exhibit.rows) {
        const double value = better == Better::lower ? row[column].value : -row[column].value;
        if (value == first) row[column].mark = Mark::best, ++best;
    }
    if (best > 1 || next == first) return;
    for (auto& row : exhibit.rows) {
        const double value = better == Better::lower ? row[column].value : -row[column].value;
        if (value == next) row[column].mark = Mark::second;
    }
}

std::string exhibit_csv(const Exhibit& exhibit) {
    std::vector<std::string> fields;
    for (const ExhibitColumn& column : exhibit.columns) {
        fields.push_back(csv_field(column.key));
        if (column.interval) {
            fields.push_back(csv_field(column.key + "_low"));
            fields.push_back(csv_field(column.key + "_high"));
        }
        if (column.bounded) {
            fields.push_back(csv_field(column.key + "_bound_low"));
            fields.push_back(csv_field(column.key + "_bound_high"));
        }
    }
    std::string out = join_text(fields, ",") + '\n';
    for (const auto& row : exhibit.rows) {
        fields.clear();
        for (std::size_t c = 0; c < row.size(); ++c) {
            const ExhibitColumn& column = exhibit.columns[c];
            if (is_text(column)) {
                fields.push_back(csv_field(row[c].text));
            } else if (column.kind == ValueKind::count) {
                fields.push_back(row[c].count == ExhibitCell::absent ? "" : std::to_string(row[c].count));
            } else {
                fields.push_back(real_field(row[c].value));
                if (column.interval) {
                    fields.push_back(real_field(row[c].low));
                    fields.push_back(real_field(row[c].high));
                }
                if (column.bounded) {
                    fields.push_back(real_field(row[c].bound_low));
                    fields.push_back(real_field(row[c].bound_high));
                }
            }
        }
        out += join_text(fields, ",") + '\n';
    }
    return out;
}

std::string exhibit_markdown(const Exhibit& exhibit) {
    std::string out = "**" + markdown_text(exhibit.title) + "**\n\n|";
    std::string rule = "|";
    for (const ExhibitColumn& column : exhibit.columns) {
        out += ' ' + markdown_text(column.title) + " |";
        rule += is_text(column) ? " --- |" : " --: |";
    }
    out += '\n' + rule + '\n';
    for (const auto& row : exhibit.rows) {
        out += '|';
        for (std::size_t c = 0; c < row.size(); ++c)
            out += ' ' + markdown_cell(exhibit.columns[c], row[c]) + " |";
        out += '\n';
    }
    out += '\n' + markdown_text(exhibit.caption) + '\n';
    for (const std::string& note : exhibit.notes) out += '\n' + markdown_text(note) + '\n';
    return out;
}

std::string exhibit_latex(const Exhibit& exhibit) {
    const bool is_long = exhibit.rows.size() > rows_of_a_page;
    const bool wide = exhibit.columns.size() > 8;
    std::string head, body, columns;
    for (std::size_t c = 0; c < exhibit.columns.size(); ++c) {
        const bool words = is_text(exhibit.columns[c]);
        const bool long_words = words && std::ranges::any_of(exhibit.rows, [&](const auto& row) {
                                    return display_width(row[c].text) > widest_words;
                                });
        columns += long_words ? "p{3.2cm}" : words ? "l" : "r";
        const std::string title = tex_text(exhibit.columns[c].title);
        head += (c ? " & " : "") + (wide && !words ? stacked(split_text(title, ' '), "") : title);
    }
    head = "\\toprule\n" + head + " \\\\\n\\midrule\n";
    for (const auto& row : exhibit.rows) {
        for (std::size_t c = 0; c < row.size(); ++c)
            body += (c ? " & " : "") + tex_cell(exhibit.columns[c], row[c], wide);
        body += " \\\\\n";
    }
    // LaTeX numbers tables itself.
    const auto number = exhibit.title.starts_with("Table ") ? exhibit.title.find(". ") : std::string::npos;
    const std::string title = number == std::string::npos ? exhibit.title : exhibit.title.substr(number + 2);
    std::string caption = "\\caption{" + tex_text(title) + ' ' + tex_text(exhibit.caption);
    for (const std::string& note : exhibit.notes) caption += ' ' + tex_text(note);
    caption += "}\\label{tab:" + exhibit.name + "}";

    std::string out = "% needs \\usepackage{booktabs}";
    if (is_long) out += " and \\usepackage{longtable}";
    if (beyond_latin(body + head + caption)) out += "; has characters beyond Latin, for lualatex or xelatex";
    out += '\n';
    if (is_long) {
        return out + "{\\small\n\\begin{longtable}{" + columns + "}\n" + caption + "\\\\\n" + head +
               "\\endfirsthead\n" + head + "\\endhead\n\\bottomrule\n\\endfoot\n" + body +
               "\\end{longtable}}\n";
    }
    const char* const environment = exhibit.columns.size() > 5 ? "table*" : "table";
    return out + "\\begin{" + environment + "}\n\\centering" +
           (wide                         ? "\\scriptsize\\setlength{\\tabcolsep}{2.5pt}"
            : exhibit.columns.size() > 7 ? "\\footnotesize"
                                         : "\\small") +
           "\n" + caption + "\n\\begin{tabular}{" + columns + "}\n" + head + body +
           "\\bottomrule\n\\end{tabular}\n\\end{" + environment + "}\n";
}

std::string exhibit_html(const Exhibit& exhibit) {
    std::string out = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" +
                      html_text(exhibit.title) + "\">\n<table id=\"" + exhibit.name +
                      "\">\n<caption><span><b>" + html_text(exhibit.title) + "</b> " +
                      html_text(exhibit.caption);
    for (const std::string& note : exhibit.notes) out += ' ' + html_text(note);
    out += "</span></caption>\n<thead><tr>";
    for (const ExhibitColumn& column : exhibit.columns)
        out += std::string("<th scope=\"col\"") + (is_text(column) ? "" : " class=\"n\"") + '>' +
               html_text(column.title) + "</th>";
    out += "</tr></thead>\n<tbody>\n";
    for (const auto& row : exhibit.rows) {
        out += "<tr>";
        for (std::size_t c = 0; c < row.size(); ++c) {
            const bool words = is_text(exhibit.columns[c]);
            out += c == 0 ? "<th scope=\"row\"" : "<td";
            if (words && display_width(row[c].text) > widest_words) out += " class=\"l\"";
            if (!words) out += " class=\"n\" data-v=\"" + sort_key(exhibit.columns[c], row[c]) + '"';
            out += '>' + html_cell(exhibit.columns[c], row[c]) + (c == 0 ? "</th>" : "</td>");
        }
        out += "</tr>\n";
    }
    return out + "</tbody>\n</table>\n</div>\n";
}

}  // namespace candor::report
