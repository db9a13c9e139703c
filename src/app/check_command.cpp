#include "candor/app/check_command.hpp"

#include "candor/app/mpi_main.hpp"
#include "candor/app/options.hpp"
#include "candor/base/error.hpp"
#include "candor/base/log.hpp"
#include "candor/campaign/check.hpp"
#include "candor/report/table_format.hpp"

namespace candor::app {

namespace po = boost::program_options;

namespace {

std::string text_of(const campaign::CheckReport& report) {
    std::string text;
    for (const store::ResultTable& table : report.tables) {
        text += "== " + table.name + "\n";
        text += table.rows() == 0 ? "none\n" : report::format_table(table, report::Format::text);
        text += "\n";
    }
    for (const std::string& note : report.notes) text += "note: " + note + "\n";
    for (const std::string& problem : report.problems) text += "problem: " + problem + "\n";
    if (report.problems.empty()) text += "No input stands against a run.\n";
    return text;
}

}  // namespace

int check_command(const std::vector<std::string>& arguments) {
    CommonOptions common;
    po::options_description options;
    add_common(options, common);
    const std::vector<std::string> places = parse_arguments("check", arguments, options, 1);
    if (common.help) {
        print_help(
            "Usage: candor check STUDY.toml [options]\n"
            "       mpirun -n RANKS candor check STUDY.toml\n\n"
            "Reads every input of a study and prints what a run would use and what not, and why. Ends with 3 "
            "where\n"
            "something would make a result wrong.\n",
            options);
        return 0;
    }
    if (places.empty()) throw UsageError("candor check", "name a study file: candor check STUDY.toml");
    return mpi_main([&](const parallel::Communicator& world) {
        const Verbosity verbosity = common.verbose ? Verbosity::verbose : Verbosity::normal;
        const campaign::CheckReport report =
            campaign::check_mpi(world, places[0], common.overrides, Log(verbosity, world.rank() == 0));
        if (world.rank() == 0) write_output(text_of(report));
        if (report.problems.empty()) return;
        // All of them were printed with the report; the error line says how it ends.
        throw DataError({places[0]},
                        std::to_string(report.problems.size()) +
                            (report.problems.size() == 1 ? " problem stands" : " problems stand") +
                            " against a run",
                        "mend what the lines beginning with \"problem\" name");
    });
}

}  // namespace candor::app
