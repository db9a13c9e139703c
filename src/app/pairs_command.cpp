#include "candor/app/pairs_command.hpp"

#include <boost/program_options.hpp>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "candor/app/mpi_main.hpp"
#include "candor/app/options.hpp"
#include "candor/base/error.hpp"
#include "candor/base/log.hpp"
#include "candor/base/text.hpp"
#include "candor/campaign/pairs_mpi.hpp"
#include "candor/parallel/session.hpp"
#include "candor/report/table_format.hpp"
#include "candor/store/output_file.hpp"

namespace candor::app {

namespace {

namespace po = boost::program_options;

constexpr const char* usage = R"(Usage: candor pairs OUT.h5 --close A --far B [options]
       mpirun -n RANKS candor pairs OUT.h5 --close A --far B

Lists pairs of images, one with a finding and one without it, that encoder A holds close and encoder B holds
far, for people who look at what A confuses. Reads the features of the study again. CSV, the best pair first.

The cosines of an encoder are standardised by mean and standard deviation over the opposite-label pairs of the
first 512 rows of each label of a (finding, context). A pair's score is the smaller of its z under A and minus
its z under B, and pairs with a score above 0 are listed.

Examples:
  candor pairs results.h5 --close clip --far dino > pairs.csv
  candor pairs results.h5 --close clip --far dino --finding Edema --close-above 0.95 --far-below 0.6
)";

constexpr const char* standard_output = "-";

struct Options {
    std::string results, study_file, output{standard_output};
    campaign::PairsQuestion question;
    int threads = 0;
    bool overwrite = false, quiet = false, verbose = false, help = false;
};

double parse_cosine(const std::string& option, const std::string& text) {
    const auto value = parse_real(text);
    if (!value || !(std::abs(*value) <= 1))
        throw UsageError(option + " " + text, "must be a cosine, -1 to 1");
    return *value;
}

std::int64_t parse_limit(const std::string& option, const std::string& text) {
    const auto value = parse_integer(text);
    if (!value || *value < 0) {
        throw UsageError(option + " " + text, "must be a whole number, at least 0; 0 sets no limit");
    }
    return *value;
}

Options parse_options(const std::vector<std::string>& arguments) {
    Options o;
    std::string top = "100", per_image = "1", close_above, far_below;
    po::options_description known;
    known.add_options()                                                                        //
        ("close", po::value(&o.question.close)->value_name("A"), "the encoder that confuses")  //
        ("far", po::value(&o.question.far)->value_name("B"), "the encoder that tells apart")   //
        ("task", po::value(&o.question.task)->value_name("ID"),
         "only this task (default: all that have both encoders)")  //
        ("finding", po::value(&o.question.findings)->value_name("ID")->composing(),
         "only this finding; may be given several times")  //
        ("context", po::value(&o.question.contexts)->value_name("NAME")->composing(),
         "only this context; may be given several times")                                    //
        ("top", po::value(&top)->value_name("M")->default_value(top), "most pairs; 0: all")  //
        ("per-image", po::value(&per_image)->value_name("K")->default_value(per_image),
         "most pairs of one positive image in a (finding, context), its best ones; 0: all")  //
        ("close-above", po::value(&close_above)->value_name("COSINE"),
         "also the plain cosine under A must be at least this")  //
        ("far-below", po::value(&far_below)->value_name("COSINE"),
         "also the plain cosine under B must be at most this")  //
        ("study", file_value("--study", o.study_file)->value_name("STUDY.toml"),
         "where the study file is now, if it moved; only its folder matters")  //
        ("output,o", file_value("--output", o.output)->value_name("FILE.csv"),
         "write there (default: standard output)")                                        //
        ("overwrite", po::bool_switch(&o.overwrite), "replace FILE.csv where it exists")  //
        ("threads", count_value("--threads", o.threads),
         "threads a rank (default: the rank's share of the processors)")    //
        ("quiet", po::bool_switch(&o.quiet), "warnings and errors only")    //
        ("verbose", po::bool_switch(&o.verbose), "say what is being done")  //
        ("help", po::bool_switch(&o.help), "this text");
    const std::vector<std::string> places = parse_arguments("pairs", arguments, known, 1);
    if (o.help) {
        print_help(usage, known);
        return o;
    }
    if (places.empty())
        throw UsageError("candor pairs", "name a results file: candor pairs OUT.h5 --close A --far B");
    if (o.question.close.empty())
        throw UsageError("candor pairs", "name the encoder that confuses: --close A");
    if (o.question.far.empty())
        throw UsageError("candor pairs", "name the encoder that tells apart: --far B");
    o.results = places[0];
    o.question.search.top = parse_limit("--top", top);
    o.question.search.per_positive = parse_limit("--per-image", per_image);
    if (!close_above.empty()) o.question.search.close_above = parse_cosine("--close-above", close_above);
    if (!far_below.empty()) o.question.search.far_below = parse_cosine("--far-below", far_below);
    return o;
}

/// How every list of pairs begins.
constexpr std::string_view list_begins = "rank,task,finding,context,positive_image,";

bool is_list_of_pairs(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::string first(list_begins.size(), '\0');
    in.read(first.data(), static_cast<std::streamsize>(first.size()));
    return in.gcount() == static_cast<std::streamsize>(first.size()) && first == list_begins;
}

/// --overwrite replaces a list of pairs and nothing else.
void require_writable(const Options& options) {
    store::require_output_name(options.output);
    if (!std::filesystem::exists(options.output)) return;
    if (!options.overwrite) {
        throw UsageError(options.output, "exists; name another output or give --overwrite");
    }
    if (!is_list_of_pairs(options.output)) {
        throw UsageError(options.output,
                         "is no list of pairs of candor, and --overwrite replaces nothing else; name another "
                         "output or remove it yourself");
    }
}

void write_file(const std::string& path, const std::string& text) {
    try {
        errno = 0;
        std::ofstream out(store::part_of(path), std::ios::binary | std::ios::trunc);
        out << text;
        out.close();
        if (!out) {
            throw MachineError(path,
                               std::string("cannot be written: ") + std::strerror(errno != 0 ? errno : EIO),
                               "check that the folder exists, its rights and its free space");
        }
        store::publish(path);
    } catch (...) {
        store::discard(path);
        throw;
    }
}

void list_pairs(const parallel::Communicator& world, Options options) {
    const Verbosity verbosity = options.quiet     ? Verbosity::quiet
                                : options.verbose ? Verbosity::verbose
                                                  : Verbosity::normal;
    parallel::on_root(world, [&] {
        if (options.output != standard_output) require_writable(options);
        return std::string();
    });
    options.question.search.threads = parallel::choose_threads(world, options.threads);
    const store::ResultTable table = campaign::pairs_mpi(world, options.results, options.study_file,
                                                         options.question, Log(verbosity, world.rank() == 0));
    if (world.rank() != 0) return;
    const std::string text = report::format_table(table, report::Format::csv);
    if (options.output == standard_output) {
        write_output(text);
    } else {
        write_file(options.output, text);
    }
}

}  // namespace

int pairs_command(const std::vector<std::string>& arguments) {
    const Options options = parse_options(arguments);
    if (options.help) return 0;
    return mpi_main([&](const parallel::Communicator& world) { list_pairs(world, options); });
}

}  // namespace candor::app
