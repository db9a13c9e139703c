#include "candor/app/calibrate_command.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "candor/app/mpi_main.hpp"
#include "candor/app/options.hpp"
#include "candor/app/program.hpp"
#include "candor/base/error.hpp"
#include "candor/base/log.hpp"
#include "candor/base/text.hpp"
#include "candor/calibration/proof.hpp"
#include "candor/campaign/rows.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/parallel/session.hpp"
#include "candor/report/draw.hpp"
#include "candor/report/drift_figure.hpp"
#include "candor/store/feature_file.hpp"
#include "candor/store/output_file.hpp"
#include "candor/store/results_file.hpp"

namespace candor::app {

namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

constexpr const char* usage = R"(Usage: candor calibrate [-o OUT.h5] [--quick] [--features FILE]...
       mpirun -n RANKS candor calibrate -o OUT.h5 --figure drift

Proves on this machine that chance is one half, that tests hold their size, that intervals cover and that neighbours
are exact: a verdict a line, with what was expected, what was observed and the interval within which it passes.
Ends with 1 where a proof fails. Lines marked "shown" stand beside the others, for comparison.

--quick takes less than a minute of one core; all of it about an hour. The values are the same on any number of ranks.
)";

struct Options {
    std::string output, figure;
    std::vector<std::string> features, only;
    bool quick = false, quiet = false, help = false;
    int threads = 0;
};

Options parse_options(const std::vector<std::string>& arguments) {
    Options options;
    po::options_description known("Options");
    known.add_options()  //
        ("output,o", po::value(&options.output)->value_name("OUT.h5"),
         "the verdicts and the drifts as tables, in a new file")                               //
        ("quick", po::bool_switch(&options.quick), "fewer of everything: less than a minute")  //
        ("features", po::value(&options.features)->value_name("FILE")->composing(),
         "shuffle labels over the rows of this feature file too; may be given again")  //
        ("only", po::value(&options.only)->value_name("PROOF")->composing(),
         "this proof alone, e.g. coverage; may be given again")  //
        ("figure", po::value(&options.figure)->value_name("NAME"),
         "chance under the candidate rules as NAME.svg and NAME.pdf, with NAME.csv and NAME.gp; not with "
         "--quick")  //
        ("threads", po::value(&options.threads)->value_name("N"),
         "threads of a rank (default: its processors)")                       //
        ("quiet", po::bool_switch(&options.quiet), "no messages but errors")  //
        ("help,h", po::bool_switch(&options.help), "this text");
    parse_arguments("calibrate", arguments, known, 0);
    if (options.help) print_help(usage, known);
    const bool drifts =
        !options.quick && (options.only.empty() || std::ranges::count(options.only, "drift") > 0);
    if (!drifts && !options.figure.empty())
        throw UsageError("--figure",
                         "shows the proof \"drift\", which neither --quick nor --only others makes");
    return options;
}

std::string line_of(const calibration::Verdict& verdict) {
    const auto number = [](double value) { return format_fixed(value, 4); };
    std::string text = !verdict.judged() ? "shown  " : verdict.passed() ? "pass   " : "FAIL   ";
    text += verdict.proof + ": " + verdict.what + ": expected " + number(verdict.expected) + ", observed " +
            number(verdict.observed);
    if (verdict.judged()) text += ", within " + number(verdict.low) + " to " + number(verdict.high);
    if (verdict.error > 0) text += " (standard error " + number(verdict.error) + ")";
    return text + "\n";
}

store::ResultTable table_of(const std::vector<calibration::Verdict>& verdicts) {
    campaign::Rows rows("calibration");
    for (const calibration::Verdict& verdict : verdicts) {
        rows.begin();
        rows.put("proof", verdict.proof);
        rows.put("what", verdict.what);
        rows.put("expected", verdict.expected);
        rows.put("observed", verdict.observed);
        rows.put("low", verdict.low);
        rows.put("high", verdict.high);
        rows.put("standard_error", verdict.error);
        rows.put("judged", verdict.judged());
        rows.put("passed", verdict.passed());
    }
    return rows.take();
}

store::ResultTable drifts_of(const std::vector<calibration::Verdict>& verdicts) {
    campaign::Rows rows("drift");
    for (const calibration::Verdict& verdict : verdicts) {
        if (verdict.drift.rule.empty()) continue;
        rows.begin();
        rows.put("rule", verdict.drift.rule);
        rows.put("k", verdict.drift.k);
        rows.put("n", verdict.drift.n);
        rows.put("prevalence", verdict.drift.prevalence);
        rows.put("images", verdict.drift.images);
        rows.put("rate", verdict.observed);
        rows.put("standard_error", verdict.error);
    }
    return rows.take();
}

calibration::NamedFeatures read_features(const std::string& path) {
    const store::FeatureFile file(path);
    std::vector<FeatureRow> all;
    for (std::int64_t i = 0; i < file.rows(); ++i) all.emplace_back(i);
    calibration::NamedFeatures features{fs::path(path).filename().string(),
                                        Matrix<float>(file.rows(), file.dimension())};
    if (file.type() == store::ElementType::float64) {
        Matrix<double> rows(file.rows(), file.dimension());
        file.read(all, rows.view());
        for (std::int64_t i = 0; i < file.rows(); ++i)
            std::ranges::transform(rows.row(i), features.rows.row(i).begin(),
                                   [](double value) { return static_cast<float>(value); });
    } else {
        file.read(all, features.rows.view());
    }
    for (std::int64_t i = 0; i < file.rows(); ++i) {
        double square = 0;
        for (const float value : features.rows.row(i)) square += static_cast<double>(value) * value;
        if (!(square > 0) || !std::isfinite(square))
            throw DataError({path, i}, "a row holds NaN or Inf or is all zero",
                            "calibrate with features that a study would take");
    }
    if (file.rows() < 24) throw DataError({path}, "has fewer than 24 rows", "calibrate with more");
    return features;
}

void write_text(const std::string& path, const std::string& text) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    out.close();
    if (!out) throw MachineError(path, "cannot be written", "name a place that exists and can be written");
}

void write_figure(const std::string& path, const store::ResultTable& drift, const Log& log) {
    const fs::path place(path);
    const std::string name = place.filename().string();
    const std::string folder = place.parent_path().empty() ? "." : place.parent_path().string();
    const report::Figure figure = report::drift_figure(drift, name);
    write_text(path + ".csv", figure.data);
    write_text(path + ".gp", figure.script);
    const std::string fault = report::draw_figures(folder, {name});
    if (!fault.empty()) log.warning("figure: " + fault);
}

void require_new(const std::string& path) {
    if (fs::exists(path)) throw UsageError(path, "exists; name another output or remove it yourself");
}

}  // namespace

int calibrate_command(const std::vector<std::string>& arguments) {
    const Options options = parse_options(arguments);
    if (options.help) return 0;
    bool failed = false;
    const int code = mpi_main([&](const parallel::Communicator& world) {
        linalg::open_blas();
        parallel::on_root(world, [&] {
            if (!options.output.empty()) {
                store::require_output_name(options.output);
                require_new(options.output);
            }
            for (const char* ending : {".csv", ".gp", ".svg", ".pdf"}) {
                if (!options.figure.empty()) require_new(options.figure + ending);
            }
            return std::string();
        });
        calibration::Scope scope{options.quick, {}, options.only};
        for (const std::string& path : options.features) scope.features.push_back(read_features(path));
        const int threads = parallel::choose_threads(world, options.threads);
        const Log log(options.quiet ? Verbosity::quiet : Verbosity::normal, world.rank() == 0);
        const auto proofs = calibration::all_proofs(scope);
        const auto verdicts = calibration::run_mpi(world, proofs, threads, log);
        std::int64_t failures[] = {0};
        std::string text;
        for (const calibration::Verdict& verdict : verdicts) {
            failures[0] += !verdict.passed();
            text += line_of(verdict);
        }
        const bool root = world.rank() == 0;
        if (root) write_output(text);
        if (!options.output.empty()) {
            store::ResultsWriter writer(options.output, world);
            writer.attribute("/run", "version", program().version);
            writer.attribute("/run", "commit", program().commit);
            writer.attribute("/run", "quick", static_cast<std::int64_t>(options.quick));
            writer.table(root ? table_of(verdicts) : store::ResultTable{});
            if (const store::ResultTable drifts = drifts_of(verdicts);
                std::ranges::any_of(proofs, [](const calibration::Proof& p) { return p.name == "drift"; }))
                writer.table(root ? drifts : store::ResultTable{});
            writer.finish();
        }
        if (root && !options.figure.empty()) write_figure(options.figure, drifts_of(verdicts), log);
        world.sum(failures);
        failed = failures[0] > 0;
        if (failed) log.warning(std::to_string(failures[0]) + " verdicts failed");
    });
    return code != 0 ? code : failed ? 1 : 0;
}

}  // namespace candor::app
