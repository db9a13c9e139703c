#include "candor/app/synth_command.hpp"

#include <cmath>

#include "candor/app/mpi_main.hpp"
#include "candor/app/options.hpp"
#include "candor/base/error.hpp"
#include "candor/base/log.hpp"
#include "candor/base/text.hpp"
#include "candor/parallel/session.hpp"
#include "candor/synth/write_mpi.hpp"

namespace candor::app {

namespace po = boost::program_options;

namespace {

constexpr double largest_scale = 1000;

double scale_of(const std::string& text) {
    const auto scale = parse_real(text);
    if (!scale || !(*scale > 0) || *scale > largest_scale) {
        throw UsageError("--scale " + text,
                         "must be a number above 0 and at most " + format_real(largest_scale));
    }
    return *scale;
}

std::uint64_t seed_of(const std::string& text) {
    const auto seed = parse_integer(text);
    if (!seed || *seed < 0) throw UsageError("--seed " + text, "must be a whole number from 0 on");
    return static_cast<std::uint64_t>(*seed);
}

}  // namespace

int synth_command(const std::vector<std::string>& arguments) {
    synth::SynthOptions synth;
    std::string scale = "1", seed = "42";
    int threads = 0;
    bool quiet = false, verbose = false, help = false;
    po::options_description options;
    options.add_options()  //
        ("shape", po::value(&synth.shape)->value_name("NAME"),
         "paper: 22 encoders, 20 datasets, 605,443 images; small: five of each, for a try")  //
        ("scale", po::value(&scale)->value_name("S"),
         "images of each dataset, as a multiple of the shape's (default: 1); at least 400 of each that has "
         "them")                                                                                        //
        ("output,o", po::value(&synth.folder)->value_name("DIR"), "the folder to write, new or empty")  //
        ("seed", po::value(&seed)->value_name("N"), "of all that is drawn (default: 42)")               //
        ("threads", count_value("--threads", threads),
         "threads a rank (default: the rank's share of the processors)")  //
        ("quiet", po::bool_switch(&quiet), "warnings and errors only")    //
        ("verbose", po::bool_switch(&verbose), "say what is being done")  //
        ("help", po::bool_switch(&help), "this text");
    const std::vector<std::string> places = parse_arguments("synth", arguments, options, 0);
    if (help) {
        print_help(
            "Usage: candor synth --shape NAME -o DIR [options]\n"
            "       mpirun -n RANKS candor synth --shape NAME -o DIR\n\n"
            "Writes a study of made images whose discordance rates are known: study.toml, tables, boxes, "
            "features,\n"
            "erased features, and planted.csv with the rates. The same bytes on any number of ranks and "
            "threads.\n"
            "study.toml comes last; ended before, the same command goes on with what is missing.\n",
            options);
        return 0;
    }
    if (synth.shape.empty()) throw UsageError("candor synth", "name a shape: --shape paper or --shape small");
    if (synth.folder.empty()) throw UsageError("candor synth", "name the folder to write: -o DIR");
    synth.scale = scale_of(scale);
    synth.seed = seed_of(seed);
    return mpi_main([&](const parallel::Communicator& world) {
        const Verbosity verbosity = quiet     ? Verbosity::quiet
                                    : verbose ? Verbosity::verbose
                                              : Verbosity::normal;
        synth.threads = parallel::choose_threads(world, threads);
        synth::write_study_mpi(world, synth, Log(verbosity, world.rank() == 0));
    });
}

}  // namespace candor::app
