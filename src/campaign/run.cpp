#include "candor/campaign/run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/campaign/inference_mpi.hpp"
#include "candor/campaign/record_mpi.hpp"
#include "candor/campaign/result_tables.hpp"
#include "candor/campaign/search_mpi.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/parallel/session.hpp"
#include "candor/store/output_file.hpp"
#include "candor/store/output_lock.hpp"
#include "candor/store/results_file.hpp"

namespace candor::campaign {

namespace {

/// Says what a reader of the results must know before believing them.
void warn_of(const Prepared& prepared, const Log& log) {
    for (const FeatureReport& report : prepared.audit.reports) {
        if (report.by_position) {
            log.warning(report.file.path + " carries no ids: its rows were joined to the table by position");
        }
    }
    const study::Study& study = prepared.inputs.study;
    for (std::size_t d = 0; d < study.datasets.size(); ++d) {
        const study::Table& table = prepared.inputs.tables[d];
        if (!prepared.inputs.uses(d) || table.has_patient_column) continue;
        log.warning(table.file + " has no column \"" + study.datasets[d].columns.patient +
                    "\": each image counts as its own patient");
    }
    if (static_cast<double>(study.bootstrap.resamples) * (1 - study.bootstrap.confidence) < 2) {
        log.warning(std::to_string(study.bootstrap.resamples) + " resamples are too few for intervals of " +
                    format_real(100 * study.bootstrap.confidence) + " %");
    }
    for (const TaskWork& work : prepared.work) {
        const std::string& task = study.tasks[work.task].id;
        if (work.pool.repeats_patients && work.rules.front() != study::Rule::distinct) {
            log.warning("task \"" + task + "\": patients have several images, so rule \"" +
                        std::string(study::name_of(work.rules.front())) +
                        "\" is not calibrated; read it beside \"distinct\" in the table rules");
        }
        for (const study::Exclusion& one : work.pool.exclusions) {
            log.info("task \"" + task + "\": " + std::to_string(one.rows) + " rows of \"" + one.dataset +
                     "\": " + one.what + (one.detail.empty() ? "" : " (" + one.detail + ")"));
        }
        std::int64_t skipped = 0;
        for (const study::Cell& cell : work.cells) skipped += !cell.scored();
        if (skipped > 0) {
            log.info("task \"" + task + "\": " + std::to_string(skipped) + " of " +
                     std::to_string(work.cells.size()) +
                     " (finding, context) cells are not scored; see the table skipped");
        }
    }
}

void warn_of_ties(const study::Study& study, const std::vector<TaskWork>& work, const Counted& counted,
                  const Log& log) {
    for (const FindingResult& result : counted.findings) {
        const std::int64_t ties = result.tally.observed.ties, queries = result.tally.observed.queries;
        if (result.rule != 0 || 100 * ties <= queries) continue;
        const study::Task& task = study.tasks[work[result.work].task];
        log.warning(
            "task \"" + task.id + "\", encoder \"" + study.encoders[task.encoders[result.encoder]].id +
            "\", finding \"" + task.findings[result.finding] +
            "\": " + format_fixed(100.0 * static_cast<double>(ties) / static_cast<double>(queries), 1) +
            " % of its positives are ties; read rate_mid rather than d");
    }
}

/// Feature columns of each encoder of the study.
std::vector<std::int64_t> dimensions_of(const study::Study& study, const FeatureAudit& audit) {
    std::map<std::string, std::int64_t> by_id;
    for (const FeatureReport& report : audit.reports) by_id.emplace(report.encoder, report.dimension);
    std::vector<std::int64_t> dimensions;
    for (const study::Encoder& encoder : study.encoders) {
        const auto at = by_id.find(encoder.id);
        dimensions.push_back(at == by_id.end() ? 0 : at->second);
    }
    return dimensions;
}

/// True where `output` is a finished results file of the same study and inputs.
bool holds_these_results(const std::string& output, const study::Study& study, const std::string& inputs) {
    try {
        const store::ResultsReader reader(output);
        return reader.attribute("/run", "study") == store::AttributeValue(study.effective) &&
               reader.attribute("/run", "inputs") == store::AttributeValue(inputs);
    } catch (const Error&) {
        return false;
    }
}

/// --overwrite replaces results and nothing else: not the study's own inputs, whatever links lead to them.
void require_replaceable(const RunOptions& options) {
    store::require_output_name(options.output);
    if (!options.overwrite || !std::filesystem::exists(options.output)) return;
    try {
        const store::ResultsReader standing(options.output);
    } catch (const Error&) {
        throw UsageError(options.output,
                         "is no results file of candor, and --overwrite replaces nothing else; name another "
                         "output or remove it yourself");
    }
}

void require_some_cell(const Prepared& prepared) {
    for (const TaskWork& work : prepared.work) {
        if (work.cases > 0) continue;
        const study::Task& task = prepared.inputs.study.tasks[work.task];
        const std::string reason = work.cells.empty()
                                       ? "its pool is empty"
                                       : "first: " + *work.cells.front().candidates.front().unscored;
        throw DataError({prepared.inputs.study.file},
                        "no cell of task \"" + task.id + "\" can be scored (" + reason + ")",
                        "candor check lists every cell with its reason");
    }
}

}  // namespace

Prepared prepare_mpi(const parallel::Communicator& world, const std::string& study_file,
                     const std::vector<std::string>& overrides, const Log& log) {
    Prepared prepared;
    prepared.inputs = load_inputs_mpi(world, study_file, overrides);
    const study::Study& study = prepared.inputs.study;
    std::vector<study::Pool> drafts;
    for (const study::Task& task : study.tasks)
        drafts.push_back(study::draft_pool(study, task, prepared.inputs.tables));

    log.detail("reading and checking the features");
    prepared.audit = audit_features_mpi(world, prepared.inputs, drafts);
    if (const auto problems = prepared.audit.problems(study); !problems.empty()) throw problems.front();
    for (std::size_t t = 0; t < study.tasks.size(); ++t) {
        prepared.work.push_back(make_work(
            study, t, study::final_pool(study, study.tasks[t], drafts[t], prepared.audit.faults[t])));
    }
    return prepared;
}

void run_mpi(const parallel::Communicator& world, const RunOptions& options, const Log& log) {
    RunRecord record;
    record.start = utc_now();
    linalg::open_blas();
    const int threads = parallel::choose_threads(world, options.threads);
    std::optional<store::OutputLock> lock;
    parallel::on_root(world, [&] {
        require_replaceable(options);
        lock.emplace(options.output, store::OutputLock::Part::holder);
        return std::string();
    });
    if (!lock) lock.emplace(options.output, store::OutputLock::Part::follower);

    const Prepared prepared = prepare_mpi(world, options.study_file, options.overrides, log);
    const study::Study& study = prepared.inputs.study;
    record.inputs = describe_inputs(prepared);
    const std::string standing = parallel::on_root(world, [&]() -> std::string {
        if (options.overwrite || !std::filesystem::exists(options.output)) return {};
        if (holds_these_results(options.output, study, record.inputs)) return "done";
        throw UsageError(options.output,
                         "exists and holds something else than this study's results; name another output "
                         "or give --overwrite");
    });
    if (!standing.empty()) {
        log.info(options.output + " already holds the results of this study and these inputs");
        return;
    }
    require_some_cell(prepared);
    warn_of(prepared, log);

    const std::vector<SearchItem> items =
        search_items(study, prepared.work, dimensions_of(study, prepared.audit));
    const std::vector<int> placed = place_items(items, prepared.work, world.size());
    const std::vector<Found> found = search_mine(prepared.inputs, prepared.work, items, placed, world.rank(),
                                                 {options.block_rows, threads}, log, record.cost);
    const std::vector<Found> owned =
        deliver_mpi(world, prepared.work, found, counting_owners(study, prepared.work, world.size()));
    const Counted counted = count_mpi(world, study, prepared.work, owned, threads, log);
    warn_of_ties(study, prepared.work, counted, log);

    record.threads = threads;
    record.block_rows = options.block_rows;
    record.program = options.program;
    const std::vector<store::ResultTable> tables =
        world.rank() == 0 ? result_tables(study, prepared.work, counted) : std::vector<store::ResultTable>();
    record_mpi(world, options.output, prepared, tables, found, record);
    log.info("wrote " + options.output);
}

}  // namespace candor::campaign
