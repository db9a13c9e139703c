#include "candor/campaign/check.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/campaign/audit.hpp"
#include "candor/campaign/erased_audit_mpi.hpp"
#include "candor/campaign/head_work.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/campaign/lines.hpp"
#include "candor/campaign/result_tables.hpp"
#include "candor/campaign/work.hpp"

namespace candor::campaign {

namespace {

using store::ResultTable;

std::string name_of_rules(const std::vector<study::Rule>& rules) {
    std::vector<std::string> names;
    for (const study::Rule rule : rules) names.emplace_back(study::name_of(rule));
    return join_text(names, ", ");
}

ResultTable pools_table(const study::Study& study, const std::vector<TaskWork>& work) {
    ResultTable table{"pools", {}};
    std::vector<std::string> task, rules;
    std::vector<std::int64_t> encoders, rows, patients, own, repeats, contexts, cells, scored;
    for (const TaskWork& here : work) {
        const study::Task& of = study.tasks[here.task];
        task.push_back(of.id);
        encoders.push_back(static_cast<std::int64_t>(of.encoders.size()));
        rows.push_back(here.pool.rows());
        patients.push_back(static_cast<std::int64_t>(here.pool.patients.size()));
        own.push_back(here.pool.own_patients);
        repeats.push_back(here.pool.repeats_patients);
        contexts.push_back(static_cast<std::int64_t>(here.pool.contexts.size()));
        cells.push_back(static_cast<std::int64_t>(here.cells.size()));
        scored.push_back(std::ranges::count_if(here.cells, &study::Cell::scored));
        rules.push_back(name_of_rules(here.rules));
    }
    table.columns = {{"task", task},
                     {"encoders", encoders},
                     {"rows", rows},
                     {"patients", patients},
                     {"images_without_patient", own},
                     {"repeats_patients", repeats},
                     {"contexts", contexts},
                     {"cells", cells},
                     {"cells_scored", scored},
                     {"rules", rules}};
    return table;
}

/// Counts of each finding's labels in the pool, as the tables state them and as the policy counts them.
ResultTable labels_table(const study::Study& study, const std::vector<TaskWork>& work) {
    ResultTable table{"labels", {}};
    std::vector<std::string> task, finding, uncertain_as, blank_as;
    std::vector<std::int64_t> stated[4], counted[2];
    for (const TaskWork& here : work) {
        const study::Task& of = study.tasks[here.task];
        for (std::size_t f = 0; f < of.findings.size(); ++f) {
            task.push_back(of.id);
            finding.push_back(of.findings[f]);
            uncertain_as.emplace_back(study::name_of(of.uncertain));
            blank_as.emplace_back(study::name_of(of.blank));
            const study::Label kinds[] = {study::Label::positive, study::Label::negative,
                                          study::Label::uncertain, study::Label::blank};
            for (std::size_t i = 0; i < std::size(kinds); ++i) {
                stated[i].push_back(std::ranges::count(here.pool.stated[f], kinds[i]));
            }
            counted[0].push_back(std::ranges::count(here.pool.labels[f], std::int8_t{1}));
            counted[1].push_back(std::ranges::count(here.pool.labels[f], std::int8_t{0}));
        }
    }
    table.columns = {{"task", task},
                     {"finding", finding},
                     {"stated_positive", stated[0]},
                     {"stated_negative", stated[1]},
                     {"uncertain", stated[2]},
                     {"uncertain_as", uncertain_as},
                     {"blank", stated[3]},
                     {"blank_as", blank_as},
                     {"positives", counted[0]},
                     {"negatives", counted[1]}};
    return table;
}

ResultTable splits_table(const Inputs& inputs) {
    ResultTable table{"splits", {}};
    std::vector<std::string> dataset, split;
    std::vector<std::int64_t> rows, patients, leaking;
    for (std::size_t d = 0; d < inputs.tables.size(); ++d) {
        if (!inputs.uses(d)) continue;
        const study::Table& of = inputs.tables[d];
        std::map<std::string, std::int64_t> leaks_of_split;
        for (const study::Leak& leak : study::find_leaks(inputs.study, inputs.tables, d)) {
            for (const std::string& one : leak.splits) ++leaks_of_split[one];
        }
        std::map<std::string, std::pair<std::int64_t, std::set<std::string>>> of_split;
        for (std::int64_t r = 0; r < of.rows(); ++r) {
            const auto at = static_cast<std::size_t>(r);
            auto& [count, ids] = of_split[of.split.empty() ? std::string() : of.split[at]];
            ++count;
            const std::string& patient = of.patient[at];
            ids.insert(patient.empty() ? "image " + of.image[at] : "patient " + patient);
        }
        for (const auto& [name, seen] : of_split) {
            dataset.push_back(inputs.study.datasets[d].id);
            split.push_back(of.split.empty() ? "(no split column)" : name);
            rows.push_back(seen.first);
            patients.push_back(static_cast<std::int64_t>(seen.second.size()));
            leaking.push_back(leaks_of_split[name]);
        }
    }
    table.columns = {{"dataset", dataset},
                     {"split", split},
                     {"rows", rows},
                     {"patients", patients},
                     {"patients_in_other_splits", leaking}};
    return table;
}

ResultTable features_table(const FeatureAudit& audit) {
    return table_of("features", audit.reports, [](Rows& rows, const FeatureReport& r) {
        rows.put("encoder", r.encoder);
        rows.put("dataset", r.dataset);
        rows.put("type", r.type);
        rows.put("rows", r.rows);
        rows.put("dimension", r.dimension);
        rows.put("joined_by", std::string(r.by_position ? "position" : "id"));
        rows.put("table_ids_without_features", r.missing);
        rows.put("feature_ids_without_table", r.extra);
        rows.put("nan_inf_or_zero_rows", r.bad);
        rows.put("norm_min", r.norm_high == 0 ? 0 : r.norm_low);
        rows.put("norm_max", r.norm_high);
    });
}

/// Erased files and what of them no task can use.
ResultTable erased_table(const ErasedAudit& audit) {
    return table_of("erased", audit.reports, [](Rows& rows, const ErasedReport& r) {
        rows.put("encoder", r.encoder);
        rows.put("dataset", r.dataset);
        rows.put("rows", r.rows);
        rows.put("dimension", r.dimension);
        rows.put("rows_of_unknown_images", r.unknown);
        rows.put("missing_regions", r.missing);
        rows.put("nan_inf_or_zero_rows", r.bad);
    });
}

/// What of a task's pool was erased under every encoder, and how much of that has a box.
struct Evidence {
    std::string task;
    EvidenceRegion region;
};

ResultTable evidence_table(const study::Study& study, const ErasedAudit& audit,
                           const std::vector<TaskWork>& work) {
    std::vector<Evidence> lines;
    for (const TaskWork& here : work) {
        for (EvidenceRegion& region : evidence_regions(study, here, audit))
            lines.push_back({study.tasks[here.task].id, std::move(region)});
    }
    return table_of("evidence", lines, [](Rows& rows, const Evidence& line) {
        const std::vector<double>& area = line.region.area;
        rows.put("task", line.task);
        rows.put("region", line.region.name);
        rows.put("images", std::ssize(line.region.rows));
        rows.put("boxes",
                 std::ssize(area) - std::ranges::count_if(area, [](double a) { return std::isnan(a); }));
    });
}

ResultTable duplicates_table(const study::Study& study, const std::vector<TaskWork>& work,
                             const std::vector<Duplicates>& duplicates) {
    ResultTable table{"duplicates", {}};
    std::vector<std::string> task, encoder, finding, first;
    std::vector<std::int64_t> rows, groups, within, across;
    std::size_t next = 0;
    for (const TaskWork& here : work) {
        const study::Task& of = study.tasks[here.task];
        for (std::size_t e = 0; e < of.encoders.size(); ++e, ++next) {
            const Duplicates& found = duplicates[next];
            for (std::size_t f = 0; f < of.findings.size(); ++f) {
                if (found.rows == 0) continue;
                task.push_back(found.task);
                encoder.push_back(found.encoder);
                finding.push_back(of.findings[f]);
                rows.push_back(found.rows);
                groups.push_back(found.groups);
                within.push_back(found.within_label[f]);
                across.push_back(found.across_labels[f]);
                first.push_back(join_text(found.first_ids, ", "));
            }
        }
    }
    table.columns = {{"task", task},
                     {"encoder", encoder},
                     {"finding", finding},
                     {"duplicate_rows", rows},
                     {"sets", groups},
                     {"sets_within_a_label", within},
                     {"sets_across_labels", across},
                     {"first_set", first}};
    return table;
}

ResultTable cells_to_score(const study::Study& study, const std::vector<TaskWork>& work) {
    ResultTable table{"cells", {}};
    std::vector<std::string> task, finding, context, rule, scored;
    std::vector<std::int64_t> n_pos, n_neg, patients_pos, patients_neg, n, queries, negative_queries;
    for (const TaskWork& here : work) {
        const study::Task& of = study.tasks[here.task];
        for (const study::Cell& cell : here.cells) {
            for (const study::Candidates& candidates : cell.candidates) {
                if (candidates.draw != 0) continue;
                task.push_back(of.id);
                finding.push_back(of.findings[static_cast<std::size_t>(cell.finding)]);
                context.push_back(here.contexts[static_cast<std::size_t>(cell.context)].name);
                rule.emplace_back(study::name_of(candidates.rule));
                n_pos.push_back(cell.positives);
                n_neg.push_back(cell.negatives);
                patients_pos.push_back(cell.positive_patients);
                patients_neg.push_back(cell.negative_patients);
                n.push_back(candidates.n);
                const bool yes = cell.scored() && !candidates.unscored;
                queries.push_back(yes ? cell.positive_queries : 0);
                const bool primary = candidates.rule == here.rules.front();
                negative_queries.push_back(yes && primary ? static_cast<std::int64_t>(cell.queries.size()) -
                                                                cell.positive_queries
                                                          : 0);
                scored.push_back(yes                   ? "yes"
                                 : candidates.unscored ? "no: " + *candidates.unscored
                                                       : "no: the primary rule does not score this cell");
            }
        }
    }
    table.columns = {{"task", task},
                     {"finding", finding},
                     {"context", context},
                     {"rule", rule},
                     {"n_pos", n_pos},
                     {"n_neg", n_neg},
                     {"patients_pos", patients_pos},
                     {"patients_neg", patients_neg},
                     {"n", n},
                     {"queries", queries},
                     {"negative_queries", negative_queries},
                     {"scored", scored}};
    return table;
}

/// Patients in several splits, as problems or notes.
void tell_leaks(const Inputs& inputs, CheckReport& report) {
    for (std::size_t d = 0; d < inputs.tables.size(); ++d) {
        if (!inputs.uses(d)) continue;
        std::vector<std::string> patients;
        for (const study::Leak& leak : study::find_leaks(inputs.study, inputs.tables, d))
            patients.push_back(leak.patient);
        if (!patients.empty()) {
            report.notes.push_back(inputs.tables[d].file + ": " + std::to_string(patients.size()) +
                                   " patients are in more than one split, first " + first_names(patients));
        }
    }
}

}  // namespace

CheckReport check_mpi(const parallel::Communicator& world, const std::string& study_file,
                      const std::vector<std::string>& overrides, const Log& log) {
    CheckReport report;
    Inputs inputs = load_inputs_mpi(world, study_file, overrides);
    tell_leaks(inputs, report);
    std::vector<study::Pool> drafts;
    std::vector<std::vector<study::HeadRows>> heads;
    for (const study::Task& task : inputs.study.tasks) {
        heads.push_back(study::draft_head_rows(inputs.study, task, inputs.tables));
        try {
            drafts.push_back(study::draft_pool(inputs.study, task, inputs.tables));
        } catch (const DataError& problem) {
            // Go on as if the study allowed it, so that one call shows everything there is to mend.
            report.problems.emplace_back(problem.what());
            study::Study lenient = inputs.study;
            lenient.pool.drop_leaks = true;
            drafts.push_back(study::draft_pool(lenient, task, inputs.tables));
        }
    }
    log.detail("reading and checking the features");
    parallel::StopRequest never;
    const FeatureAudit audit = audit_features_mpi(world, inputs, drafts, heads, never);
    for (const DataError& problem : audit.problems(inputs.study))
        report.problems.emplace_back(problem.what());
    const ErasedAudit erased = audit_erased_mpi(world, inputs, drafts, never);
    for (const DataError& problem : erased.problems(inputs.study))
        report.problems.emplace_back(problem.what());
    report.notes.insert(report.notes.end(), erased.notes.begin(), erased.notes.end());

    std::vector<TaskWork> work;
    for (std::size_t t = 0; t < drafts.size(); ++t) {
        study::Pool pool = study::final_pool(inputs.study, inputs.study.tasks[t], drafts[t], audit.faults[t]);
        erased.count_exclusions(inputs.study, t, pool);
        final_heads(inputs, inputs.study.tasks[t], heads[t], audit.head_faults[t], pool);
        work.push_back(make_work(inputs.study, t, std::move(pool)));
        if (const auto fault = why_nothing_is_scored(inputs.study, work.back()))
            report.problems.push_back(inputs.study.file + ": " + *fault);
        if (work.back().pool.repeats_patients && work.back().rules.front() != study::Rule::distinct) {
            report.notes.push_back(
                "task \"" + inputs.study.tasks[t].id +
                "\": patients have several images, so only rule \"distinct\" has chance at one half");
        }
    }
    const std::vector<Duplicates> duplicates = find_duplicates_mpi(world, inputs, audit, work);
    report.tables = {pools_table(inputs.study, work),
                     labels_table(inputs.study, work),
                     splits_table(inputs),
                     features_table(audit),
                     erased_table(erased),
                     evidence_table(inputs.study, erased, work),
                     duplicates_table(inputs.study, work, duplicates),
                     cells_to_score(inputs.study, work),
                     exclusions_table(inputs.study, work)};
    return report;
}

}  // namespace candor::campaign
