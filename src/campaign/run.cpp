#include "candor/campaign/run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "candor/base/duration.hpp"
#include "candor/base/error.hpp"
#include "candor/base/memory.hpp"
#include "candor/base/text.hpp"
#include "candor/campaign/ablation_table.hpp"
#include "candor/campaign/association_tables.hpp"
#include "candor/campaign/blind_sets_mpi.hpp"
#include "candor/campaign/detection_mpi.hpp"
#include "candor/campaign/detection_work.hpp"
#include "candor/campaign/head_table_mpi.hpp"
#include "candor/campaign/head_work.hpp"
#include "candor/campaign/heads_mpi.hpp"
#include "candor/campaign/inference_mpi.hpp"
#include "candor/campaign/memory_budget.hpp"
#include "candor/campaign/permute.hpp"
#include "candor/campaign/record_mpi.hpp"
#include "candor/campaign/result_tables.hpp"
#include "candor/campaign/retention_mpi.hpp"
#include "candor/campaign/search_journal_mpi.hpp"
#include "candor/campaign/search_mpi.hpp"
#include "candor/campaign/selection_mpi.hpp"
#include "candor/campaign/stages.hpp"
#include "candor/campaign/training_work.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/parallel/session.hpp"
#include "candor/store/output_file.hpp"
#include "candor/store/output_lock.hpp"
#include "candor/store/results_file.hpp"

namespace candor::campaign {

namespace {

/// Says what is left out, one line a task and reason, so that the warnings after it are seen.
void tell_what_is_left_out(const Prepared& prepared, const Log& log) {
    const study::Study& study = prepared.inputs.study;
    for (std::size_t w = 0; w < prepared.work.size(); ++w) {
        const TaskWork& work = prepared.work[w];
        const std::string head = "task \"" + study.tasks[work.task].id + "\": ";
        std::map<std::string, std::pair<std::int64_t, int>> by_reason;  // rows, entries
        for (const study::Exclusion& one : work.pool.exclusions) {
            auto& [rows, entries] = by_reason[one.what];
            rows += one.rows;
            ++entries;
        }
        for (const auto& [what, sum] : by_reason) {
            log.info(head + std::to_string(sum.first) + (sum.first == 1 ? " row: " : " rows: ") + what +
                     "; " + std::to_string(sum.second) + (sum.second == 1 ? " entry" : " entries") +
                     " of the table exclusions");
        }
        std::map<std::string, std::int64_t> headless;
        for (const study::HeadRows& rows : prepared.heads[w]) {
            if (!rows.why_none.empty() && !study.heads.kinds.empty()) ++headless[rows.why_none];
        }
        for (const auto& [why, datasets] : headless) {
            log.info(head + "no heads in " + std::to_string(datasets) +
                     (datasets == 1 ? " dataset: " : " datasets: ") + why);
        }
        std::int64_t skipped = 0;
        for (const study::Cell& cell : work.cells) skipped += !cell.scored();
        if (skipped > 0) {
            log.info(head + std::to_string(skipped) + " of " + std::to_string(work.cells.size()) +
                     " (finding, context) cells are not scored; see the table skipped");
        }
    }
}

/// Says what a reader of the results must know before believing them.
void warn_of(const Prepared& prepared, const Log& log) {
    for (const FeatureReport& report : prepared.audit.reports) {
        if (report.by_position) {
            log.warning(report.file.path + " carries no ids: its rows were joined to the table by position");
        }
    }
    for (const std::string& note : prepared.erased.notes) log.warning(note);
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

/// All candidate rules, those that the study does not name behind those that it does.
void add_every_rule(study::Operator& op) {
    for (const study::Rule rule :
         {study::Rule::equal, study::Rule::distinct, study::Rule::literal, study::Rule::unequal}) {
        if (rule != op.candidates && std::ranges::find(op.also, rule) == op.also.end())
            op.also.push_back(rule);
    }
    op.also_is_set = true;
}

/// True where `output` is a finished results file of the same study and inputs, ablations likewise.
bool holds_these_results(const std::string& output, const study::Study& study, const std::string& inputs,
                         bool ablations) {
    try {
        const store::ResultsReader reader(output);
        return reader.attribute("/run", "study") == store::AttributeValue(study.effective) &&
               reader.attribute("/run", "inputs") == store::AttributeValue(inputs) &&
               reader.attribute("/run", "ablations") ==
                   store::AttributeValue(static_cast<std::int64_t>(ablations));
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
        if (const auto fault = why_nothing_is_scored(prepared.inputs.study, work))
            throw DataError({prepared.inputs.study.file}, *fault,
                            "candor check lists every cell with its reason");
    }
}

/// What was delivered to this rank to count, and on rank 0 the counts.
struct Searched {
    std::vector<Found> owned;
    Counted counted;
};

/// The work of a run beside its cells.
struct FurtherWork {
    study::Study study;              ///< training_study
    std::vector<TaskWork> training;  ///< training_work
    std::vector<TaskWork> merged;    ///< of --ablations: the cells with their contexts merged
};

/// Searches `work`. @param study  whose operator it is. @returns what was delivered to this rank to count
std::vector<Found> search_work_mpi(const parallel::Communicator& world, const Prepared& prepared,
                                   const study::Study& study, const std::vector<TaskWork>& work,
                                   const neighbors::SearchOptions& search, const SearchWatch& watch,
                                   SearchCost& cost) {
    Earlier earlier = watch.journal.earlier_mpi(world, watch.search, watch.log);
    const std::vector<std::int64_t> dimensions = prepared.audit.dimensions(study);
    if (world.rank() == 0) {
        const SearchPlan whole = list_search(study, work, dimensions, search);
        SearchAgenda agenda = agenda_of(study, work, whole);
        agenda.heads = std::ssize(head_jobs(prepared.inputs.study, prepared.work, prepared.heads));
        agenda.scores = std::ssize(detection_jobs(prepared.inputs.study, prepared.work, prepared.heads));
        watch.journal.announce(watch.search, std::move(agenda), world.size());
    }
    const SearchPlan plan = plan_search(study, work, dimensions, search, world.size(), earlier.done);
    return deliver_mpi(world, work,
                       search_mpi(world, study, work, plan, std::move(earlier),
                                  from_files(prepared.inputs, work), search, watch, cost),
                       counting_owners(study, work, world.size()));
}

neighbors::SearchOptions search_options(const SearchJournal& journal, int threads) {
    neighbors::SearchOptions search;
    search.block_rows = journal.block_rows();
    search.threads = threads;
    return search;
}

/// @param memory  bytes of the rank; 0: as many as it likes
Searched search_and_count_mpi(const parallel::Communicator& world, const Prepared& prepared,
                              const std::vector<TaskWork>& work, std::int64_t memory, int threads,
                              const SearchWatch& watch, SearchCost& cost, StageClock& clock) {
    const study::Study& study = prepared.inputs.study;
    const std::string suffix = watch.search == Search::merged ? ", contexts merged" : "";
    clock.begin("search" + suffix);
    Searched searched;
    neighbors::SearchOptions search = search_options(watch.journal, threads);
    if (memory > 0) search.memory = search_memory(world, {study, work, prepared.audit, search}, memory);
    searched.owned = search_work_mpi(world, prepared, study, work, search, watch, cost);
    clock.begin("permute" + suffix);
    permute(study, work, searched.owned, from_files(prepared.inputs, work), threads, watch.stop, watch.log);
    clock.begin("count" + suffix);
    searched.counted = count_mpi(world, study, work, searched.owned, threads, watch.stop, watch.log);
    return searched;
}

/// D among the rows that heads are trained on.
TrainingRates search_training_mpi(const parallel::Communicator& world, const Prepared& prepared,
                                  const FurtherWork& further, std::int64_t memory, int threads,
                                  const SearchWatch& watch, SearchCost& cost, StageClock& clock) {
    clock.begin("search, training rows");
    const auto& [study, training, merged] = further;
    neighbors::SearchOptions search = search_options(watch.journal, threads);
    if (memory > 0) search.memory = search_memory(world, {study, training, prepared.audit, search}, memory);
    return training_rates_mpi(world, study, training,
                              search_work_mpi(world, prepared, study, training, search, watch, cost));
}

/// The whole study again with its contexts merged (METHODS 12.7), beside what was counted with them matched.
/// Rank 0's table.
store::ResultTable ablate_mpi(const parallel::Communicator& world, const Prepared& prepared,
                              const std::vector<TaskWork>& merged, const Counted& counted,
                              std::int64_t memory, int threads, const SearchWatch& watch, SearchCost& cost,
                              StageClock& clock) {
    const study::Study& study = prepared.inputs.study;
    watch.log.detail("searching again without context match");
    const Searched searched =
        search_and_count_mpi(world, prepared, merged, memory, threads, watch, cost, clock);
    if (world.rank() != 0) return {};
    return ablation_table(study, prepared.work, counted, merged, searched.counted);
}

/// Before anything is searched: whether `memory` is enough for every part of the run.
void require_memory_for_all(const parallel::Communicator& world, const Prepared& prepared,
                            const FurtherWork& further, std::int64_t memory, int threads,
                            const neighbors::SearchOptions& search) {
    const study::Study& study = prepared.inputs.study;
    const FeatureAudit& audit = prepared.audit;
    const std::int64_t later = std::max(
        {head_memory(study, prepared.work, prepared.heads, audit.dimensions(study), world.size(), threads),
         least_memory({further.study, further.training, audit, search}, world.size()),
         least_memory({study, further.merged, audit, search}, world.size())});
    require_memory(memory, least_memory({study, prepared.work, audit, search}, world.size(), later));
}

}  // namespace

std::string name_of(const Program& program) {
    return program.version + " " + program.commit + (program.dirty ? " with changes" : "");
}

Prepared prepare_mpi(const parallel::Communicator& world, Inputs inputs, parallel::StopRequest& stop,
                     const Log& log) {
    Prepared prepared;
    prepared.inputs = std::move(inputs);
    const study::Study& study = prepared.inputs.study;
    std::vector<study::Pool> drafts;
    std::vector<std::vector<study::HeadRows>> heads;
    for (const study::Task& task : study.tasks) {
        drafts.push_back(study::draft_pool(study, task, prepared.inputs.tables));
        heads.push_back(study::draft_head_rows(study, task, prepared.inputs.tables));
    }

    log.detail("reading and checking the features");
    prepared.audit = audit_features_mpi(world, prepared.inputs, drafts, heads, stop);
    if (const auto problems = prepared.audit.problems(study); !problems.empty()) throw problems.front();
    prepared.erased = audit_erased_mpi(world, prepared.inputs, drafts, stop);
    if (const auto problems = prepared.erased.problems(study); !problems.empty()) throw problems.front();
    for (std::size_t t = 0; t < study.tasks.size(); ++t) {
        study::Pool pool = study::final_pool(study, study.tasks[t], drafts[t], prepared.audit.faults[t]);
        prepared.erased.count_exclusions(study, t, pool);
        prepared.heads.push_back(
            final_heads(prepared.inputs, study.tasks[t], heads[t], prepared.audit.head_faults[t], pool));
        prepared.work.push_back(make_work(study, t, std::move(pool)));
    }
    return prepared;
}

namespace {

/// Features are read again and again: results of files that were changed meanwhile would be of neither state,
/// and so may be all that the journal holds. Collective.
void require_unchanged_mpi(const parallel::Communicator& world, const Prepared& prepared,
                           SearchJournal& journal) {
    const std::string changed = parallel::on_root(world, [&] {
        std::vector<InputFile> files = prepared.erased.files;
        for (const FeatureReport& report : prepared.audit.reports) files.push_back(report.file);
        return first_changed(files);
    });
    if (changed.empty()) return;
    journal.remove(world);
    throw DataError({changed}, "was changed while the study was at work",
                    "nothing of this run is kept: leave the files alone and run the same command again");
}

/// @param opened gets the journal, once there is one.
void carry_out_mpi(const parallel::Communicator& world, const RunOptions& options,
                   parallel::StopRequest& stop, std::optional<SearchJournal>& opened, const Log& log) {
    RunRecord record;
    StageClock clock;
    record.start = utc_now();
    options.memory > 0 ? return_freed_memory() : keep_freed_memory();
    const int threads = parallel::choose_threads(world, options.threads);
    linalg::open_blas(threads);
    std::optional<store::OutputLock> lock;
    parallel::on_root(world, [&] {
        require_replaceable(options);
        lock.emplace(options.output, store::OutputLock::Part::holder);
        return std::string();
    });
    if (!lock) lock.emplace(options.output, store::OutputLock::Part::follower);

    Inputs inputs = load_inputs_mpi(world, options.study_file, options.overrides);
    if (options.ablations) add_every_rule(inputs.study.op);
    clock.begin("audit");
    const Prepared prepared = prepare_mpi(world, std::move(inputs), stop, log);
    const study::Study& study = prepared.inputs.study;
    record.inputs = describe_inputs(prepared);
    const JournalIdentity identity{name_of(options.program), study.effective, record.inputs,
                                   options.ablations};
    const std::string standing = parallel::on_root(world, [&]() -> std::string {
        if (options.overwrite || !std::filesystem::exists(options.output)) return {};
        if (holds_these_results(options.output, study, record.inputs, options.ablations)) {
            SearchJournal::remove_left(options.output, identity);
            return "done";
        }
        const bool otherwise = holds_these_results(options.output, study, record.inputs, !options.ablations);
        throw UsageError(options.output,
                         std::string(!otherwise ? "exists and holds something else than this study's results"
                                     : options.ablations ? "holds this study's results without --ablations"
                                                         : "holds this study's results with --ablations") +
                             "; name another output or give --overwrite");
    });
    if (!standing.empty()) {
        log.info(options.output + " already holds the results of this study and these inputs");
        stop.close();
        return;
    }
    require_some_cell(prepared);
    tell_what_is_left_out(prepared, log);
    warn_of(prepared, log);
    SearchJournal& journal =
        opened.emplace(world, options.output, identity, options.block_rows, options.overwrite, log);

    const std::vector<std::int64_t> dimensions = prepared.audit.dimensions(study);
    FurtherWork further{training_study(study), {}, {}};
    further.training = training_work(prepared.inputs, further.study, prepared.work, prepared.heads);
    if (options.ablations)
        for (const TaskWork& work : prepared.work) further.merged.push_back(merge_contexts(study, work));
    if (options.memory > 0)
        require_memory_for_all(world, prepared, further, options.memory, threads,
                               search_options(journal, threads));
    const Searched searched = search_and_count_mpi(world, prepared, prepared.work, options.memory, threads,
                                                   {journal, Search::matched, stop, log}, record.cost, clock);
    const Counted& counted = searched.counted;
    warn_of_ties(study, prepared.work, counted, log);

    clock.begin("overlap");
    BlindSetResults blind = blind_sets_mpi(world, study, prepared.work, searched.owned, threads, log);
    stop.rendezvous();
    clock.begin("retention");
    RetentionResults retention = retention_mpi(world, prepared.inputs, prepared.work, prepared.erased,
                                               searched.owned, threads, stop, log);
    clock.begin("heads");
    ResultJournal kept(journal);
    RecordedHeads recorded;
    recorded.trained = train_heads_mpi(world, study, prepared.work, prepared.heads, dimensions,
                                       heads_from_files(prepared.inputs, prepared.work, prepared.heads),
                                       threads, kept, stop, log);
    HeadResults heads = head_table_mpi(world, study, prepared.work, prepared.heads, recorded.trained,
                                       searched.owned, threads, stop, log);
    clock.begin("detection");
    recorded.scored =
        score_heads_mpi(world, study, prepared.work, prepared.heads, recorded.trained, dimensions,
                        scored_rows_from_files(prepared.inputs, prepared.work, prepared.heads), threads,
                        options.memory, kept, stop, log);
    DetectionTables detection =
        detection_mpi(world, study, prepared.work, prepared.heads, recorded.scored, threads, stop, log);
    std::erase_if(recorded.trained, [](const TrainedHead& head) { return head.job.member > 0; });
    const TrainingRates training =
        search_training_mpi(world, prepared, further, options.memory, threads,
                            {journal, Search::training, stop, log}, record.cost, clock);
    clock.begin("selection");
    store::ResultTable selection = selection_mpi(world, study, prepared.work, prepared.heads, recorded.scored,
                                                 training, threads, stop, log);
    store::ResultTable ablations;
    if (options.ablations)
        ablations = ablate_mpi(world, prepared, further.merged, counted, options.memory, threads,
                               {journal, Search::merged, stop, log}, record.cost, clock);
    // What is left takes seconds: a signal that comes now finds the study finished.
    stop.rendezvous();
    stop.close();

    require_unchanged_mpi(world, prepared, journal);
    clock.begin("tables");
    record.threads = threads;
    record.block_rows = journal.block_rows();
    record.memory = options.memory;
    record.program = options.program;
    record.ablations = options.ablations;
    RecordedResults results;
    if (world.rank() == 0) {
        RateTables rates = rate_tables(study, prepared.work, counted);
        std::vector<TestFamily> families = std::move(rates.families);
        const auto add = [&](store::ResultTable& table, std::vector<TestFamily>* more = nullptr) {
            results.tables.push_back(std::move(table));
            if (more != nullptr) families.insert(families.end(), more->begin(), more->end());
        };
        for (store::ResultTable& table : rates.tables) add(table);
        if (options.ablations) add(ablations);
        add(blind.overlap, &blind.families);
        add(blind.overlap_summary);
        add(blind.consensus);
        add(retention.table, &retention.families);
        add(heads.table);
        add(detection.detection, &detection.families);
        add(detection.risk_coverage);
        add(selection);
        AssociationTables associations = association_tables(
            study, prepared.work, counted, prepared.erased.boxes, retention.micro, heads.aurocs);
        add(associations.associations);
        add(associations.distances);
        add(associations.contrasts, &associations.families);
        results.tables.push_back(families_table(study, families));
        results.tables.push_back(skipped_table(study, prepared.work));
        results.tables.push_back(exclusions_table(study, prepared.work));
        results.blind_encoders = std::move(blind.blind_encoders);
    }
    clock.begin("write");
    record_mpi(world, options.output, prepared, results, searched.owned, recorded, record, clock, log);
    journal.remove(world);
    log.info("wrote " + options.output);
}

}  // namespace

void run_mpi(const parallel::Communicator& world, const RunOptions& options, const Log& log) {
    const auto start = std::chrono::steady_clock::now();
    parallel::StopRequest stop(world, options.stop_at);
    std::optional<SearchJournal> journal;
    try {
        carry_out_mpi(world, options, stop, journal, log);
    } catch (const parallel::Stopped& stopped) {
        std::int64_t kept[] = {journal && journal->has_kept() ? 1 : 0};
        world.maximum(kept);
        if (stopped.time_was_up() && kept[0] == 0) {
            const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
            log.warning(
                "nothing more could be finished in the " + duration_text(took.count()) +
                " allowed: with no more than that it will never be done; allow more time, or take more "
                "ranks");
        }
        throw;
    }
}

}  // namespace candor::campaign
