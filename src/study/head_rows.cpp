#include "candor/study/head_rows.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "candor/base/hash.hpp"

namespace candor::study {

namespace {

enum class Part { none, training, validation, test };

constexpr std::string_view training_split = "train", validation_split = "val";
constexpr std::uint64_t validation_share = 10;  // of training patients: one in so many

bool contains(const std::vector<std::string>& list, std::string_view item) {
    return std::ranges::find(list, item) != list.end();
}

/// An image without a patient id is a patient of its own.
std::uint64_t patient_key(const Study& study, const Table& table, std::size_t row) {
    const std::string& patient = table.patient[row];
    return image_key(patient.empty() ? table.image[row] : patient, study.seed);
}

/// Where the shares of `[heads] split` put a patient: by the lower half of his key. The upper half orders the
/// rows, so that a pool which takes the first rows would have all of them from one part where each image is a
/// patient.
Part drawn_part(const Study& study, const Table& table, std::size_t row) {
    const double place = std::ldexp(static_cast<double>(patient_key(study, table, row) & 0xFFFFFFFF), -32);
    if (place < study.heads.split[0]) return Part::training;
    return place < study.heads.split[0] + study.heads.split[1] ? Part::validation : Part::test;
}

/// Why a dataset has no heads; empty where it has.
std::string why_none(const Study& study, const Task& task, std::size_t dataset, const Table& table) {
    if (study.heads.kinds.empty()) return "no kinds of heads are asked for";
    if (!study.datasets[dataset].reference.empty()) return "its rows only ask, of a reference";
    if (table.split.empty())
        return study.heads.split.empty() ? "it has no splits and [heads] split draws none" : "";
    if (contains(task.splits, training_split)) return "its split \"train\" is in the pool";
    if (contains(task.splits, validation_split)) return "its split \"val\" is in the pool";
    if (!contains(table.split, training_split)) return "it has no split \"train\"";
    return "";
}

void count(HeadRows& rows, const Study& study, const std::string& what, std::int64_t n) {
    if (n > 0) rows.exclusions.push_back({study.datasets[rows.dataset].id, "training: " + what, "", n});
}

void sort_by_key(const Study& study, const Table& table, std::vector<TableRow>& rows) {
    std::vector<std::pair<std::uint64_t, TableRow>> keyed;
    for (const TableRow row : rows)
        keyed.emplace_back(image_key(table.image[static_cast<std::size_t>(row.value)], study.seed), row);
    std::ranges::sort(keyed, {}, [&](const auto& one) {
        return std::tuple(one.first,
                          std::string_view(table.image[static_cast<std::size_t>(one.second.value)]));
    });
    std::ranges::transform(keyed, rows.begin(), &std::pair<std::uint64_t, TableRow>::second);
}

void fill_labels(const Task& task, const Table& table, HeadSide& side) {
    for (const std::string& finding : task.findings) {
        const std::vector<Label>& stated = table.labels.at(finding);
        std::vector<std::int8_t>& labels = side.labels.emplace_back();
        for (const TableRow row : side.rows)
            labels.push_back(apply_policy(task, stated[static_cast<std::size_t>(row.value)]));
    }
}

HeadRows draft_of(const Study& study, const Task& task, std::size_t dataset, std::span<const Table> tables) {
    const Table& table = tables[dataset];
    HeadRows draft;
    draft.dataset = dataset;
    draft.why_none = why_none(study, task, dataset, table);
    if (!draft.why_none.empty()) return draft;

    std::unordered_set<std::string_view> leaking;
    const std::vector<Leak> leaks = find_leaks(study, tables, dataset);
    for (const Leak& leak : leaks) leaking.insert(leak.patient);
    const bool has_validation = contains(table.split, validation_split);
    std::int64_t leaked = 0;
    for (std::size_t r = 0; r < table.image.size(); ++r) {
        Part part = Part::none;
        if (table.split.empty()) {
            part = drawn_part(study, table, r);
        } else if (table.split[r] == validation_split) {
            part = Part::validation;
        } else if (table.split[r] == training_split) {
            const bool set_aside = !has_validation && patient_key(study, table, r) % validation_share == 0;
            part = set_aside ? Part::validation : Part::training;
        }
        if (part != Part::training && part != Part::validation) continue;
        if (leaking.contains(table.patient[r])) {
            ++leaked;
            continue;
        }
        (part == Part::training ? draft.training : draft.validation)
            .rows.emplace_back(static_cast<std::int64_t>(r));
    }
    count(draft, study, "patient in two splits", leaked);
    for (const auto& [side, most] : {std::pair(&draft.training, study.heads.train_rows),
                                     std::pair(&draft.validation, study.heads.test_rows)}) {
        sort_by_key(study, table, side->rows);
        const std::int64_t over = std::ssize(side->rows) - most;
        if (over > 0) side->rows.resize(static_cast<std::size_t>(most));
        count(draft, study, side == &draft.training ? "row cap" : "row cap of validation", over);
        fill_labels(task, table, *side);
    }
    if (draft.training.rows.empty()) draft.why_none = "no row is left to train on";
    return draft;
}

HeadSide without_faults(const Study& study, const HeadSide& draft, const FeatureFaults& faults,
                        HeadRows& rows) {
    const auto flagged = [](const std::vector<bool>& flags, std::size_t i) {
        return !flags.empty() && flags[i];
    };
    HeadSide side;
    side.labels.resize(draft.labels.size());
    std::int64_t missing = 0, bad = 0;
    for (std::size_t i = 0; i < draft.rows.size(); ++i) {
        if (flagged(faults.missing, i)) {
            ++missing;
        } else if (flagged(faults.bad, i)) {
            ++bad;
        } else {
            side.rows.push_back(draft.rows[i]);
            for (std::size_t f = 0; f < draft.labels.size(); ++f)
                side.labels[f].push_back(draft.labels[f][i]);
        }
    }
    count(rows, study, "missing features", missing);
    count(rows, study, "bad features", bad);
    return side;
}

void fill_contexts(const Study& study, const Task& task, const Table& table, std::size_t dataset,
                   const Pool& pool, HeadSide& side) {
    for (const TableRow row : side.rows) {
        const std::string name =
            context_name(study, task, table, dataset, static_cast<std::size_t>(row.value));
        const auto at = std::ranges::lower_bound(pool.contexts, name);
        const bool there = !name.empty() && at != pool.contexts.end() && *at == name;
        side.context.push_back(there ? static_cast<std::int32_t>(at - pool.contexts.begin()) : -1);
    }
}

}  // namespace

std::vector<HeadRows> draft_head_rows(const Study& study, const Task& task, std::span<const Table> tables) {
    std::vector<HeadRows> drafts;
    for (const std::size_t dataset : task.datasets) drafts.push_back(draft_of(study, task, dataset, tables));
    return drafts;
}

HeadRows final_head_rows(const Study& study, const Task& task, std::span<const Table> tables,
                         const HeadRows& draft, const FeatureFaults& training,
                         const FeatureFaults& validation, const Pool& pool) {
    HeadRows rows;
    rows.dataset = draft.dataset;
    rows.why_none = draft.why_none;
    rows.exclusions = draft.exclusions;
    if (!rows.why_none.empty()) return rows;
    const Table& table = tables[draft.dataset];
    rows.training = without_faults(study, draft.training, training, rows);
    rows.validation = without_faults(study, draft.validation, validation, rows);
    fill_contexts(study, task, table, draft.dataset, pool, rows.training);
    fill_contexts(study, task, table, draft.dataset, pool, rows.validation);
    std::int64_t over = 0;
    for (std::int64_t i = 0; i < pool.rows(); ++i) {
        const auto p = static_cast<std::size_t>(i);
        if (static_cast<std::size_t>(pool.dataset[p]) != draft.dataset) continue;
        const auto row = static_cast<std::size_t>(pool.table_row[p].value);
        if (table.split.empty() && drawn_part(study, table, row) != Part::test) continue;
        if (std::ssize(rows.test) < study.heads.test_rows) {
            rows.test.emplace_back(i);
        } else {
            ++over;
        }
    }
    if (over > 0)
        rows.exclusions.push_back({study.datasets[rows.dataset].id, "heads: row cap of test", "", over});
    if (rows.training.rows.empty()) rows.why_none = "no row is left to train on";
    return rows;
}

}  // namespace candor::study
