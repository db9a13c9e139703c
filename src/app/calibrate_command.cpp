#include "candor/app/calibrate_command.hpp"

#include <boost/program_options.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>

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
#include "candor/store/output_file.hpp"
#include "candor/store/results_file.hpp"

namespace candor::app {

namespace {

namespace po = boost::program_options;

constexpr const char* usage = R"(Usage: candor calibrate [-o OUT.h5] [--quick]
       mpirun -n RANKS candor calibrate -o OUT.h5

Proves on this machine that chance is one half, that tests hold their size, that intervals cover and that neighbours
are exact: a verdict a line, with what was expected, what was observed and the interval within which it passes.
Ends with 1 where a proof fails. Lines marked "shown" stand beside the others, for comparison.

--quick takes a minute; all of it about an hour of one core. The values are the same on any number of ranks.
)";

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

}  // namespace

int calibrate_command(const std::vector<std::string>& arguments) {
    std::string output;
    bool quick = false, quiet = false, help = false;
    int threads = 0;
    po::options_description options("Options");
    options.add_options()                                                                                 //
        ("output,o", po::value(&output)->value_name("OUT.h5"), "the verdicts as a table, in a new file")  //
        ("quick", po::bool_switch(&quick), "fewer of everything: a minute")                               //
        ("threads", po::value(&threads)->value_name("N"), "threads of a rank (default: its processors)")  //
        ("quiet", po::bool_switch(&quiet), "no messages but errors")                                      //
        ("help,h", po::bool_switch(&help), "this text");
    parse_arguments("calibrate", arguments, options, 0);
    if (help) {
        print_help(usage, options);
        return 0;
    }
    bool failed = false;
    const int code = mpi_main([&](const parallel::Communicator& world) {
        linalg::open_blas();
        parallel::on_root(world, [&] {
            if (!output.empty()) store::require_output_name(output);
            if (!output.empty() && std::filesystem::exists(output))
                throw UsageError(output, "exists; name another output or remove it yourself");
            return std::string();
        });
        const int these = parallel::choose_threads(world, threads);
        const Log log(quiet ? Verbosity::quiet : Verbosity::normal, world.rank() == 0);
        const auto proofs = calibration::all_proofs(quick);
        const auto verdicts = calibration::run_mpi(world, proofs, these, log);
        std::int64_t failures = 0;
        std::string text;
        for (const calibration::Verdict& verdict : verdicts) {
            failures += !verdict.passed();
            text += line_of(verdict);
        }
        if (world.rank() == 0) write_output(text);
        if (!output.empty()) {
            store::ResultsWriter writer(output, world);
            writer.attribute("/run", "format", std::string("candor calibration"));
            writer.attribute("/run", "version", program().version);
            writer.attribute("/run", "commit", program().commit);
            writer.attribute("/run", "quick", static_cast<std::int64_t>(quick));
            writer.table(world.rank() == 0 ? table_of(verdicts) : store::ResultTable{});
            writer.finish();
        }
        std::int64_t sum[] = {failures};
        world.sum(sum);
        failed = sum[0] > 0;
        if (failed) log.warning(std::to_string(sum[0]) + " verdicts failed");
    });
    return code != 0 ? code : failed ? 1 : 0;
}

}  // namespace candor::app
