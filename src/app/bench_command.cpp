#include "candor/app/bench_command.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "candor/app/mpi_main.hpp"
#include "candor/app/options.hpp"
#include "candor/base/error.hpp"
#include "candor/base/log.hpp"
#include "candor/base/memory.hpp"
#include "candor/base/sum.hpp"
#include "candor/base/text.hpp"
#include "candor/bench/benchmarks.hpp"
#include "candor/bench/census.hpp"
#include "candor/bench/machine_rates.hpp"
#include "candor/campaign/machine_rates.hpp"
#include "candor/campaign/stages.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/neighbors/tile_scan.hpp"
#include "candor/parallel/session.hpp"
#include "candor/report/table_format.hpp"
#include "candor/store/feature_file.hpp"

namespace candor::app {

namespace {

namespace po = boost::program_options;

constexpr const char* usage = R"(Usage: candor bench [FEATURES] [options]

Times candor's kernels on this machine in turns with what they are made of, and prints the ratios: below 1 candor
is the faster. Seconds are medians over the rounds, of one processor; those of the benchmark `threads` are on the
wall. The neighbour searches stand beside the bare sgemm calls of the same BLAS that a search per label needs.

With FEATURES (HDF5 or .npy, float16 or float32, 1,000 rows or more): only how fast the neighbours of its rows are
found, up to 20,000 of them, findings made up.

Examples:
  candor bench
  candor bench chexpert-raddino.h5 --rounds 3
  candor bench --only cell-1024,auroc --json
  candor bench --profile machine.toml

With --profile FILE: instead, what each piece of a run takes here on one thread, for candor plan --profile FILE.
)";

struct Options {
    std::string features, profile;
    std::vector<std::string> only;
    bool overwrite = false;
    int rounds = 0, threads = 0;
    bool json = false, quiet = false, help = false;
};

Options parse_options(const std::vector<std::string>& arguments) {
    Options options;
    std::vector<std::string> only;
    po::options_description known;
    known.add_options()                                                           //
        ("only", po::value(&only)->value_name("A,B")->composing(), "only these")  //
        ("rounds", count_value("--rounds", options.rounds),
         "rounds of each (default: 1 or 3, so that all take a minute)")  //
        ("threads", count_value("--threads", options.threads),
         "threads of the benchmark `threads` (default: the processors here)")  //
        ("profile", file_value("--profile", options.profile),
         "measure what candor plan needs to know of this machine, some seconds long, and write it")  //
        ("overwrite", po::bool_switch(&options.overwrite), "replace the profile where it exists")    //
        ("json", po::bool_switch(&options.json), "for programs: an array of objects")                //
        ("quiet", po::bool_switch(&options.quiet), "do not say what is being measured")              //
        ("help", po::bool_switch(&options.help), "this text");
    const std::vector<std::string> places = parse_arguments("bench", arguments, known, 1);
    if (options.help) {
        print_help(usage, known);
        return options;
    }
    if (!places.empty()) options.features = places[0];
    if (!options.profile.empty() &&
        (!places.empty() || !only.empty() || options.rounds > 0 || options.threads > 0 || options.json))
        throw UsageError("--profile", "measures by itself; give neither features nor other options with it");
    if (options.overwrite && options.profile.empty())
        throw UsageError("--overwrite", "is of --profile FILE alone");
    std::vector<std::string> names;
    for (const bench::Benchmark& one : bench::benchmarks()) {
        if (options.features.empty() || one.takes_features) names.emplace_back(one.name);
    }
    for (const std::string& text : only) {
        for (const std::string& name : split_text(text, ',')) {
            if (std::ranges::find(names, name) == names.end()) {
                throw UsageError("--only " + name,
                                 std::string("no such benchmark") +
                                     (options.features.empty() ? "" : " of a feature file") + "; there are " +
                                     join_text(names, ", "));
            }
            options.only.push_back(name);
        }
    }
    return options;
}

Matrix<float> read_features(const std::string& path) {
    const store::FeatureFile file(path);
    if (file.type() == store::ElementType::float64) {
        throw DataError({path}, "holds float64 features", "candor bench measures float16 and float32");
    }
    constexpr std::int64_t least = 1000;  // a finding at 1 % has ten of them
    if (file.rows() < least) {
        throw DataError({path}, "has " + std::to_string(file.rows()) + " rows",
                        "measuring takes at least " + std::to_string(least));
    }
    std::vector<FeatureRow> rows;
    for (std::int64_t i = 0; i < std::min(file.rows(), bench::census_rows); ++i) rows.emplace_back(i);
    Matrix<float> values(std::ssize(rows), file.dimension());
    file.read(rows, values.view());
    for (std::int64_t i = 0; i < values.rows(); ++i) {
        const std::span<const float> row = std::as_const(values).row(i);
        if (const double length = norm(row); !(length > 0 && std::isfinite(length))) {
            throw DataError({.file = path, .row = i}, "is all zeros or holds NaN or infinity",
                            "candor check lists such rows of a study");
        }
    }
    return values;
}

store::ResultTable table_of(const std::vector<bench::Measurement>& measurements) {
    store::ResultTable table;
    auto &name = table.texts("name"), &work = table.texts("work"), &peer = table.texts("peer");
    auto &seconds = table.reals("seconds"), &peer_seconds = table.reals("peer_seconds");
    auto &ratio = table.reals("ratio"), &low = table.reals("ratio_low"), &high = table.reals("ratio_high");
    auto& rounds = table.integers("rounds");
    for (const bench::Measurement& one : measurements) {
        name.push_back(one.name);
        work.push_back(one.work);
        peer.push_back(one.peer);
        seconds.push_back(bench::median(one.seconds));
        peer_seconds.push_back(bench::median(one.peer_seconds));
        ratio.push_back(one.ratio());
        low.push_back(one.lowest());
        high.push_back(one.highest());
        rounds.push_back(std::ssize(one.seconds));
    }
    return table;
}

/// A profile replaces nothing but another profile.
void require_profile_name(const Options& options) {
    if (!std::filesystem::exists(options.profile)) return;
    if (!options.overwrite)
        throw UsageError(options.profile, "exists; name another file or give --overwrite");
    if (std::filesystem::is_regular_file(options.profile) && campaign::is_rates_file(options.profile)) return;
    throw UsageError(options.profile,
                     "is no profile of candor bench, and --overwrite replaces nothing else; name another "
                     "file or remove it yourself");
}

void write_profile(const parallel::Communicator& world, const Options& options, const Log& log) {
    const double start = campaign::processor_seconds();
    require_profile_name(options);
    campaign::require_writable_rates(options.profile);
    log.info("measuring what the pieces of a run take");
    campaign::write_rates(options.profile, bench::measure_rates(world, start, log));
    log.info("wrote " + options.profile);
}

void run_benchmarks(const parallel::Communicator& world, const Options& options) {
    if (world.size() > 1)
        throw UsageError("candor bench",
                         "measures one process; start it without mpirun and srun, or with -n 1");
    const Log log(options.quiet ? Verbosity::quiet : Verbosity::normal, true);
    keep_freed_memory();  // as a run does
    linalg::open_blas();
    if (!options.profile.empty()) return write_profile(world, options, log);
    std::optional<Matrix<float>> features;
    if (!options.features.empty()) features = read_features(options.features);
    const bench::Setting setting{parallel::choose_threads(world, options.threads),
                                 features ? &*features : nullptr};
    std::vector<bench::Measurement> measurements;
    for (const bench::Benchmark& one : bench::benchmarks()) {
        if (features && !one.takes_features) continue;
        if (!options.only.empty() && std::ranges::find(options.only, one.name) == options.only.end())
            continue;
        log.info(std::string("measuring ") + one.name);
        measurements.push_back(one.run(setting, options.rounds > 0 ? options.rounds : one.rounds));
    }
    std::string text = report::format_table(table_of(measurements),
                                            options.json ? report::Format::json : report::Format::text);
    if (!options.json) {
        text += "\nBLAS " + linalg::blas_description() + ", kernel " + linalg::blas_core() + "; vectors " +
                neighbors::vector_target() + "\n";
    }
    write_output(text);
}

}  // namespace

int bench_command(const std::vector<std::string>& arguments) {
    const Options options = parse_options(arguments);
    if (options.help) return 0;
    return mpi_main([&](const parallel::Communicator& world) { run_benchmarks(world, options); });
}

}  // namespace candor::app
