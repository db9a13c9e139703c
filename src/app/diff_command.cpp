#include "candor/app/diff_command.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <map>
#include <variant>

#include "candor/app/options.hpp"
#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/report/comparison.hpp"
#include "candor/report/escape.hpp"
#include "candor/report/selection.hpp"
#include "candor/report/table_columns.hpp"
#include "candor/report/table_format.hpp"
#include "candor/store/results_file.hpp"

namespace candor::app {

namespace po = boost::program_options;

namespace {

constexpr const char* usage = R"(Usage: candor diff A.h5 B.h5 [TABLE] [options]

Without TABLE: how the two runs and studies differ, and how many rates are the same, within (one value lies in the
other's interval), near (neither does, but the intervals overlap), beyond (the intervals lie apart; these are listed) or
unjudged (one has no interval, or one without width). With TABLE (tasks, findings or cells): every row. It is no test:
rates of the same images move together.

Examples:
  candor diff before.h5 after.h5
  candor diff before.h5 after.h5 findings --where change=beyond --format csv
)";

const std::vector<std::string> table_names{"tasks", "findings", "cells"};
constexpr std::int64_t most_listed = 20;

std::string attribute_text(const store::ResultsReader& results, const std::string& name) {
    const store::AttributeValue value = results.attribute("/run", name);
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
    return format_real(std::get<double>(value));
}

/// Lines of `a` that `b` has fewer of, each behind `sign`.
std::string lines_without(const std::string& a, const std::string& b, const std::string& sign) {
    std::map<std::string, std::int64_t> left;
    for (const std::string& line : split_text(b, '\n')) ++left[line];
    std::string out;
    for (const std::string& line : split_text(a, '\n')) {
        if (left[line]-- <= 0) out += "  " + sign + ' ' + report::plain_text(line) + '\n';
    }
    return out;
}

std::string summary(const store::ResultsReader& a, const store::ResultsReader& b) {
    std::string out;
    for (const char* name : {"version", "commit", "blas_core", "ranks", "threads", "seed"}) {
        const std::string x = attribute_text(a, name), y = attribute_text(b, name);
        if (x != y)
            out += std::string(name) + ": " + report::plain_text(x) + " -> " + report::plain_text(y) + '\n';
    }
    for (const char* name : {"study", "inputs"}) {
        const std::string x = attribute_text(a, name), y = attribute_text(b, name);
        if (x == y) continue;
        out += std::string(name) + ":\n" + lines_without(x, y, "-") + lines_without(y, x, "+");
    }
    if (out.empty()) out = "The same study, inputs and version.\n";
    for (const std::string& name : table_names) {
        const store::ResultTable table = report::compare_rates(a.table(name), b.table(name));
        std::map<std::string, std::int64_t> counts;
        for (const std::string& change : report::texts(table, "change")) ++counts[change];
        out += name + ": ";
        std::vector<std::string> parts;
        for (const char* change :
             {"same", "within", "near", "beyond", "unjudged", "defined", "undefined", "only a", "only b"}) {
            if (counts[change] > 0) parts.push_back(std::to_string(counts[change]) + ' ' + change);
        }
        out += (parts.empty() ? "no rates" : join_text(parts, ", ")) + '\n';
        if (name == "cells" || counts["beyond"] == 0) continue;
        store::ResultTable beyond = report::select_rows(table, {report::parse_condition("change=beyond")});
        if (beyond.rows() <= most_listed) {
            out += report::format_table(beyond, report::Format::text);
        } else {
            out += "  more than " + std::to_string(most_listed) + " beyond: candor diff A.h5 B.h5 " + name +
                   " --where change=beyond\n";
        }
    }
    return out;
}

}  // namespace

int diff_command(const std::vector<std::string>& arguments) {
    std::string format;
    std::vector<std::string> where;
    bool help = false;
    po::options_description known;
    known.add_options()                                                                                //
        ("format", po::value(&format)->default_value("text"), "of TABLE: text, csv, json, md or tex")  //
        ("where", po::value(&where)->composing()->value_name("COLUMN=VALUE"),
         "only rows of TABLE that hold this value, or with != do not; may be given several times")  //
        ("help", po::bool_switch(&help), "this text");
    const std::vector<std::string> places = parse_arguments("diff", arguments, known, 3);
    if (help) {
        print_help(usage, known);
        return 0;
    }
    if (places.size() < 2) throw UsageError("candor diff", "name two results files: candor diff A.h5 B.h5");
    const report::Format as = report::parse_format(format);
    if (places.size() == 2 && (!where.empty() || as != report::Format::text))
        throw UsageError(where.empty() ? "--format" : "--where",
                         "name the table: " + join_text(table_names, ", "));
    if (places.size() == 3 && std::ranges::find(table_names, places[2]) == table_names.end())
        throw UsageError("candor diff", "compares no table \"" + places[2] + "\"; it compares " +
                                            join_text(table_names, ", "));
    const store::ResultsReader a(places[0]), b(places[1]);
    if (places.size() == 2) {
        write_output(summary(a, b));
        return 0;
    }
    store::ResultTable table = report::compare_rates(a.table(places[2]), b.table(places[2]));
    std::vector<report::Condition> conditions;
    for (const std::string& text : where) conditions.push_back(report::parse_condition(text));
    write_output(report::format_table(report::select_rows(table, conditions), as));
    return 0;
}

}  // namespace candor::app
