#include "candor/app/plan_command.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <optional>

#include "candor/app/mpi_main.hpp"
#include "candor/app/options.hpp"
#include "candor/base/duration.hpp"
#include "candor/base/error.hpp"
#include "candor/base/log.hpp"
#include "candor/base/text.hpp"
#include "candor/bench/machine_rates.hpp"
#include "candor/campaign/forecast.hpp"
#include "candor/campaign/machine_rates.hpp"
#include "candor/campaign/plan_tables.hpp"
#include "candor/campaign/planned_study.hpp"
#include "candor/campaign/stages.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/report/table_format.hpp"

namespace candor::app {

namespace po = boost::program_options;

namespace {

constexpr const char* usage = R"(Usage: candor plan STUDY.toml [TABLE] [options]

Says what `candor run` will take on 1, 2, 4, ... 4,096 ranks: it plays the schedule of a run, reading the study, its
tables and the headers of its feature files, and no feature. Tables: work, stages (at --ranks), scaling; without TABLE
all of them, and where more ranks stop to pay. Without --profile it measures this machine first, some seconds long.

Examples:
  candor bench --profile machine.toml
  candor plan chest.toml --ranks 64 --profile machine.toml
  candor plan chest.toml scaling --profile machine.toml --format csv > scaling.csv
)";

constexpr int most_ranks = 4096;
const std::vector<std::string> table_names{"work", "stages", "scaling"};

struct Options {
    std::string study, table, profile;
    std::vector<std::string> overrides;
    report::Format format = report::Format::text;
    int ranks = 1;
    Verbosity verbosity = Verbosity::normal;
    bool help = false;
};

Options parse_options(const std::vector<std::string>& arguments) {
    Options options;
    bool quiet = false, verbose = false;
    std::string format;
    po::options_description known;
    known.add_options()  //
        ("ranks", count_value("--ranks", options.ranks),
         "tell the stages at this many ranks (default: 1)")  //
        ("profile", file_value("--profile", options.profile),
         "what candor bench --profile wrote on the machine of the run")                                //
        ("format", po::value(&format)->default_value("text"), "of TABLE: text, csv, json, md or tex")  //
        ("set", po::value(&options.overrides)->composing()->value_name("SECTION.KEY=VALUE"),
         "override a key of the study file; may be given several times")  //
        ("quiet", po::bool_switch(&quiet), "warnings and errors only")    //
        ("verbose", po::bool_switch(&verbose), "say what is being done")  //
        ("help", po::bool_switch(&options.help), "this text");
    const std::vector<std::string> places = parse_arguments("plan", arguments, known, 2);
    if (options.help) {
        print_help(usage, known);
        return options;
    }
    if (places.empty()) throw UsageError("candor plan", "name a study file: candor plan STUDY.toml");
    options.study = places[0];
    options.format = report::parse_format(format);
    if (places.size() == 2) {
        options.table = places[1];
        if (std::ranges::find(table_names, options.table) == table_names.end()) {
            const std::string near = nearest_name(options.table, table_names);
            throw UsageError("candor plan", "has no table \"" + options.table + "\"" +
                                                (near.empty() ? "" : ", did you mean \"" + near + "\"?") +
                                                "; it has " + join_text(table_names, ", "));
        }
    } else if (options.format != report::Format::text) {
        throw UsageError("--format", "is of one table; name it: " + join_text(table_names, ", "));
    }
    options.verbosity = quiet ? Verbosity::quiet : verbose ? Verbosity::verbose : Verbosity::normal;
    return options;
}

std::vector<int> rank_counts(int asked) {
    std::vector<int> counts{asked};
    for (int ranks = 1; ranks <= most_ranks; ranks *= 2) counts.push_back(ranks);
    std::ranges::sort(counts);
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    return counts;
}

std::string headline(const Options& options, const campaign::MachineRates& rates,
                     const campaign::Forecast& asked) {
    return "On " + std::to_string(asked.ranks) + (asked.ranks == 1 ? " rank" : " ranks") +
           " of one thread: about " + duration_text(asked.elapsed) + ", " + duration_text(asked.cpu_seconds) +
           " of processors, " + std::to_string((asked.memory >> 20) + 1) +
           " MiB a rank (with --memory at least " + std::to_string((asked.least_memory >> 20) + 1) +
           " MiB), balance " + format_fixed(100 * asked.balance, 1) + " %.\nTimes " +
           (options.profile.empty() ? "as just measured here (" : "from " + options.profile + " (") +
           rates.machine +
           "), files read from memory; waiting for disks and the network comes on top. Features along few\n"
           "directions, as trained encoders give, take less than said here, down to half of the search.\n";
}

void plan(const parallel::Communicator& world, const Options& options) {
    if (world.size() > 1) {
        throw UsageError("candor plan",
                         "plays all ranks in one process; start it without mpirun and srun, and name their "
                         "number by --ranks");
    }
    const double start = campaign::processor_seconds();
    const Log log(options.verbosity, true);
    linalg::open_blas();
    std::optional<campaign::MachineRates> rates;
    if (!options.profile.empty()) rates = campaign::read_rates(options.profile);
    const campaign::PlannedStudy study =
        campaign::plan_study_mpi(world, options.study, options.overrides, log);
    if (!rates) {
        log.info("measuring this machine; candor bench --profile FILE does it once for all");
        rates = bench::measure_rates(world, start, log);
    }
    log.detail("playing the schedule");
    campaign::Player player(study, *rates);
    std::vector<campaign::Forecast> forecasts;
    for (const int ranks : rank_counts(options.ranks)) forecasts.push_back(player.play(ranks));
    const campaign::Forecast& asked =
        *std::ranges::find(forecasts, options.ranks, &campaign::Forecast::ranks);
    const std::vector<store::ResultTable> tables{campaign::work_table(study, player),
                                                 campaign::stages_table(asked),
                                                 campaign::scaling_table(forecasts)};
    std::string text;
    for (const store::ResultTable& table : tables) {
        if (table.name == options.table) return write_output(report::format_table(table, options.format));
        text += "== " + table.name + "\n" + report::format_table(table, report::Format::text) + "\n";
    }
    text += headline(options, *rates, asked);
    for (const std::string& line : campaign::scaling_warnings(forecasts)) text += "warning: " + line + "\n";
    write_output(text);
}

}  // namespace

int plan_command(const std::vector<std::string>& arguments) {
    const Options options = parse_options(arguments);
    if (options.help) return 0;
    return mpi_main([&](const parallel::Communicator& world) { plan(world, options); });
}

}  // namespace candor::app
