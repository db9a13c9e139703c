#include "candor/study/pool.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/hash.hpp"
#include "candor/base/text.hpp"

namespace candor::study {

namespace {

/// Position of the dataset whose name space of images and patients the dataset at `position` uses.
std::size_t name_space(const Study& study, std::size_t position) {
    const std::string& reference = study.datasets[position].reference;
    if (reference.empty()) return position;
    const auto at = std::ranges::find(study.datasets, reference, &Dataset::id);
    CANDOR_REQUIRE(at != study.datasets.end(), reference);
    return static_cast<std::size_t>(at - study.datasets.begin());
}

bool contains(const std::vector<std::string>& list, std::string_view item) {
    return std::ranges::find(list, item) != list.end();
}

void count(Pool& pool, const std::string& dataset, const std::string& what, const std::string& detail,
           std::int64_t rows) {
    if (rows > 0) pool.exclusions.push_back({dataset, what, detail, rows});
}

// ---- leaks ----

/// The leaks that matter to `task`: those that involve a split which is not its own.
std::vector<Leak> leaks_of_task(const Study& study, const Task& task, std::span<const Table> tables,
                                std::size_t position) {
    std::vector<Leak> leaks = find_leaks(study, tables, position);
    std::erase_if(leaks, [&](const Leak& leak) {
        return std::ranges::all_of(leak.splits,
                                   [&](const auto& split) { return contains(task.splits, split); });
    });
    return leaks;
}

void refuse_leaks(const Dataset& dataset, const std::vector<Leak>& leaks) {
    if (leaks.empty()) return;
    constexpr std::size_t leaks_in_a_message = 5;
    std::string names;
    for (std::size_t i = 0; i < std::min(leaks.size(), leaks_in_a_message); ++i) {
        names += (i ? ", \"" : "\"") + leaks[i].patient + "\" (" + join_text(leaks[i].splits, ", ") + ')';
    }
    if (leaks.size() > leaks_in_a_message) {
        names += " and " + std::to_string(leaks.size() - leaks_in_a_message) + " more";
    }
    throw DataError({dataset.table, {}, dataset.columns.split, leaks.front().patient},
                    std::to_string(leaks.size()) + (leaks.size() == 1 ? " patient is" : " patients are") +
                        " in more than one split: " + names,
                    "keep each patient in one split, or set pool.on_leak = \"drop\"");
}

// ---- which rows ----

struct Drawn {
    std::uint64_t key;
    std::string_view image;
    std::size_t dataset;
    std::size_t row;

    auto order() const { return std::tie(key, image, dataset); }
};

/// Rows of one dataset in the task's splits, the first `task.rows` of them in key order; the others counted.
std::vector<Drawn> draw_rows(const Study& study, const Task& task, std::span<const Table> tables,
                             std::size_t position, Pool& pool) {
    const Dataset& dataset = study.datasets[position];
    const Table& table = tables[position];
    const std::vector<Leak> leaks = leaks_of_task(study, task, tables, position);
    if (!study.pool.drop_leaks) refuse_leaks(dataset, leaks);
    std::unordered_set<std::string_view> leaking;
    for (const Leak& leak : leaks) leaking.insert(leak.patient);

    std::vector<Drawn> drawn;
    std::int64_t other_split = 0, leaked = 0;
    for (std::size_t r = 0; r < table.image.size(); ++r) {
        if (table.split.empty() || contains(task.splits, table.split[r])) {
            drawn.push_back({image_key(table.image[r], study.seed), table.image[r], position, r});
        } else if (!table.split[r].empty() && leaking.contains(table.patient[r])) {
            ++leaked;
        } else {
            ++other_split;
        }
    }
    if (table.split.empty())
        count(pool, dataset.id, "no split column, all rows taken", "", std::ssize(drawn));
    count(pool, dataset.id, "other split", "", other_split);
    count(pool, dataset.id, "patient in two splits", "", leaked);
    if (drawn.empty()) {
        const std::set<std::string> splits(table.split.begin(), table.split.end());
        throw DataError({dataset.table, {}, dataset.columns.split},
                        "no row is in a split of task \"" + task.id + "\" (" + first_names(task.splits) +
                            "); the splits are " +
                            first_names(std::vector<std::string>(splits.begin(), splits.end())),
                        "set the task's splits, or pool.splits");
    }
    std::ranges::sort(drawn, {}, &Drawn::order);
    if (task.rows > 0 && static_cast<std::int64_t>(drawn.size()) > task.rows) {
        count(pool, dataset.id, "row cap", "", static_cast<std::int64_t>(drawn.size()) - task.rows);
        drawn.resize(static_cast<std::size_t>(task.rows));
    }
    return drawn;
}

/// Fills `identity`; no image is asked for twice.
void fill_identity(const Study& study, std::span<const Table> tables, const std::vector<Drawn>& rows,
                   Pool& pool) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::size_t same = i;
        // Rows of one image stand side by side in key order.
        for (std::size_t j = i; j-- > 0 && rows[j].image == rows[i].image && rows[j].key == rows[i].key;) {
            if (name_space(study, rows[j].dataset) != name_space(study, rows[i].dataset)) continue;
            same = j;
            if (!pool.asks[i] || !pool.asks[j]) continue;
            const Dataset& dataset = study.datasets[rows[i].dataset];
            throw DataError({dataset.table, tables[rows[i].dataset].line[rows[i].row], dataset.columns.image,
                             std::string(rows[i].image)},
                            "the image is in dataset \"" + study.datasets[rows[j].dataset].id +
                                "\" too, which shares its image ids by `reference`, and both are asked for",
                            "an image may be in one of the two, or the task may take one of the two");
        }
        pool.identity.emplace_back(same == i ? static_cast<std::int64_t>(i) : pool.identity[same].value);
    }
}

// ---- what the rows are ----

/// Positions of the patients in use in `pool`, those with a row that asks first; renumbers `pool.patient` to
/// that order and sets `clusters`.
std::vector<std::size_t> renumber_patients(Pool& pool, std::size_t patients) {
    std::vector<bool> asks(patients), used(patients);
    for (std::size_t i = 0; i < pool.patient.size(); ++i) {
        const auto patient = static_cast<std::size_t>(pool.patient[i]);
        used[patient] = true;
        if (pool.asks[i]) asks[patient] = true;
    }
    std::vector<std::size_t> order;
    for (std::size_t p = 0; p < patients; ++p) {
        if (asks[p]) order.push_back(p);
    }
    pool.clusters = std::ssize(order);
    for (std::size_t p = 0; p < patients; ++p) {
        if (used[p] && !asks[p]) order.push_back(p);
    }
    std::vector<std::int32_t> renumbered(patients, -1);
    for (std::size_t i = 0; i < order.size(); ++i) renumbered[order[i]] = static_cast<std::int32_t>(i);
    for (std::int32_t& p : pool.patient) p = renumbered[static_cast<std::size_t>(p)];
    return order;
}

void fill_patients(const Study& study, std::span<const Table> tables, const std::vector<Drawn>& rows,
                   Pool& pool) {
    using Identity = std::tuple<std::string_view, std::size_t, bool>;  // id, name space, an image of its own
    std::vector<Identity> identities;
    for (const Drawn& row : rows) {
        const std::string& patient = tables[row.dataset].patient[row.row];
        const bool own = patient.empty();
        identities.emplace_back(own ? row.image : std::string_view(patient), name_space(study, row.dataset),
                                own);
    }
    // A named patient stands before an image of the same id, then datasets by position.
    const auto order = [](const Identity& a, const Identity& b) {
        return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a)) <
               std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b));
    };
    std::vector<Identity> distinct = identities;
    std::ranges::sort(distinct, order);
    distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
    for (const Identity& identity : identities) {
        const auto at = std::ranges::lower_bound(distinct, identity, order);
        pool.patient.push_back(static_cast<std::int32_t>(at - distinct.begin()));
    }
    for (const std::size_t p : renumber_patients(pool, distinct.size())) {
        pool.patients.emplace_back(std::get<0>(distinct[p]));
        pool.is_own_patient.push_back(std::get<2>(distinct[p]));
    }
}

/// An image of a dataset and of its reference is one image of one patient.
void require_one_patient_an_image(const Study& study, std::span<const Table> tables,
                                  const std::vector<Drawn>& rows, const Pool& pool) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto same = static_cast<std::size_t>(pool.identity[i].value);
        if (pool.patient[i] == pool.patient[same]) continue;
        const auto named = [&](std::size_t row) {
            return '"' + pool.patients[static_cast<std::size_t>(pool.patient[row])] + '"';
        };
        const Dataset& dataset = study.datasets[rows[i].dataset];
        throw DataError({dataset.table, tables[rows[i].dataset].line[rows[i].row], dataset.columns.patient,
                         std::string(rows[i].image)},
                        "the image is of patient " + named(i) + " here and of patient " + named(same) +
                            " in dataset \"" + study.datasets[rows[same].dataset].id + '"',
                        "a dataset and its `reference` share images and patients; name the patient alike");
    }
}

std::vector<std::string> context_values(const Study& study, const Task& task, const Table& table,
                                        std::size_t dataset, std::size_t row) {
    std::vector<std::string> values;
    for (const std::string& column : task.context) {
        values.push_back(column == "dataset" ? study.datasets[name_space(study, dataset)].id
                                             : table.contexts.at(column)[row]);
    }
    return values;
}

void fill_contexts(const Study& study, const Task& task, std::span<const Table> tables,
                   const std::vector<Drawn>& rows, Pool& pool) {
    std::map<std::string, std::vector<std::string>> values_of;  // by name
    std::vector<std::string> names;                             // a row; empty where it has no context
    for (const Drawn& row : rows) {
        names.push_back(context_name(study, task, tables[row.dataset], row.dataset, row.row));
        if (names.back().empty()) continue;
        if (names.back().starts_with(pooled_reference_name)) {
            const Dataset& dataset = study.datasets[row.dataset];
            throw DataError({dataset.table, tables[row.dataset].line[row.row], task.context.back()},
                            "the name of a context may not start with \"" +
                                std::string(pooled_reference_name) + "\": " + names.back(),
                            "this name is for queries against a whole reference");
        }
        const auto values = context_values(study, task, tables[row.dataset], row.dataset, row.row);
        const auto [at, inserted] = values_of.try_emplace(names.back(), values);
        if (at->second != values) {
            const Dataset& dataset = study.datasets[row.dataset];
            throw DataError({dataset.table, tables[row.dataset].line[row.row], task.context.back()},
                            "two contexts of task \"" + task.id + "\" are named \"" + names.back() + '"',
                            "write the values without \" / \" and \"(blank)\"");
        }
    }
    for (const auto& [name, values] : values_of) pool.contexts.push_back(name);
    for (const std::string& name : names) {
        const auto at = std::ranges::lower_bound(pool.contexts, name);
        pool.context.push_back(name.empty() ? -1 : static_cast<std::int32_t>(at - pool.contexts.begin()));
    }
}

void fill_labels(const Task& task, std::span<const Table> tables, const std::vector<Drawn>& rows,
                 Pool& pool) {
    for (const std::string& finding : task.findings) {
        std::vector<Label>& stated = pool.stated.emplace_back();
        std::vector<std::int8_t>& labels = pool.labels.emplace_back();
        for (const Drawn& row : rows) {
            stated.push_back(tables[row.dataset].labels.at(finding)[row.row]);
            labels.push_back(apply_policy(task, stated.back()));
        }
    }
}

/// The figures that follow from the rows and patients.
void summarise(Pool& pool) {
    std::vector<std::int64_t> images(pool.patients.size());
    for (std::size_t i = 0; i < pool.patient.size(); ++i) {
        const bool first = pool.identity[i].value == static_cast<std::int64_t>(i);
        images[static_cast<std::size_t>(pool.patient[i])] += first;
    }
    pool.repeats_patients = std::ranges::any_of(images, [](std::int64_t n) { return n > 1; });
    pool.own_patients = std::ranges::count(pool.is_own_patient, true);
}

/// Puts `rows` into the pool, in key order.
void fill(const Study& study, const Task& task, std::span<const Table> tables, std::vector<Drawn> rows,
          Pool& pool) {
    std::ranges::sort(rows, {}, &Drawn::order);
    for (const Drawn& row : rows) {
        pool.dataset.push_back(static_cast<std::int32_t>(row.dataset));
        pool.table_row.emplace_back(static_cast<std::int64_t>(row.row));
        pool.image.emplace_back(row.image);
        pool.key.push_back(row.key);
        pool.asks.push_back(std::ranges::find(task.datasets, row.dataset) != task.datasets.end());
        pool.answers.push_back(study.datasets[row.dataset].reference.empty());
    }
    fill_identity(study, tables, rows, pool);
    fill_patients(study, tables, rows, pool);
    require_one_patient_an_image(study, tables, rows, pool);
    fill_contexts(study, task, tables, rows, pool);
    fill_labels(task, tables, rows, pool);
    summarise(pool);
}

// ---- the second stage ----

template <class T>
std::vector<T> pick(const std::vector<T>& values, const std::vector<std::size_t>& kept) {
    std::vector<T> picked;
    picked.reserve(kept.size());
    for (const std::size_t i : kept) picked.push_back(values[i]);
    return picked;
}

/// Renumbers `positions` to the entries in use, and returns which these are, in their order.
std::vector<std::size_t> renumber(std::vector<std::int32_t>& positions, std::size_t entries) {
    std::vector<std::int32_t> renumbered(entries, -1);
    for (const std::int32_t p : positions) renumbered[static_cast<std::size_t>(p)] = 0;
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < entries; ++i) {
        if (renumbered[i] < 0) continue;
        renumbered[i] = static_cast<std::int32_t>(used.size());
        used.push_back(i);
    }
    for (std::int32_t& p : positions) p = renumbered[static_cast<std::size_t>(p)];
    return used;
}

/// First remaining row of the image of each kept row.
std::vector<PoolRow> renumber_identities(const Pool& draft, const std::vector<std::size_t>& kept) {
    std::map<std::int64_t, std::int64_t> first;
    std::vector<PoolRow> identity;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const auto at = first.try_emplace(draft.identity[kept[i]].value, static_cast<std::int64_t>(i)).first;
        identity.emplace_back(at->second);
    }
    return identity;
}

/// Which rows of the draft remain; the others are counted for the first reason that applies.
std::vector<std::size_t> remaining_rows(const Study& study, const Task& task, const Pool& draft,
                                        const FeatureFaults& faults, Pool& pool) {
    const std::vector<std::string> reasons{"blank context", "missing features", "bad features"};
    std::map<std::pair<std::int32_t, std::size_t>, std::int64_t> counts;
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < draft.image.size(); ++i) {
        const bool blank = draft.context[i] < 0;
        const bool missing = !faults.missing.empty() && faults.missing[i];
        const bool bad = !faults.bad.empty() && faults.bad[i];
        if (blank || missing || bad) {
            ++counts[{draft.dataset[i], blank ? 0u : missing ? 1u : 2u}];
        } else {
            kept.push_back(i);
        }
    }
    std::string left;
    for (const auto& [place, rows] : counts) {
        const std::string& dataset = study.datasets[static_cast<std::size_t>(place.first)].id;
        count(pool, dataset, reasons[place.second], "", rows);
        left += (left.empty() ? "" : ", ") + std::to_string(rows) + " of \"" + dataset + "\" by " +
                reasons[place.second];
    }
    if (kept.empty()) {
        throw DataError({study.file}, "task \"" + task.id + "\" has no rows left: " + left,
                        "complete the tables and features, or change the task's context");
    }
    return kept;
}

void count_own_patients(const Study& study, const Task& task, Pool& pool) {
    for (const std::size_t d : pool_datasets(study, task)) {
        std::int64_t own = 0;
        for (std::size_t i = 0; i < pool.image.size(); ++i) {
            own += static_cast<std::size_t>(pool.dataset[i]) == d &&
                   pool.is_own_patient[static_cast<std::size_t>(pool.patient[i])];
        }
        count(pool, study.datasets[d].id, "no patient id, each image its own patient", "", own);
    }
}

void count_policies(const Study& study, const Task& task, Pool& pool) {
    const auto effect = [](LabelAs policy) {
        return policy == LabelAs::excluded ? std::string("excluded")
                                           : "counted " + std::string(name_of(policy));
    };
    for (const std::size_t d : pool_datasets(study, task)) {
        for (std::size_t f = 0; f < task.findings.size(); ++f) {
            std::int64_t uncertain = 0, blank = 0;
            for (std::size_t i = 0; i < pool.image.size(); ++i) {
                if (static_cast<std::size_t>(pool.dataset[i]) != d) continue;
                uncertain += pool.stated[f][i] == Label::uncertain;
                blank += pool.stated[f][i] == Label::blank;
            }
            const std::string& id = study.datasets[d].id;
            count(pool, id, "uncertain label " + effect(task.uncertain), task.findings[f], uncertain);
            count(pool, id, "blank label " + effect(task.blank), task.findings[f], blank);
        }
    }
}

}  // namespace

std::string context_name(const Study& study, const Task& task, const Table& table, std::size_t dataset,
                         std::size_t row) {
    std::vector<std::string> parts = context_values(study, task, table, dataset, row);
    if (!study.pool.blank_context_is_own && contains(parts, "")) return {};
    std::ranges::replace(parts, std::string(), std::string("(blank)"));
    return join_text(parts, " / ");
}

std::int8_t apply_policy(const Task& task, Label stated) {
    if (stated == Label::positive) return 1;
    if (stated == Label::negative) return 0;
    const LabelAs policy = stated == Label::uncertain ? task.uncertain : task.blank;
    return policy == LabelAs::excluded ? -1 : policy == LabelAs::positive ? 1 : 0;
}

std::vector<Leak> find_leaks(const Study& study, std::span<const Table> tables, std::size_t position) {
    struct Found {
        std::set<std::string> splits;
        std::int64_t rows = 0;
        bool here = false;  // in the dataset itself, not only in one that shares its patients
    };
    std::map<std::string_view, Found> patients;
    for (std::size_t d = 0; d < tables.size(); ++d) {
        const Table& table = tables[d];
        if (table.split.empty() || name_space(study, d) != name_space(study, position)) continue;
        for (std::size_t r = 0; r < table.image.size(); ++r) {
            if (table.patient[r].empty() || table.split[r].empty()) continue;
            Found& found = patients[table.patient[r]];
            found.splits.insert(table.split[r]);
            ++found.rows;
            found.here = found.here || d == position;
        }
    }
    std::vector<Leak> leaks;
    for (const auto& [patient, found] : patients) {
        if (!found.here || found.splits.size() < 2) continue;
        leaks.push_back({study.datasets[position].id, std::string(patient),
                         std::vector<std::string>(found.splits.begin(), found.splits.end()), found.rows});
    }
    return leaks;
}

std::vector<std::size_t> pool_datasets(const Study& study, const Task& task) {
    std::vector<std::size_t> datasets = task.datasets;
    for (const std::size_t d : task.datasets) {
        const std::size_t reference = name_space(study, d);
        if (std::ranges::find(datasets, reference) == datasets.end()) datasets.push_back(reference);
    }
    return datasets;
}

Pool draft_pool(const Study& study, const Task& task, std::span<const Table> tables) {
    CANDOR_REQUIRE(tables.size() == study.datasets.size(), std::to_string(tables.size()));
    Pool pool;
    std::vector<Drawn> rows;
    for (const std::size_t d : pool_datasets(study, task)) {
        const std::vector<Drawn> drawn = draw_rows(study, task, tables, d, pool);
        rows.insert(rows.end(), drawn.begin(), drawn.end());
    }
    fill(study, task, tables, std::move(rows), pool);
    return pool;
}

Pool draft_pool_of(const Study& study, const Task& task, std::span<const Table> tables,
                   std::span<const std::pair<std::size_t, TableRow>> rows) {
    Pool pool;
    std::vector<Drawn> drawn;
    for (const auto& [dataset, row] : rows) {
        const auto r = static_cast<std::size_t>(row.value);
        const std::string& image = tables[dataset].image[r];
        drawn.push_back({image_key(image, study.seed), image, dataset, r});
    }
    fill(study, task, tables, std::move(drawn), pool);
    return pool;
}

Pool final_pool(const Study& study, const Task& task, const Pool& draft, const FeatureFaults& faults) {
    for (const std::vector<bool>* flags : {&faults.missing, &faults.bad}) {
        CANDOR_REQUIRE(flags->empty() || flags->size() == draft.image.size(), std::to_string(flags->size()));
    }
    Pool pool;
    pool.exclusions = draft.exclusions;
    const std::vector<std::size_t> kept = remaining_rows(study, task, draft, faults, pool);
    pool.dataset = pick(draft.dataset, kept);
    pool.table_row = pick(draft.table_row, kept);
    pool.image = pick(draft.image, kept);
    pool.key = pick(draft.key, kept);
    pool.patient = pick(draft.patient, kept);
    pool.context = pick(draft.context, kept);
    pool.asks = pick(draft.asks, kept);
    pool.answers = pick(draft.answers, kept);
    pool.identity = renumber_identities(draft, kept);
    for (const auto& labels : draft.labels) pool.labels.push_back(pick(labels, kept));
    for (const auto& stated : draft.stated) pool.stated.push_back(pick(stated, kept));
    const std::vector<std::size_t> patients = renumber_patients(pool, draft.patients.size());
    pool.patients = pick(draft.patients, patients);
    pool.is_own_patient = pick(draft.is_own_patient, patients);
    pool.contexts = pick(draft.contexts, renumber(pool.context, draft.contexts.size()));
    count_own_patients(study, task, pool);
    count_policies(study, task, pool);
    summarise(pool);
    return pool;
}

}  // namespace candor::study
