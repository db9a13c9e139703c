#include "candor/campaign/work.hpp"

#include <algorithm>
#include <map>

namespace candor::campaign {

namespace {

void add_cell(TaskWork& work, study::Cell cell) {
    work.first_case.push_back(work.cases);
    if (cell.scored()) work.cases += static_cast<std::int64_t>(cell.queries.size());
    work.cells.push_back(std::move(cell));
}

bool anything_asks(const study::Pool& pool, const study::Context& context) {
    return std::ranges::any_of(context.rows,
                               [&](PoolRow row) { return pool.asks[static_cast<std::size_t>(row.value)]; });
}

/// Datasets of the task that have a reference, by the reference.
std::map<std::size_t, std::vector<std::size_t>> askers_by_reference(const study::Study& study,
                                                                    const study::Task& task) {
    std::map<std::size_t, std::vector<std::size_t>> askers;
    for (const std::size_t d : task.datasets) {
        const std::string& reference = study.datasets[d].reference;
        if (reference.empty()) continue;
        const auto at = std::ranges::find(study.datasets, reference, &study::Dataset::id);
        askers[static_cast<std::size_t>(at - study.datasets.begin())].push_back(d);
    }
    return askers;
}

bool is_in(const std::vector<std::size_t>& list, std::int32_t dataset) {
    return std::ranges::find(list, static_cast<std::size_t>(dataset)) != list.end();
}

/// Labelled rows of `askers` whose own context has no scored cell of `finding` for want of answers.
std::vector<bool> falling_back(const TaskWork& work, std::size_t finding,
                               const std::vector<std::size_t>& askers) {
    const study::Pool& pool = work.pool;
    std::vector<bool> lacking(work.pool.contexts.size());
    for (const study::Cell& cell : work.cells) {
        if (static_cast<std::size_t>(cell.finding) != finding || cell.pooled_reference || cell.scored())
            continue;
        // Where only the positives to ask for are missing the reference would score the cell.
        const bool nothing_asked = cell.positives > 0 && cell.negatives > 0 && cell.queries.empty();
        lacking[static_cast<std::size_t>(cell.context)] = !nothing_asked;
    }
    std::vector<bool> falls(pool.image.size());
    for (std::size_t i = 0; i < falls.size(); ++i) {
        falls[i] = pool.asks[i] && pool.labels[finding][i] >= 0 &&
                   lacking[static_cast<std::size_t>(pool.context[i])] && is_in(askers, pool.dataset[i]);
    }
    return falls;
}

/// The context of all rows of `reference` and of those who ask it, made when it is first asked for.
const study::Context& whole_reference(const study::Study& study, TaskWork& work, std::size_t reference,
                                      const std::vector<std::size_t>& askers) {
    const std::size_t references = askers_by_reference(study, study.tasks[work.task]).size();
    const std::string name = std::string(study::pooled_reference_name) +
                             (references == 1 ? "" : " / " + study.datasets[reference].id);
    const auto at = std::ranges::find(work.contexts, name, &study::Context::name);
    if (at != work.contexts.end()) return *at;
    study::Context whole{static_cast<std::int32_t>(work.contexts.size()), name, {}};
    for (std::size_t i = 0; i < work.pool.image.size(); ++i) {
        const bool of_reference = static_cast<std::size_t>(work.pool.dataset[i]) == reference;
        if (of_reference || is_in(askers, work.pool.dataset[i]))
            whole.rows.emplace_back(static_cast<std::int64_t>(i));
    }
    return work.contexts.emplace_back(std::move(whole));
}

/// Adds the cell of `finding` that asks the whole reference for what its own contexts cannot answer.
void add_pooled_cell(const study::Study& study, const study::Task& task, TaskWork& work, std::size_t finding,
                     std::size_t reference, const std::vector<std::size_t>& askers) {
    const std::vector<bool> falls = falling_back(work, finding, askers);
    std::map<std::int32_t, std::int64_t> rows;  // by dataset
    for (std::size_t i = 0; i < falls.size(); ++i) {
        if (falls[i]) ++rows[work.pool.dataset[i]];
    }
    if (rows.empty()) return;
    const study::Context& whole = whole_reference(study, work, reference, askers);
    study::Cell cell = study::make_cell(study, task, work.pool, whole, static_cast<std::int32_t>(finding),
                                        work.rules, falls);
    cell.pooled_reference = true;
    for (const auto& [dataset, count] : rows) {
        work.pool.exclusions.push_back(
            {study.datasets[static_cast<std::size_t>(dataset)].id,
             std::string("own context not scored, ") +
                 (cell.scored() ? "asked of the whole reference" : "nor can the whole reference be asked"),
             task.findings[finding], count});
    }
    add_cell(work, std::move(cell));
}

void add_lists(const study::Study& study, TaskWork& work) {
    if (study.test.permutations == 0) return;
    for (const study::Cell& cell : work.cells) {
        work.listed.push_back(list_cell(
            study, work.pool, work.contexts[static_cast<std::size_t>(cell.context)], cell, work.pool.asks));
    }
    for (std::int64_t first = 0; first < instruments::wide_draws; first += instruments::worlds_a_word) {
        work.quarters.push_back(instruments::draw_patients(
            study.seed, study.tasks[work.task].id, std::ssize(work.pool.patients), instruments::wide_share,
            first, std::min(instruments::worlds_a_word, instruments::wide_draws - first)));
    }
}

}  // namespace

TaskWork make_work(const study::Study& study, std::size_t task_position, study::Pool pool) {
    const study::Task& task = study.tasks[task_position];
    TaskWork work;
    work.task = task_position;
    work.pool = std::move(pool);
    work.contexts = study::contexts_of(work.pool);
    work.rules = study::rules_of(study, work.pool);
    const auto askers = askers_by_reference(study, task);
    for (std::size_t f = 0; f < task.findings.size(); ++f) {
        for (std::size_t c = 0; c < work.pool.contexts.size(); ++c) {
            if (!anything_asks(work.pool, work.contexts[c])) continue;
            add_cell(work, study::make_cell(study, task, work.pool, work.contexts[c],
                                            static_cast<std::int32_t>(f), work.rules, work.pool.asks));
        }
        for (const auto& [reference, datasets] : askers)
            add_pooled_cell(study, task, work, f, reference, datasets);
    }
    add_lists(study, work);
    return work;
}

std::optional<std::string> why_nothing_is_scored(const study::Study& study, const TaskWork& work) {
    if (std::ranges::any_of(work.cells, &study::Cell::in_figures)) return std::nullopt;
    const auto own = std::ranges::find_if(work.cells, [](const study::Cell& c) { return !c.scored(); });
    const std::string reason = own == work.cells.end() ? "its contexts are none of its reference's"
                                                       : "first: " + *own->candidates.front().unscored;
    return "no cell of task \"" + study.tasks[work.task].id + "\" can be scored (" + reason + ")";
}

TaskWork merge_contexts(const study::Study& study, const TaskWork& matched) {
    const study::Task& task = study.tasks[matched.task];
    TaskWork work;
    work.task = matched.task;
    work.pool = matched.pool;
    work.pool.contexts = {"(merged)"};
    std::ranges::fill(work.pool.context, 0);
    work.contexts = study::contexts_of(work.pool);
    work.rules = {matched.rules.front()};
    for (std::size_t f = 0; f < task.findings.size(); ++f) {
        std::vector<bool> asks(work.pool.image.size());
        for (const study::Cell& cell : matched.cells) {
            if (static_cast<std::size_t>(cell.finding) != f || !cell.in_figures()) continue;
            const study::Context& context = matched.contexts[static_cast<std::size_t>(cell.context)];
            for (std::int64_t q = 0; q < cell.positive_queries; ++q) {
                const ContextRow query = cell.queries[static_cast<std::size_t>(q)];
                asks[static_cast<std::size_t>(context.rows[static_cast<std::size_t>(query.value)].value)] =
                    true;
            }
        }
        add_cell(work, study::make_cell(study, task, work.pool, work.contexts.front(),
                                        static_cast<std::int32_t>(f), work.rules, asks));
    }
    return work;
}

}  // namespace candor::campaign
