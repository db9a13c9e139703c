#include "candor/app/embed_command.hpp"

#include "candor/app/mpi_main.hpp"
#include "candor/app/options.hpp"
#include "candor/app/program.hpp"
#include "candor/app/stop_at.hpp"
#include "candor/base/error.hpp"
#include "candor/base/log.hpp"
#include "candor/base/text.hpp"
#include "candor/embed/embed_mpi.hpp"
#include "candor/parallel/stop.hpp"

namespace candor::app {

namespace po = boost::program_options;

namespace {

constexpr const char* usage = R"(Usage: candor embed RECIPE.toml [options]
       mpirun -n RANKS candor embed RECIPE.toml [options]

Makes the feature files of a study from images: RECIPE.toml names the study, where the images of its datasets
are, and what each of its encoders sees of them. Where a dataset has erased and boxes, features of the images
with the evidence filled in are made too. The rows are the same bits on any number of ranks and threads.
Ended before its time, the same command goes on where it was, from FILE.journal beside each feature file. On
SIGUSR1, SIGTERM and SIGINT it keeps what is finished within seconds and ends with code 75.
IDX files and the built-in encoders are always there; TorchScript, and PNG, JPEG, TIFF and DICOM images, where
candor was built with -DCANDOR_WITH_EMBED=ON (Debian: libtorch-dev and libopencv-imgcodecs-dev).
)";

}  // namespace

int embed_command(const std::vector<std::string>& arguments) {
    parallel::note_signals();  // before MPI starts, which takes its time
    embed::EmbedOptions embed;
    embed.stop_at = before_slurm_ends();
    std::string only, type = "float32", on_bad = "error";
    CommonOptions common;
    po::options_description options;
    options.add_options()  //
        ("only", po::value(&only)->value_name("A,B,C"),
         "encoders of the recipe, by their ids (default: all of them)")                         //
        ("type", po::value(&type)->value_name("TYPE"), "float16 or float32 (default) numbers")  //
        ("on-bad", po::value(&on_bad)->value_name("HOW"),
         "an image that cannot be encoded is an error (default), or with skip it is left out and listed in "
         "FILE.omitted.csv; a run then needs on_missing = \"intersect\"")                                   //
        ("overwrite", po::bool_switch(&embed.overwrite), "replace feature files that were made otherwise")  //
        ("time-limit", time_limit_value(embed.stop_at),
         "stop in good time before so much has passed, e.g. 90s, 30m, 2h or 1:30:00, keep what is finished "
         "and end with code 75 (default: what Slurm allows the job)");
    add_common(options, common);
    const std::vector<std::string> places = parse_arguments("embed", arguments, options, 1);
    if (common.help) {
        print_help(usage, options);
        return 0;
    }
    if (places.empty()) throw UsageError("candor embed", "name a recipe: candor embed RECIPE.toml");
    if (on_bad != "error" && on_bad != "skip") throw UsageError("--on-bad", "must be error or skip");
    const auto element = store::element_type_of(type);
    if (!element || *element == store::ElementType::float64)
        throw UsageError("--type", "must be float16 or float32");
    embed.recipe = places[0];
    embed.overrides = common.overrides;
    for (const std::string& id : split_text(only, ',')) {
        if (!id.empty()) embed.only.push_back(id);
    }
    embed.type = *element;
    embed.skip_bad = on_bad == "skip";
    embed.threads = common.threads;
    embed.program = campaign::name_of(program());
    return mpi_main([&](const parallel::Communicator& world) {
        const Verbosity verbosity = common.quiet     ? Verbosity::quiet
                                    : common.verbose ? Verbosity::verbose
                                                     : Verbosity::normal;
        embed::embed_mpi(world, embed, Log(verbosity, world.rank() == 0));
    });
}

}  // namespace candor::app
