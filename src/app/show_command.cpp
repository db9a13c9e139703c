#include "candor/app/show_command.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <boost/program_options.hpp>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "candor/app/options.hpp"
#include "candor/app/results_study.hpp"
#include "candor/app/show_journal.hpp"
#include "candor/base/error.hpp"
#include "candor/base/log.hpp"
#include "candor/base/text.hpp"
#include "candor/report/overview.hpp"
#include "candor/report/selection.hpp"
#include "candor/report/table_format.hpp"
#include "candor/store/results_file.hpp"

namespace candor::app {

namespace {

namespace po = boost::program_options;

constexpr const char* usage = R"(Usage: candor show OUT.h5 [TABLE] [options]
       candor show OUT.h5.journal [--follow]

Without TABLE: an overview of the study. With TABLE: that table. Formats text, md and tex are for people:
rates as percentages, rounded. csv and json are for programs: as stored, every digit.
Of a journal: what is done, running and left of a study that is being run, or was ended.

Examples:
  candor show results.h5
  candor show results.h5 findings --where encoder=rad-dino --columns finding,d,d_low,d_high
  candor show results.h5 cells --format csv > cells.csv
  candor show results.h5.journal --follow
)";

struct ShowOptions {
    std::string file, table;
    report::Format format = report::Format::text;
    std::vector<report::Condition> where;
    std::vector<std::string> columns;
    bool list = false, follow = false, quiet = false, help = false;
};

ShowOptions parse_options(const std::vector<std::string>& arguments) {
    std::string format;
    std::vector<std::string> where, columns;
    ShowOptions options;
    po::options_description known;
    known.add_options()                                                                         //
        ("list", po::bool_switch(&options.list), "the tables of the file, with their columns")  //
        ("format", po::value(&format)->default_value("text"), "text, csv, json, md or tex")     //
        ("where", po::value(&where)->composing()->value_name("COLUMN=VALUE"),
         "only rows that hold this value, or with != do not; may be given several times: a row must "
         "meet all. Numbers compare as stored (fractions); nan is what is undefined")  //
        ("columns", po::value(&columns)->composing()->value_name("A,B,C"),
         "only these columns, in this order")  //
        ("follow", po::bool_switch(&options.follow),
         "of OUT.h5.journal: go on telling how far the study is until its results are there")  //
        ("quiet", po::bool_switch(&options.quiet), "no notes on standard error")               //
        ("help", po::bool_switch(&options.help), "this text");
    const std::vector<std::string> places = parse_arguments("show", arguments, known, 2);
    if (options.help) {
        print_help(usage, known);
        return options;
    }
    if (places.empty()) throw UsageError("candor show", "name a results file: candor show OUT.h5 [TABLE]");
    options.file = places[0];
    if (places.size() == 2) options.table = places[1];
    options.format = report::parse_format(format);
    for (const std::string& text : where) options.where.push_back(report::parse_condition(text));
    for (const std::string& text : columns) {
        for (std::string& name : split_text(text, ',')) options.columns.push_back(std::move(name));
    }
    if (options.follow && !is_journal(options.file)) options.file += ".journal";
    if (is_journal(options.file)) {
        if (!options.table.empty() || options.list || !where.empty() || !columns.empty() ||
            options.format != report::Format::text) {
            throw UsageError(options.file,
                             "has no tables yet; give --follow or nothing with it, and name the results file "
                             "once the run is finished");
        }
        return options;
    }
    if (options.table.empty()) {
        if (!where.empty() || !columns.empty()) {
            throw UsageError(where.empty() ? "--columns" : "--where",
                             "name the table: candor show OUT.h5 TABLE");
        }
        if (options.format != report::Format::text && !options.list) {
            throw UsageError("--format", "the overview is text only; name a table, or use --list");
        }
    } else if (options.list) {
        throw UsageError("--list", "lists all tables; leave \"" + options.table + "\" away");
    }
    return options;
}

std::int64_t terminal_width() {
    winsize size{};
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 160;  // a log or a file: what a wide terminal shows
}

store::ResultTable list_tables(const store::ResultsReader& results) {
    store::ResultTable list{"tables", {}};
    list.texts("table") = results.tables();
    std::vector<std::int64_t> rows;
    std::vector<std::string> columns;
    for (const std::string& name : results.tables()) {
        const store::ResultTable table = results.table(name);
        rows.push_back(table.rows());
        std::vector<std::string> names;
        for (const store::Column& column : table.columns) names.push_back(column.name);
        columns.push_back(join_text(names, ","));
    }
    list.integers("rows") = std::move(rows);
    list.texts("columns") = std::move(columns);
    return list;
}

store::ResultTable chosen_table(const store::ResultsReader& results, const ShowOptions& options) {
    if (!results.has_table(options.table)) {
        const auto known = results.tables();
        const std::string near = nearest_name(options.table, known);
        throw UsageError(options.file, "has no table \"" + options.table + "\"" +
                                           (near.empty() ? "" : ", did you mean \"" + near + "\"?") +
                                           "; it has " + join_text(known, ", "));
    }
    const store::ResultTable whole = results.table(options.table);
    store::ResultTable table = report::select_rows(whole, options.where);
    if (table.rows() == 0 && whole.rows() > 0 && !options.quiet) {
        const std::string why = report::explain_empty(whole, options.where);
        const std::string note = why.empty() ? "no row meets all conditions together" : why;
        std::fprintf(stderr, "candor: note: %s\n", note.c_str());
    }
    return options.columns.empty() ? table : report::select_columns(table, options.columns);
}

}  // namespace

int show_command(const std::vector<std::string>& arguments) {
    const ShowOptions options = parse_options(arguments);
    if (options.help) return 0;
    if (is_journal(options.file)) {
        const Log log(options.quiet ? Verbosity::quiet : Verbosity::normal, true);
        options.follow ? follow_journal(options.file, log) : show_journal(options.file);
        return 0;
    }
    const store::ResultsReader results(options.file);
    if (options.list) {
        write_output(report::format_table(list_tables(results), options.format));
    } else if (options.table.empty()) {
        write_output(report::format_overview(read_overview(results), terminal_width()));
    } else {
        write_output(report::format_table(chosen_table(results, options), options.format));
    }
    return 0;
}

}  // namespace candor::app
