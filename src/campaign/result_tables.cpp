#include "candor/campaign/result_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "candor/campaign/families.hpp"
#include "candor/campaign/rows.hpp"
#include "candor/instruments/panel.hpp"

namespace candor::campaign {

namespace {

using instruments::Counts;
using instruments::Estimate;
using instruments::LevelSummary;
using instruments::Tally;
using store::ResultTable;

void put_rate(Rows& rows, const LevelSummary& s) {
    rows.put("discordant", s.discordant);
    rows.put("ties", s.ties);
    put_estimate(rows, "d", "d_low", "d_high", s.d);
    rows.put("d_wide_low", s.d_wide.low);
    rows.put("d_wide_high", s.d_wide.high);
    rows.put("rate_mid", s.rate_mid);
    rows.put("n_boot_valid", s.d.valid);
    rows.put("n_wide_valid", s.d_wide.valid);
    rows.put("few_patients", s.few_patients);
    rows.put("all_equal", s.d.all_equal);
    rows.put("bound_low", s.bound_low);
    rows.put("bound_high", s.bound_high);
    rows.put("draw_sd", s.draw_sd);
    rows.put("excludes_half", s.excludes_half);
}

void put_auroc(Rows& rows, const LevelSummary& s) {
    put_estimate(rows, "margin_auroc", "margin_auroc_low", "margin_auroc_high", s.margin_auroc);
    rows.put("margin_auroc_wide_low", s.margin_auroc_wide.low);
    rows.put("margin_auroc_wide_high", s.margin_auroc_wide.high);
    rows.put("margin_auroc_n_boot_valid", s.margin_auroc.valid);
}

/// What the statistics are where labels say nothing, and the tests against it by rank.
void put_null(Rows& rows, const LevelSummary& s) {
    rows.put("null_mean", s.null.mean);
    rows.put("null_sd", s.null.sd);
    rows.put("rank_p", s.null.rank_p);
    rows.put("margin_null_mean", s.margin_null.mean);
    rows.put("margin_null_sd", s.margin_null.sd);
    rows.put("margin_rank_p", s.margin_null.rank_p);
}

void put_accuracy(Rows& rows, const LevelSummary& s) {
    put_estimate(rows, "margin_balanced_accuracy", "margin_balanced_accuracy_low",
                 "margin_balanced_accuracy_high", s.balanced_accuracy);
}

void put_cap(Rows& rows, const stats::Quartiles& cap, std::array<const char*, 3> names) {
    rows.put(names[0], cap.lower);
    rows.put(names[1], cap.median);
    rows.put(names[2], cap.upper);
}

std::string text_of(std::string_view view) {
    return std::string(view);
}

/// Patients of the positive queries of all scored cells that `wanted` takes.
template <class Wanted>
std::int64_t patients_of(const TaskWork& work, Wanted wanted) {
    std::set<std::int32_t> patients;
    for (const study::Cell& cell : work.cells) {
        if (!cell.in_figures() || !wanted(cell)) continue;
        for (std::int64_t q = 0; q < cell.positive_queries; ++q) {
            const ContextRow query = cell.queries[static_cast<std::size_t>(q)];
            const study::Context& context = work.contexts[static_cast<std::size_t>(cell.context)];
            const PoolRow row = context.rows[static_cast<std::size_t>(query.value)];
            patients.insert(work.pool.patient[static_cast<std::size_t>(row.value)]);
        }
    }
    return static_cast<std::int64_t>(patients.size());
}

/// What several tables say of one (finding) or (task): sums over its scored cells.
struct Sums {
    std::int64_t cells = 0, queries = 0, negative_queries = 0, patients = 0;
};

template <class Wanted>
Sums sums_of(const TaskWork& work, Wanted wanted) {
    Sums sums;
    for (const study::Cell& cell : work.cells) {
        if (!cell.in_figures() || !wanted(cell)) continue;
        ++sums.cells;
        sums.queries += cell.positive_queries;
        sums.negative_queries += static_cast<std::int64_t>(cell.queries.size()) - cell.positive_queries;
    }
    sums.patients = patients_of(work, wanted);
    return sums;
}

// ---- cells
// -------------------------------------------------------------------------------------------------------

void put_cell(Rows& rows, const study::Study& study, const TaskWork& work, const CellResult& result) {
    const study::Task& task = study.tasks[work.task];
    const study::Cell& cell = work.cells[result.cell];
    rows.begin();
    rows.put("task", task.id);
    rows.put("encoder", study.encoders[task.encoders[result.encoder]].id);
    rows.put("finding", task.findings[static_cast<std::size_t>(cell.finding)]);
    rows.put("context", work.contexts[static_cast<std::size_t>(cell.context)].name);
    rows.put("pooled_reference", cell.pooled_reference);
    rows.put("n_pos", cell.positives);
    rows.put("n_neg", cell.negatives);
    rows.put("n", cell.candidates.front().n);
    rows.put("queries", result.summary.queries);
    rows.put("negative_queries", result.summary.negative_queries);
    rows.put("patients", result.summary.patients);
    put_rate(rows, result.summary);
    put_auroc(rows, result.summary);
    put_accuracy(rows, result.summary);
    put_null(rows, result.summary);
    put_cap(rows, result.cap, {"cap_q1", "cap_median", "cap_q3"});
    put_cap(rows, result.cap1, {"cap1_q1", "cap1_median", "cap1_q3"});
}

ResultTable cells_table(const study::Study& study, const std::vector<TaskWork>& work,
                        const Counted& counted) {
    Rows rows("cells");
    for (const CellResult& result : counted.cells) {
        if (result.rule == 0) put_cell(rows, study, work[result.work], result);
    }
    return rows.take();
}

// ---- findings and families
// ---------------------------------------------------------------------------------------

struct FindingTables {
    Rows findings{"findings"};
    std::vector<TestFamily> families;
};

void put_findings_of_task(FindingTables& tables, const study::Study& study, const TaskWork& work,
                          const std::vector<const FindingResult*>& results) {
    const study::Task& task = study.tasks[work.task];
    const bool permuted = study.test.permutations > 0;
    TestFamily discordance = TestFamily::bootstrap("discordance against chance", task.id);
    TestFamily margin = TestFamily::bootstrap("margin AUROC against chance", task.id);
    if (permuted) {
        discordance.test = margin.test = "permutation";
        discordance.smallest_p = margin.smallest_p = 0;
    }
    for (const FindingResult* result : results) {
        if (permuted) {
            const LevelSummary summary = instruments::summarise(result->tally, 0, study.bootstrap.confidence);
            discordance.p.push_back(summary.null.p);
            margin.p.push_back(summary.margin_null.p);
            continue;
        }
        discordance.add(instruments::replicates(result->tally, &Counts::rate_mid), 0.5);
        margin.add(instruments::replicates(result->tally, &Counts::margin_auroc), 0.5);
    }
    const std::vector<Verdict> verdicts = discordance.verdicts(study.test.alpha);
    const std::vector<Verdict> margin_verdicts = margin.verdicts(study.test.alpha);

    for (std::size_t i = 0; i < results.size(); ++i) {
        const FindingResult& result = *results[i];
        const Sums sums = sums_of(work, [&](const study::Cell& cell) {
            return static_cast<std::size_t>(cell.finding) == result.finding;
        });
        LevelSummary summary =
            instruments::summarise(result.tally, sums.patients, study.bootstrap.confidence);
        summary.discordant = result.discordant;
        summary.ties = result.ties;
        Rows& rows = tables.findings;
        rows.begin();
        rows.put("task", task.id);
        rows.put("encoder", study.encoders[task.encoders[result.encoder]].id);
        rows.put("finding", task.findings[result.finding]);
        rows.put("contexts", sums.cells);
        rows.put("queries", sums.queries);
        rows.put("negative_queries", sums.negative_queries);
        rows.put("patients", sums.patients);
        put_rate(rows, summary);
        rows.put("test", discordance.test);
        put_verdict(rows, verdicts[i]);
        put_auroc(rows, summary);
        rows.put("margin_excludes_half", summary.margin_auroc.excludes_half());
        rows.put("margin_p", margin_verdicts[i].p);
        rows.put("margin_q", margin_verdicts[i].q);
        rows.put("margin_reject", margin_verdicts[i].reject);
        put_accuracy(rows, summary);
        put_null(rows, summary);
    }
    tables.families.push_back(std::move(discordance));
    tables.families.push_back(std::move(margin));
}

// ---- tasks and panels
// --------------------------------------------------------------------------------------------

/// The D of one encoder of a task, observed and resampled, micro and macro.
struct EncoderRates {
    instruments::Replicates micro, macro;
};

void put_task(Rows& rows, const study::Study& study, const TaskWork& work, std::size_t encoder,
              const std::string& level, std::size_t findings, const Sums& sums, LevelSummary summary,
              const std::vector<const FindingResult*>& results) {
    const study::Task& task = study.tasks[work.task];
    const study::Encoder& who = study.encoders[task.encoders[encoder]];
    for (const FindingResult* result : results) {
        summary.discordant += result->discordant;
        summary.ties += result->ties;
    }
    rows.begin();
    rows.put("task", task.id);
    rows.put("encoder", who.id);
    rows.put("level", level);
    rows.put("anchor", who.anchor);
    rows.put("findings", static_cast<std::int64_t>(findings));
    rows.put("queries", sums.queries);
    rows.put("patients", sums.patients);
    put_rate(rows, summary);
    put_auroc(rows, summary);
    put_accuracy(rows, summary);
}

void put_panel(Rows& rows, const study::Study& study, const study::Task& task, const std::string& level,
               const std::vector<instruments::Replicates>& rates) {
    static constexpr std::array<const char*, instruments::panel_statistics> names = {
        "best",  "median",     "median_without_anchor", "anchor", "highest",
        "range", "above_0.40", "best_below_half"};
    std::vector<bool> anchors;
    for (const std::size_t e : task.encoders) anchors.push_back(study.encoders[e].anchor);

    const auto at = [&](auto value_of) {
        std::vector<double> values;
        for (const instruments::Replicates& one : rates) values.push_back(value_of(one));
        return values;
    };
    const std::vector<double> observed = at([](const instruments::Replicates& r) { return r.observed; });
    const auto panel = instruments::summarise_panel(observed, anchors);
    std::array<instruments::Replicates, instruments::panel_statistics> all;
    for (std::size_t s = 0; s < all.size(); ++s) all[s].observed = panel[s];
    for (std::size_t b = 0; b < rates.front().resampled.size(); ++b) {
        const auto of_resample = instruments::summarise_panel(
            at([b](const instruments::Replicates& r) { return r.resampled[b]; }), anchors);
        for (std::size_t s = 0; s < all.size(); ++s) all[s].resampled.push_back(of_resample[s]);
    }

    const auto who_has = [&](std::size_t statistic) -> std::string {
        std::vector<std::string> who;
        for (std::size_t e = 0; e < observed.size(); ++e) {
            const bool is_anchor = names[statistic] == std::string_view("anchor");
            if (is_anchor ? anchors[e] : observed[e] == panel[statistic])
                who.push_back(study.encoders[task.encoders[e]].id);
        }
        return who.empty() ? std::string() : who.front();
    };
    for (std::size_t s = 0; s < all.size(); ++s) {
        const std::string_view name = names[s];
        const bool names_one = name == "best" || name == "highest" || name == "anchor";
        const Estimate e = instruments::estimate(all[s], study.bootstrap.confidence);
        rows.begin();
        rows.put("task", task.id);
        rows.put("level", level);
        rows.put("statistic", text_of(name));
        rows.put("encoder", names_one ? who_has(s) : std::string());
        rows.put("encoders", static_cast<std::int64_t>(rates.size()));
        put_estimate(rows, "value", "low", "high", e);
        rows.put("n_boot_valid", e.valid);
    }
}

struct TaskTables {
    Rows tasks{"tasks"}, panels{"panels"};
};

void put_task_level(TaskTables& tables, const study::Study& study, const TaskWork& work,
                    const std::vector<const FindingResult*>& results) {
    const study::Task& task = study.tasks[work.task];
    const Sums sums = sums_of(work, [](const study::Cell&) { return true; });
    std::vector<instruments::Replicates> micro, macro;
    std::map<std::size_t, std::int64_t> patients;  // by finding
    for (std::size_t e = 0; e < task.encoders.size(); ++e) {
        std::vector<const FindingResult*> mine;
        std::vector<Tally> tallies;
        std::vector<std::int64_t> of_findings;
        Tally together;
        for (const FindingResult* result : results) {
            if (result->encoder != e) continue;
            mine.push_back(result);
            tallies.push_back(result->tally);
            const auto [at, is_new] = patients.try_emplace(result->finding);
            if (is_new) {
                at->second = patients_of(work, [&](const study::Cell& cell) {
                    return std::cmp_equal(cell.finding, result->finding);
                });
            }
            of_findings.push_back(at->second);
            together += result->tally;
        }
        if (mine.empty()) continue;
        const double confidence = study.bootstrap.confidence;
        put_task(tables.tasks, study, work, e, "micro", mine.size(), sums,
                 instruments::summarise(together, sums.patients, confidence), mine);
        put_task(tables.tasks, study, work, e, "macro", mine.size(), sums,
                 instruments::summarise_mean(tallies, sums.patients, of_findings, confidence), mine);
        micro.push_back(instruments::replicates(together, &Counts::rate_mid));
        std::vector<instruments::Replicates> parts;
        for (const Tally& tally : tallies) parts.push_back(instruments::replicates(tally, &Counts::rate_mid));
        macro.push_back(instruments::mean_of(parts));
    }
    if (micro.size() != task.encoders.size()) return;  // no cell of the task is scored
    put_panel(tables.panels, study, task, "micro", micro);
    put_panel(tables.panels, study, task, "macro", macro);
}

// ---- rules
// -------------------------------------------------------------------------------------------------------

/// One line of `rules`: where, what was pooled, the rate.
struct RuleLine {
    std::string level, finding, context;
    std::size_t rule = 0;
    std::int64_t n_pos = 0, n_neg = 0, n = std::numeric_limits<std::int64_t>::max(), queries = 0;
    std::int64_t patients = 0;  // of the labelled rows, cell by cell

    void add(const study::Cell& cell, study::Rule which) {
        n_pos += cell.positives;
        n_neg += cell.negatives;
        patients += cell.patients;
        queries += cell.positive_queries;
        for (const study::Candidates& candidates : cell.candidates) {
            if (candidates.rule == which) n = std::min(n, candidates.n);
        }
    }
};

void put_rule(Rows& rows, const study::Study& study, const TaskWork& work, std::size_t encoder,
              const RuleLine& line, const LevelSummary& summary) {
    const study::Task& task = study.tasks[work.task];
    rows.begin();
    rows.put("task", task.id);
    rows.put("encoder", study.encoders[task.encoders[encoder]].id);
    rows.put("level", line.level);
    rows.put("finding", line.finding);
    rows.put("context", line.context);
    rows.put("rule", text_of(study::name_of(work.rules[line.rule])));
    rows.put("primary", line.rule == 0);
    rows.put("n_pos", line.n_pos);
    rows.put("n_neg", line.n_neg);
    rows.put("prevalence", static_cast<double>(line.n_pos) / static_cast<double>(line.n_pos + line.n_neg));
    rows.put("images_a_patient",
             static_cast<double>(line.n_pos + line.n_neg) / static_cast<double>(line.patients));
    rows.put("n", line.n);
    rows.put("queries", line.queries);
    rows.put("discordant", summary.discordant);
    rows.put("ties", summary.ties);
    put_estimate(rows, "d", "d_low", "d_high", summary.d);
    rows.put("rate_mid", summary.rate_mid);
    rows.put("n_boot_valid", summary.d.valid);
}

bool scores(const study::Cell& cell, study::Rule rule) {
    return cell.in_figures() && std::ranges::any_of(cell.candidates, [&](const study::Candidates& c) {
               return c.rule == rule && !c.unscored;
           });
}

void put_pooled_rule(Rows& rows, const study::Study& study, const TaskWork& work, std::size_t encoder,
                     const std::string& level, const std::string& finding, std::size_t rule,
                     const Tally& tally, std::int64_t discordant, std::int64_t ties,
                     const std::function<bool(const study::Cell&)>& wanted) {
    RuleLine line{level, finding, "", rule};
    for (const study::Cell& cell : work.cells) {
        if (scores(cell, work.rules[rule]) && wanted(cell)) line.add(cell, work.rules[rule]);
    }
    LevelSummary summary = instruments::summarise(tally, 0, study.bootstrap.confidence);
    summary.discordant = discordant;
    summary.ties = ties;
    put_rule(rows, study, work, encoder, line, summary);
}

ResultTable rules_table(const study::Study& study, const std::vector<TaskWork>& work,
                        const Counted& counted) {
    Rows rows("rules");
    for (const CellResult& result : counted.cells) {
        const TaskWork& here = work[result.work];
        const study::Cell& cell = here.cells[result.cell];
        RuleLine line{"cell", study.tasks[here.task].findings[static_cast<std::size_t>(cell.finding)],
                      here.contexts[static_cast<std::size_t>(cell.context)].name, result.rule};
        line.add(cell, here.rules[result.rule]);
        put_rule(rows, study, here, result.encoder, line, result.summary);
    }
    std::map<std::array<std::size_t, 3>, FindingResult> tasks;
    for (const FindingResult& result : counted.findings) {
        const TaskWork& here = work[result.work];
        put_pooled_rule(rows, study, here, result.encoder, "finding",
                        study.tasks[here.task].findings[result.finding], result.rule, result.tally,
                        result.discordant, result.ties, [&](const study::Cell& cell) {
                            return static_cast<std::size_t>(cell.finding) == result.finding;
                        });
        FindingResult& task = tasks[{result.work, result.encoder, result.rule}];
        task.tally += result.tally;
        task.discordant += result.discordant;
        task.ties += result.ties;
    }
    for (const auto& [key, task] : tasks) {
        put_pooled_rule(rows, study, work[key[0]], key[1], "task", "", key[2], task.tally, task.discordant,
                        task.ties, [](const study::Cell&) { return true; });
    }
    return rows.take();
}

}  // namespace

ResultTable skipped_table(const study::Study& study, const std::vector<TaskWork>& work) {
    ResultTable table{"skipped", {}};
    std::vector<std::string> task, finding, context, rule, reason;
    std::vector<std::int64_t> primary, n_pos, n_neg, n;
    for (const TaskWork& here : work) {
        const study::Task& of = study.tasks[here.task];
        for (const study::Cell& cell : here.cells) {
            for (const study::Candidates& candidates : cell.candidates) {
                if (!candidates.unscored || candidates.draw != 0) continue;
                task.push_back(of.id);
                finding.push_back(of.findings[static_cast<std::size_t>(cell.finding)]);
                context.push_back(here.contexts[static_cast<std::size_t>(cell.context)].name);
                rule.push_back(text_of(study::name_of(candidates.rule)));
                primary.push_back(candidates.rule == here.rules.front());
                n_pos.push_back(cell.positives);
                n_neg.push_back(cell.negatives);
                n.push_back(candidates.n);
                reason.push_back(*candidates.unscored);
            }
        }
    }
    table.columns = {{"task", task},       {"finding", finding}, {"context", context}, {"rule", rule},
                     {"primary", primary}, {"n_pos", n_pos},     {"n_neg", n_neg},     {"n", n},
                     {"reason", reason}};
    return table;
}

ResultTable exclusions_table(const study::Study& study, const std::vector<TaskWork>& work) {
    ResultTable table{"exclusions", {}};
    std::vector<std::string> task, dataset, what, detail;
    std::vector<std::int64_t> count;
    for (const TaskWork& here : work) {
        for (const study::Exclusion& one : here.pool.exclusions) {
            task.push_back(study.tasks[here.task].id);
            dataset.push_back(one.dataset);
            what.push_back(one.what);
            detail.push_back(one.detail);
            count.push_back(one.rows);
        }
    }
    table.columns = {
        {"task", task}, {"dataset", dataset}, {"what", what}, {"detail", detail}, {"rows", count}};
    return table;
}

RateTables rate_tables(const study::Study& study, const std::vector<TaskWork>& work, const Counted& counted) {
    FindingTables findings;
    TaskTables tasks;
    for (std::size_t w = 0; w < work.size(); ++w) {
        std::vector<const FindingResult*> results;
        for (const FindingResult& result : counted.findings) {
            if (result.work == w && result.rule == 0) results.push_back(&result);
        }
        put_findings_of_task(findings, study, work[w], results);
        put_task_level(tasks, study, work[w], results);
    }
    return {{cells_table(study, work, counted), findings.findings.take(), tasks.tasks.take(),
             tasks.panels.take(), rules_table(study, work, counted)},
            std::move(findings.families)};
}

}  // namespace candor::campaign
