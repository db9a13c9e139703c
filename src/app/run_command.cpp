#include "candor/app/run_command.hpp"

#include "candor/app/mpi_main.hpp"
#include "candor/app/options.hpp"
#include "candor/app/program.hpp"
#include "candor/app/stop_at.hpp"
#include "candor/base/error.hpp"
#include "candor/base/log.hpp"
#include "candor/base/memory.hpp"
#include "candor/campaign/run.hpp"
#include "candor/parallel/stop.hpp"

namespace candor::app {

namespace po = boost::program_options;

int run_command(const std::vector<std::string>& arguments) {
    parallel::note_signals();  // before MPI starts, which takes its time
    campaign::RunOptions run;
    run.stop_at = before_slurm_ends();
    CommonOptions common;
    po::options_description options;
    options.add_options()                                                                        //
        ("output,o", po::value(&run.output)->value_name("OUT.h5"), "the results file to write")  //
        ("overwrite", po::bool_switch(&run.overwrite), "replace OUT.h5 where it exists")         //
        ("ablations", po::bool_switch(&run.ablations),
         "also without context match and under every candidate rule: the table ablations")  //
        ("memory", po::value<std::string>()->value_name("SIZE")->notifier([&run](const std::string& size) {
            run.memory = parse_bytes(size);
            if (run.memory <= 0)
                throw UsageError("--memory " + size, "must be a size of more than nothing, e.g. 512M or 2G");
        }),
         "most memory of a rank, e.g. 2G; features are then read again and again where they do not fit")  //
        ("time-limit", time_limit_value(run.stop_at),
         "stop in good time before so much has passed, e.g. 90s, 30m, 2h or 1:30:00, keep what is finished "
         "and "
         "end with code 75 (default: what Slurm allows the job)")  //
        ("block",
         count_value("--block", run.block_rows)
             ->value_name("ROWS")
             ->default_value(std::to_string(run.block_rows)),
         "rows of a block of similarities; changes speed and memory, never a result");
    add_common(options, common);
    const std::vector<std::string> places = parse_arguments("run", arguments, options, 1);
    if (common.help) {
        print_help(
            "Usage: candor run STUDY.toml -o OUT.h5 [options]\n"
            "       mpirun -n RANKS candor run STUDY.toml -o OUT.h5\n\n"
            "Carries out a study. The results are the same bits on any number of ranks and threads.\n"
            "Ended before its time, the same command goes on where it was, from OUT.h5.journal. On SIGUSR1,\n"
            "SIGTERM and SIGINT it keeps what is finished within seconds and ends with code 75.\n",
            options);
        return 0;
    }
    if (places.empty()) throw UsageError("candor run", "name a study file: candor run STUDY.toml -o OUT.h5");
    if (run.output.empty()) throw UsageError("candor run", "name the results file: -o OUT.h5");
    run.study_file = places[0];
    run.overrides = common.overrides;
    run.threads = common.threads;
    run.program = program();
    return mpi_main([&](const parallel::Communicator& world) {
        const Verbosity verbosity = common.quiet     ? Verbosity::quiet
                                    : common.verbose ? Verbosity::verbose
                                                     : Verbosity::normal;
        campaign::run_mpi(world, run, Log(verbosity, world.rank() == 0));
    });
}

}  // namespace candor::app
