#include "candor/app/show_command.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <ranges>
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
#include "candor/store/table_rows.hpp"

namespace candor::app {

namespace {

namespace po = boost::program_options;

constexpr const char* usage = R"(Usage: candor show OUT.h5 [TABLE] [options]
       candor show OUT.h5.journal [TABLE | --follow]

Without TABLE: an overview of the study. With TABLE: that table. Formats text, md and tex are for people:
rates as percentages, rounded. csv and json are for programs: as stored, every digit.
Of a journal: what is done, running and left of a study that is being run, or was ended; as the tables
stages, left and ranks too.

Examples:
  candor show results.h5
  candor show results.h5 findings --where encoder=rad-dino --columns finding,d,d_low,d_high
  candor show results.h5 cells --format csv > cells.csv
  candor show results.h5.journal --follow
  candor show results.h5.journal stages --format json
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
    // As completion writes the name of a folder.
    while (options.file.size() > 1 && options.file.ends_with('/')) options.file.pop_back();
    if (places.size() == 2) options.table = places[1];
    options.format = report::parse_format(format);
    for (const std::string& text : where) options.where.push_back(report::parse_condition(text));
    for (const std::string& text : columns) {
        for (std::string& name : split_text(text, ',')) options.columns.push_back(std::move(name));
    }
    if (options.follow && !is_journal(options.file)) options.file += ".journal";
    if (options.follow && (!options.table.empty() || options.list || options.format != report::Format::text))
        throw UsageError("--follow", "goes with no table and no format");
    if (options.table.empty()) {
        if (!where.empty() || !columns.empty()) {
            throw UsageError(where.empty() ? "--columns" : "--where",
                             "name the table: candor show " + options.file + " TABLE");
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

/// What tables are taken from: a results file, or a journal.
struct Tables {
    std::vector<std::string> names;
    std::function<store::ResultTable(const std::string&)> read;
};

Tables tables_of(const store::ResultsReader& results) {
    return {results.tables(), [&](const std::string& name) { return results.table(name); }};
}

Tables tables_of(const std::vector<store::ResultTable>& tables) {
    std::vector<std::string> names;
    for (const store::ResultTable& table : tables) names.push_back(table.name);
    return {names, [&](const std::string& name) {
                return *std::ranges::find(tables, name, &store::ResultTable::name);
            }};
}

store::ResultTable list_tables(const Tables& tables) {
    return store::table_of("tables", tables.names, [&](store::TableRows& rows, const std::string& name) {
        const store::ResultTable table = name.empty() ? store::ResultTable() : tables.read(name);
        std::vector<std::string> columns;
        for (const store::Column& column : table.columns) columns.push_back(column.name);
        rows.put("table", name);
        rows.put("rows", table.rows());
        rows.put("columns", join_text(columns, ","));
    });
}

store::ResultTable chosen_table(const Tables& tables, const ShowOptions& options) {
    if (std::ranges::find(tables.names, options.table) == tables.names.end()) {
        const std::string near = nearest_name(options.table, tables.names);
        throw UsageError(options.file, "has no table \"" + options.table + "\"" +
                                           (near.empty() ? "" : ", did you mean \"" + near + "\"?") +
                                           "; it has " + join_text(tables.names, ", "));
    }
    const store::ResultTable whole = tables.read(options.table);
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
    const auto print = [&](const Tables& tables) {
        write_output(report::format_table(options.list ? list_tables(tables) : chosen_table(tables, options),
                                          options.format));
    };
    const bool one_table = options.list || !options.table.empty();
    if (is_journal(options.file)) {
        if (one_table) {
            const std::vector<store::ResultTable> tables = journal_tables(options.file);
            print(tables_of(tables));
            return 0;
        }
        const Log log(options.quiet ? Verbosity::quiet : Verbosity::normal, true);
        options.follow ? follow_journal(options.file, log) : show_journal(options.file);
        return 0;
    }
    const store::ResultsReader results(options.file);
    if (one_table) {
        print(tables_of(results));
    } else {
        write_output(report::format_overview(read_overview(results), terminal_width()));
    }
    return 0;
}

}  // namespace candor::app
