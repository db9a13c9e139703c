#include "candor/report/overview.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/report/cell_text.hpp"
#include "candor/report/escape.hpp"
#include "candor/report/rate.hpp"
#include "candor/report/table_columns.hpp"

namespace candor::report {

namespace {

constexpr std::size_t most_findings_with_intervals = 5;

/// The different values of a text column in `rows`, in their order.
std::vector<std::string> distinct(const std::vector<std::string>& values, std::span<const std::size_t> rows) {
    std::vector<std::string> seen;
    for (const std::size_t i : rows) {
        if (std::find(seen.begin(), seen.end(), values[i]) == seen.end()) seen.push_back(values[i]);
    }
    return seen;
}

std::int64_t count_flags(const store::ResultTable& table, std::string_view flag, const std::string& task) {
    const auto& flags = integers(table, flag);
    const auto rows = rows_of(table, task);
    return std::count_if(rows.begin(), rows.end(), [&](std::size_t i) { return flags[i] != 0; });
}

std::string interval_text(double low, double high) {
    return '[' + percent(low) + ", " + percent(high) + ']';
}

// ---- encoders by findings
// ------------------------------------------------------------------------------------

/// One column of the grid: a title and a rate an encoder.
struct GridColumn {
    std::string title;
    bool intervals = false;
    std::vector<Rate> rates;
};

struct Grid {
    std::vector<std::string> encoders;  ///< as labelled
    std::vector<GridColumn> columns;    ///< the task's micro column first
};

Grid grid_of(const Overview& overview, const std::string& task) {
    struct Row {
        std::string encoder;
        bool anchor;
        Rate micro;
    };
    std::vector<Row> rows;
    for (const std::size_t i : rows_of(overview.task_rows, task)) {
        if (texts(overview.task_rows, "level")[i] != "micro") continue;
        rows.push_back({texts(overview.task_rows, "encoder")[i],
                        integers(overview.task_rows, "anchor")[i] != 0, rate_of(overview.task_rows, i)});
    }
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        const auto order = [](const Row& row) {
            const bool undefined = std::isnan(row.micro.shown);
            return std::tuple(row.anchor, undefined, undefined ? 0.0 : row.micro.shown);
        };
        return order(a) < order(b);
    });

    const auto finding_rows = rows_of(overview.findings, task);
    const auto findings = distinct(texts(overview.findings, "finding"), finding_rows);
    std::map<std::pair<std::string, std::string>, Rate> by_name;
    for (const std::size_t i : finding_rows) {
        by_name[{texts(overview.findings, "finding")[i], texts(overview.findings, "encoder")[i]}] =
            rate_of(overview.findings, i);
    }

    Grid grid;
    // A task of one finding is that finding.
    GridColumn& micro = grid.columns.emplace_back();
    micro.title = findings.size() == 1 ? findings[0] : "all findings (micro)";
    micro.intervals = true;
    for (const Row& row : rows) {
        grid.encoders.push_back(plain_text(row.encoder) + (row.anchor ? " (anchor)" : ""));
        micro.rates.push_back(row.micro);
    }
    if (findings.size() == 1) return grid;
    for (const std::string& finding : findings) {
        GridColumn& added = grid.columns.emplace_back();
        added.title = finding;
        added.intervals = findings.size() <= most_findings_with_intervals;
        for (const Row& row : rows) added.rates.push_back(by_name[{finding, row.encoder}]);
    }
    return grid;
}

std::string marks_of(const Rate& rate, double lowest) {
    std::string marks;
    if (std::isnan(rate.shown)) return marks;
    if (rate.shown == lowest) marks += '*';
    if (rate.tied) marks += 't';
    if (std::isnan(rate.low) && !rate.tied) {
        marks += '?';
    } else if (!rate.excludes_half) {
        marks += '=';
    } else if (rate.shown > 0.5) {
        marks += '>';
    }
    return marks;
}

double lowest_of(const GridColumn& column) {
    double lowest = NAN;
    for (const Rate& rate : column.rates) lowest = std::fmin(lowest, rate.shown);
    return lowest;
}

/// `word` in pieces of about equal length, each at most `width` columns with the hyphen that ends all but the
/// last.
std::vector<std::string> hyphenate(std::string_view word, std::int64_t width) {
    const std::int64_t letters = display_width(word);
    const std::int64_t pieces = (letters + width - 2) / (width - 1);
    const std::int64_t length = (letters + pieces - 1) / pieces;
    std::vector<std::string> lines(1);
    std::int64_t taken = 0;
    for (const char c : word) {
        const bool begins = (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // a code point
        if (begins && taken++ > 0 && (taken - 1) % length == 0) {
            lines.back() += '-';
            lines.emplace_back();
        }
        lines.back() += c;
    }
    return lines;
}

/// `name` in lines of at most `width` columns, broken after blanks and joints, else within words.
/// @pre width > 1.
std::vector<std::string> wrap(std::string_view name, std::int64_t width) {
    std::vector<std::string> lines(1);
    while (!name.empty()) {
        const auto joint = name.find_first_of(" _-/");
        const std::string_view piece = name.substr(0, joint == std::string_view::npos ? joint : joint + 1);
        name.remove_prefix(piece.size());
        const std::int64_t needed = display_width(trim(piece));
        if (!lines.back().empty() && display_width(lines.back()) + needed > width) lines.emplace_back();
        if (needed > width) {
            lines.pop_back();
            for (std::string& part : hyphenate(piece, width)) lines.push_back(std::move(part));
        } else {
            lines.back() += piece;
        }
    }
    for (std::string& line : lines) line = std::string(trim(line));
    return lines;
}

/// `text` broken at blanks so that no line is wider than `width`, where words allow it.
std::string fold(std::string_view text, std::int64_t width) {
    std::string out;
    std::int64_t used = 0;
    for (const std::string& word : split_text(text, ' ')) {
        const std::int64_t needed = display_width(word);
        if (used > 0) out += used + 1 + needed > width ? '\n' : ' ';
        used = out.ends_with('\n') ? needed : used + (used > 0) + needed;
        out += word;
    }
    return out + '\n';
}

/// The lines of one grid column: title lines, then a cell an encoder, all of equal width.
struct Printed {
    std::vector<std::string> title, cells;
    std::int64_t width = 0;
};

Printed print_column(const GridColumn& column, std::int64_t title_width) {
    const double lowest = lowest_of(column);
    std::vector<std::string> marks, intervals;
    std::int64_t mark_width = 1, interval_width = 0;
    for (const Rate& rate : column.rates) {
        marks.push_back(marks_of(rate, lowest));
        const bool shown = column.intervals && !std::isnan(rate.low);
        intervals.push_back(shown ? interval_text(rate.low, rate.high) : "");
        mark_width = std::max(mark_width, display_width(marks.back()));
        interval_width = std::max(interval_width, display_width(intervals.back()));
    }
    Printed printed;
    for (std::size_t i = 0; i < column.rates.size(); ++i) {
        std::string cell =
            padded(percent(column.rates[i].shown), 5, true) + padded(marks[i], mark_width, false);
        if (interval_width > 0) cell += ' ' + padded(intervals[i], interval_width, false);
        printed.cells.push_back(cell);
        printed.width = std::max(printed.width, display_width(cell));
    }
    printed.title = wrap(plain_text(column.title), std::max(title_width, printed.width));
    for (const std::string& line : printed.title)
        printed.width = std::max(printed.width, display_width(line));
    return printed;
}

/// Columns [first, last) of `printed` beside the encoders' names.
std::string print_block(const Grid& grid, const std::vector<Printed>& printed, std::size_t first,
                        std::size_t last, std::int64_t name_width) {
    std::size_t title_lines = 0;
    for (std::size_t c = first; c < last; ++c) title_lines = std::max(title_lines, printed[c].title.size());
    std::string out;
    const auto add_line = [&](const std::string& name, auto&& cell_of) {
        std::string line = padded(name, name_width, false);
        for (std::size_t c = first; c < last; ++c) line += "  " + padded(cell_of(c), printed[c].width, true);
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
    };
    for (std::size_t l = 0; l < title_lines; ++l) {
        // Titles stand on the last line.
        add_line(l + 1 == title_lines ? "encoder" : "", [&](std::size_t c) {
            const auto& title = printed[c].title;
            const std::size_t above = title_lines - title.size();
            return l < above ? std::string() : title[l - above];
        });
    }
    for (std::size_t e = 0; e < grid.encoders.size(); ++e) {
        add_line(grid.encoders[e], [&](std::size_t c) { return printed[c].cells[e]; });
    }
    return out;
}

std::string print_grid(const Grid& grid, std::int64_t width) {
    std::int64_t name_width = display_width("encoder");
    for (const std::string& encoder : grid.encoders)
        name_width = std::max(name_width, display_width(encoder));

    std::vector<Printed> printed{print_column(grid.columns[0], 14)};
    const auto others = static_cast<std::int64_t>(grid.columns.size()) - 1;
    const std::int64_t left = width - name_width - printed[0].width - 2;
    const std::int64_t title_width = others ? std::clamp<std::int64_t>(left / others - 2, 8, 16) : 0;
    for (std::size_t c = 1; c < grid.columns.size(); ++c)
        printed.push_back(print_column(grid.columns[c], title_width));

    std::string out;
    for (std::size_t first = 0; first < printed.size();) {
        std::int64_t used = name_width;
        std::size_t last = first;
        // A block holds at least one column, however narrow the terminal.
        while (last < printed.size() && (last == first || used + 2 + printed[last].width <= width)) {
            used += 2 + printed[last++].width;
        }
        if (first > 0) out += '\n';
        out += print_block(grid, printed, first, last, name_width);
        first = last;
    }
    return out;
}

std::string legend(const Grid& grid) {
    std::string used;
    for (const GridColumn& column : grid.columns) {
        const double lowest = lowest_of(column);
        for (const Rate& rate : column.rates) used += marks_of(rate, lowest);
    }
    std::string text = "chance = 50.0";
    const auto add = [&](char mark, std::string_view meaning) {
        if (used.find(mark) == std::string::npos) return;
        text += "; ";
        text += mark;
        text += ' ';
        text += meaning;
    };
    add('*', "lowest of its column");
    add('=', "interval holds 50.0");
    add('>', "interval above 50.0");
    add('t', "more than 1 % ties, counted half (rate_mid)");
    add('?', "no interval");
    return text + '\n';
}

// ---- panel and tests
// -----------------------------------------------------------------------------------------

struct Statistic {
    std::string name, encoder;
    std::int64_t encoders = 0;
    double value = NAN, low = NAN, high = NAN;

    std::string text() const { return with_interval(value, low, high); }
};

/// The task's micro statistic whose name begins with `name`, where it is there and defined.
std::optional<Statistic> panel_statistic(const Overview& overview, const std::string& task,
                                         std::string_view name, bool prefix = false) {
    const store::ResultTable& panels = overview.panels;
    for (const std::size_t i : rows_of(panels, task)) {
        const std::string& found = texts(panels, "statistic")[i];
        if (texts(panels, "level")[i] != "micro" || !(prefix ? found.starts_with(name) : found == name))
            continue;
        Statistic statistic{found,
                            texts(panels, "encoder")[i],
                            integers(panels, "encoders")[i],
                            reals(panels, "value")[i],
                            reals(panels, "low")[i],
                            reals(panels, "high")[i]};
        if (std::isnan(statistic.value)) return std::nullopt;
        return statistic;
    }
    return std::nullopt;
}

}  // namespace

std::string panel_sentences(const Overview& overview, const std::string& task) {
    const auto statistic = [&](std::string_view name) { return panel_statistic(overview, task, name); };
    const auto best = statistic("best");
    if (!best) return "The panel has no best encoder: no D is defined.";
    std::string text = "The best of " + counted(best->encoders, "encoder", "encoders") + " is " +
                       plain_text(best->encoder) + " at " + best->text();
    if (const auto below = statistic("best_below_half")) {
        text += below->value < 1 ? ", not below chance" : ", below chance";
        if (below->value == 1 && !std::isnan(below->low)) {
            const std::string interval = significant(100 * overview.confidence, 3) + " % interval";
            // An interval without width comes of resamples that are all alike.
            text += best->low == best->high
                        ? ", though its resamples are all alike and the interval says nothing"
                    : below->low == 1 ? " throughout the " + interval
                                      : " but not throughout the " + interval;
        }
    }
    text += '.';

    std::vector<std::string> parts;
    if (const auto median = statistic("median")) {
        std::string part = "the median is " + median->text();
        if (const auto without = statistic("median_without_anchor")) {
            part += " (without the anchor " + without->text() + ')';
        }
        parts.push_back(part);
    }
    if (const auto highest = statistic("highest")) {
        parts.push_back("the highest is " + plain_text(highest->encoder) + " at " + highest->text());
    }
    if (const auto anchor = statistic("anchor")) {
        parts.push_back("the anchor " + plain_text(anchor->encoder) + " is at " + anchor->text());
    }
    if (const auto range = statistic("range")) parts.push_back("the range is " + range->text());
    if (const auto above = panel_statistic(overview, task, "above_", true)) {
        const auto limit = parse_real(std::string_view(above->name).substr(6));
        parts.push_back(significant(above->value, 3) + " of " + std::to_string(above->encoders) +
                        " lie above " + percent(limit.value_or(NAN)));
    }
    if (parts.empty()) return text;
    if (parts[0].starts_with("the")) parts[0][0] = 'T';
    return text + ' ' + join_text(parts, "; ") + '.';
}

std::vector<std::string> family_lines(const Overview& overview, const std::string& task) {
    const store::ResultTable& families = overview.families;
    std::vector<std::string> lines;
    for (const std::size_t i : rows_of(families, task)) {
        if (integers(families, "m")[i] + integers(families, "undefined")[i] == 0) continue;
        const std::string m = std::to_string(integers(families, "m")[i]);
        const std::int64_t needed = integers(families, "needed")[i];
        const std::int64_t undefined = integers(families, "undefined")[i];
        std::string line = texts(families, "family")[i] + ": " +
                           std::to_string(integers(families, "rejected")[i]) + " of " + m +
                           " rejected at q <= " + significant(reals(families, "alpha")[i], 3) + ", " +
                           texts(families, "test")[i];
        std::vector<std::string> more;
        if (const double smallest = reals(families, "smallest_p")[i]; smallest > 0) {
            more.push_back(std::to_string(integers(families, "at_floor")[i]) +
                           " at the smallest p it can give, " + significant(smallest, 3));
            more.push_back(needed < 0 ? "not even all " + m + " there would reject one"
                                      : "a rejection needs " + std::to_string(needed) + " there");
        }
        if (undefined > 0) more.push_back(std::to_string(undefined) + " undefined");
        if (!more.empty()) line += " (" + join_text(more, "; ") + ')';
        lines.push_back(std::move(line));
    }
    return lines;
}

namespace {

// ---- what to look out for
// ------------------------------------------------------------------------------------

/// "what: number" of each `what`, in the order of their first appearance.
class Tally {
  public:
    void add(const std::string& what, std::int64_t count) {
        const auto [at, is_new] = counts_.try_emplace(what, 0);
        if (is_new) order_.push_back(what);
        at->second += count;
    }
    std::string text() const {
        std::vector<std::string> parts;
        for (const std::string& what : order_) parts.push_back(what + ' ' + std::to_string(counts_.at(what)));
        return join_text(parts, ", ");
    }

  private:
    std::map<std::string, std::int64_t> counts_;
    std::vector<std::string> order_;
};

std::string skipped_warning(const Overview& overview, const std::string& task) {
    const store::ResultTable& skipped = overview.skipped;
    Tally reasons;
    std::int64_t primary = 0, others = 0;
    for (const std::size_t i : rows_of(skipped, task)) {
        if (integers(skipped, "primary")[i] == 0) {
            ++others;
            continue;
        }
        ++primary;
        const std::string& reason = texts(skipped, "reason")[i];
        reasons.add(reason.substr(0, reason.find(" (")), 1);  // without the counts in brackets
    }
    std::string text;
    if (primary) text = counted(primary, "cell", "cells") + " not scored: " + reasons.text();
    if (others)
        text += (primary ? "; " : "") + counted(others, "cell", "cells") + " not scored under other rules";
    if (!text.empty()) text += " (candor show " + overview.file + " skipped)";
    return text;
}

std::string exclusion_warning(const Overview& overview, const std::string& task) {
    const store::ResultTable& exclusions = overview.exclusions;
    Tally rows;
    std::set<std::string> detailed;
    for (const std::size_t i : rows_of(exclusions, task)) {
        const std::string& what = texts(exclusions, "what")[i];
        rows.add(what, integers(exclusions, "rows")[i]);
        if (!texts(exclusions, "detail")[i].empty()) detailed.insert(what);
    }
    if (rows.text().empty()) return {};
    return "rows left out or counted by a rule: " + rows.text() +
           (detailed.empty() ? "" : "; summed over findings or encoders where a rule works on each") +
           " (candor show " + overview.file + " exclusions)";
}

std::string repeats_warning(const Overview& overview, const OverviewTask& task) {
    if (task.images <= task.patients) return {};
    std::string text = "patients repeat: " + counted(task.images, "image", "images") + " of " +
                       counted(task.patients, "patient", "patients") + " were queried";
    if (overview.rule == "distinct") return text;
    text += "; under rule \"" + overview.rule + "\" chance is then not exactly 50.0";
    const auto& rules = texts(overview.rules, "rule");
    const auto rows = rows_of(overview.rules, task.id);
    if (std::any_of(rows.begin(), rows.end(), [&](std::size_t i) { return rules[i] == "distinct"; })) {
        text += ", see candor show " + overview.file + " rules --where rule=distinct";
    }
    return text;
}

std::string ties_warning(const Overview& overview, const std::string& task) {
    const store::ResultTable& findings = overview.findings;
    std::int64_t count = 0;
    double largest = 0;
    std::string where;
    for (const std::size_t i : rows_of(findings, task)) {
        const auto queries = static_cast<double>(integers(findings, "queries")[i]);
        const double share = static_cast<double>(integers(findings, "ties")[i]) / queries;
        if (!(share > notable_ties)) continue;  // also 0/0
        ++count;
        if (share <= largest) continue;
        largest = share;
        where = plain_text(texts(findings, "encoder")[i]) + ", " + plain_text(texts(findings, "finding")[i]);
    }
    if (count == 0) return {};
    return "ties above 1 % in " + counted(count, "rate", "rates") + " of a finding, at most " +
           percent(largest) + " % (" + where + "): rate_mid counts them half";
}

std::string flag_warning(const Overview& overview, const std::string& task, std::string_view flag,
                         std::string_view what) {
    const std::int64_t findings = count_flags(overview.findings, flag, task);
    const std::int64_t cells = count_flags(overview.cells, flag, task);
    if (findings + cells == 0) return {};
    return std::string(what) + ": " + std::to_string(findings) + " of " +
           counted(static_cast<std::int64_t>(rows_of(overview.findings, task).size()), "rate", "rates") +
           " of a finding, " + std::to_string(cells) + " of " +
           counted(static_cast<std::int64_t>(rows_of(overview.cells, task).size()), "cell", "cells");
}

/// Queries whose own context the reference does not score (METHODS 12.6).
std::string fallback_warning(const Overview& overview, const std::string& task) {
    const std::int64_t cells = count_flags(overview.cells, "pooled_reference", task);
    if (cells == 0) return {};
    return counted(cells, "cell asks", "cells ask") +
           " the whole reference, their own contexts not being scored; they are in no rate of a finding "
           "(candor show " +
           overview.file + " cells --where pooled_reference=1)";
}

std::string resample_warning(const Overview& overview, const std::string& task) {
    const store::ResultTable& findings = overview.findings;
    std::int64_t count = 0, fewest = overview.resamples;
    for (const std::size_t i : rows_of(findings, task)) {
        const std::int64_t valid = integers(findings, "n_boot_valid")[i];
        if (valid >= overview.resamples || std::isnan(reals(findings, "d")[i])) continue;
        ++count;
        fewest = std::min(fewest, valid);
    }
    if (count == 0) return {};
    return "resamples left out as undefined in " + counted(count, "rate", "rates") +
           " of a finding: at least " + std::to_string(fewest) + " of " + std::to_string(overview.resamples) +
           " remain (n_boot_valid)";
}

}  // namespace

std::vector<std::string> warnings(const Overview& overview, const OverviewTask& task) {
    std::vector<std::string> out;
    for (const std::string& text :
         {skipped_warning(overview, task.id), exclusion_warning(overview, task.id),
          repeats_warning(overview, task),
          flag_warning(overview, task.id, "few_patients", "fewer than 10 patients"),
          flag_warning(overview, task.id, "all_equal", "all resamples equal, read bound_low and bound_high"),
          fallback_warning(overview, task.id), resample_warning(overview, task.id),
          ties_warning(overview, task.id)}) {
        if (!text.empty()) out.push_back(text);
    }
    return out;
}

namespace {

std::string heading_of(const Overview& overview, const OverviewTask& task, const Grid& grid) {
    const auto finding_rows = rows_of(overview.findings, task.id);
    const auto cell_rows = rows_of(overview.cells, task.id);
    const auto findings = distinct(texts(overview.findings, "finding"), finding_rows);
    const auto contexts = distinct(texts(overview.cells, "context"), cell_rows);
    const std::string name =
        task.label.empty() || task.label == task.id ? task.id : task.label + " (" + task.id + ')';
    return plain_text(name) + ": " +
           counted(static_cast<std::int64_t>(grid.encoders.size()), "encoder", "encoders") + ", " +
           counted(static_cast<std::int64_t>(findings.size()), "finding", "findings") + ", " +
           counted(static_cast<std::int64_t>(contexts.size()), "context", "contexts") + ", " +
           counted(task.images, "image", "images") + " queried of " +
           counted(task.patients, "patient", "patients") + '\n' + "candidates \"" + overview.rule +
           "\", k = " + std::to_string(overview.k) + "; D in percent [" +
           significant(100 * overview.confidence, 3) + " % interval over patients]\n";
}

}  // namespace

std::string format_overview(const Overview& overview, std::int64_t width) {
    std::string out = plain_text(overview.run) + '\n';
    for (const OverviewTask& task : overview.tasks) {
        const Grid grid = grid_of(overview, task.id);
        out += '\n' + heading_of(overview, task, grid) + '\n';
        if (grid.encoders.empty()) {
            out += "No encoder was scored.\n\n";
        } else {
            out += print_grid(grid, width) + legend(grid);
            if (grid.columns.size() > most_findings_with_intervals + 1) {
                out += "intervals of the findings: candor show " + overview.file +
                       " findings --where task=" + plain_text(task.id) + '\n';
            }
            out += '\n' + fold(panel_sentences(overview, task.id), width);
            for (const std::string& sentence : across_sentences(overview.across, task.id))
                out += fold(sentence, width);
            if (!overview.heads.heads.columns.empty()) {
                for (const std::string& sentence : head_sentences(overview.heads, task.id))
                    out += fold(sentence, width);
            }
            for (const std::string& line : family_lines(overview, task.id)) out += line + '\n';
        }
        for (const std::string& text : warnings(overview, task)) out += "warning: " + text + '\n';
    }
    const std::vector<std::string> whole = family_lines(overview, "");
    if (!whole.empty()) out += "\nThe whole study\n";
    for (const std::string& line : whole) out += line + '\n';
    return out;
}

}  // namespace candor::report
