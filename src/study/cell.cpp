#include "candor/study/cell.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>

#include "candor/base/error.hpp"
#include "candor/base/hash.hpp"

namespace candor::study {

namespace {

constexpr int negative_side = 0, positive_side = 1;

/// Rows of a context by label side, each in some order.
using Sides = std::array<std::vector<ContextRow>, 2>;

std::size_t pool_row(const Context& context, ContextRow row) {
    return static_cast<std::size_t>(context.rows[static_cast<std::size_t>(row.value)].value);
}

std::size_t patient_of(const Pool& pool, const Context& context, ContextRow row) {
    return static_cast<std::size_t>(pool.patient[pool_row(context, row)]);
}

/// The labelled rows of a finding of which `holds` (by PoolRow), in key order.
Sides sides_of(const Pool& pool, const Context& context, std::int32_t finding,
               const std::vector<bool>& holds) {
    const std::vector<std::int8_t>& labels = pool.labels[static_cast<std::size_t>(finding)];
    Sides sides;
    for (std::size_t i = 0; i < context.rows.size(); ++i) {
        const ContextRow row(static_cast<std::int64_t>(i));
        const std::int8_t label = labels[pool_row(context, row)];
        if (label >= 0 && holds[pool_row(context, row)])
            sides[static_cast<std::size_t>(label)].push_back(row);
    }
    return sides;
}

/// `sides` in the key order of draw `draw`.
Sides in_draw_order(const Study& study, const Pool& pool, const Context& context, Sides sides, int draw) {
    if (draw == 0) return sides;
    std::vector<std::uint64_t> key(context.rows.size());
    for (std::size_t i = 0; i < key.size(); ++i) {
        key[i] = image_key(pool.image[static_cast<std::size_t>(context.rows[i].value)],
                           study.seed + static_cast<std::uint64_t>(draw));
    }
    const auto order = [&](ContextRow row) {
        const std::size_t at = pool_row(context, row);
        return std::tuple<std::uint64_t, std::string_view, std::int32_t>(
            key[static_cast<std::size_t>(row.value)], pool.image[at], pool.dataset[at]);
    };
    for (auto& side : sides) std::ranges::sort(side, {}, order);
    return sides;
}

/// The first row of each patient in `side`, in its order.
std::vector<ContextRow> first_of_patients(const Pool& pool, const Context& context,
                                          const std::vector<ContextRow>& side) {
    std::vector<bool> seen(pool.patients.size());
    std::vector<ContextRow> first;
    for (const ContextRow row : side) {
        const std::size_t patient = patient_of(pool, context, row);
        if (!seen[patient]) first.push_back(row);
        seen[patient] = true;
    }
    return first;
}

std::int64_t patients_of(const Pool& pool, const Context& context, const std::vector<ContextRow>& side) {
    return std::ssize(first_of_patients(pool, context, side));
}

bool equalises(Rule rule) {
    return rule == Rule::equal || rule == Rule::distinct;
}

std::int64_t cap_of(const Study& study) {
    return study.op.bank_cap == 0 ? std::numeric_limits<std::int64_t>::max() : study.op.bank_cap;
}

/// n of a rule; see make_cell.
std::int64_t size_of(const Study& study, Rule rule, const Cell& cell) {
    const std::int64_t positives = rule == Rule::distinct ? cell.positive_patients : cell.positives;
    const std::int64_t negatives = rule == Rule::distinct ? cell.negative_patients : cell.negatives;
    const std::int64_t left_out = equalises(rule) ? 1 : 0;
    return std::max<std::int64_t>(0, std::min({cap_of(study), positives - left_out, negatives - left_out}));
}

/// `asking` in key order.
void choose_queries(const Study& study, const Sides& asking, Rule primary, Cell& cell) {
    if (cell.positives == 0 || cell.negatives == 0 || asking[positive_side].empty()) return;
    cell.queries = asking[positive_side];
    cell.positive_queries = std::ssize(cell.queries);
    const auto& side = asking[negative_side];
    std::int64_t negatives = 0;
    if (study.op.negative_queries == NegativeQueries::all) negatives = std::ssize(side);
    if (study.op.negative_queries == NegativeQueries::bank) {
        negatives = std::min(size_of(study, primary, cell) + 1, std::ssize(side));
    }
    cell.queries.insert(cell.queries.end(), side.begin(), side.begin() + negatives);
}

/// Who could be a candidate on one side, before any cut, and each query's own entry there (-1: none): itself,
/// under `distinct` its patient's.
struct Entries {
    std::vector<ContextRow> rows;
    std::vector<std::int64_t> own;
};

Entries entries_of(const Pool& pool, const Context& context, const Cell& cell, Rule rule,
                   const std::vector<ContextRow>& side) {
    const bool by_patient = rule == Rule::distinct;
    const auto identity = [&](ContextRow row) {
        return by_patient ? patient_of(pool, context, row)
                          : static_cast<std::size_t>(pool.identity[pool_row(context, row)].value);
    };
    Entries entries{by_patient ? first_of_patients(pool, context, side) : side, {}};
    std::vector<std::int64_t> entry_of(by_patient ? pool.patients.size() : pool.image.size(), -1);
    for (std::int64_t i = 0; i < std::ssize(entries.rows); ++i) {
        entry_of[identity(entries.rows[static_cast<std::size_t>(i)])] = i;
    }
    for (const ContextRow query : cell.queries) entries.own.push_back(entry_of[identity(query)]);
    return entries;
}

/// What a query sees of a list of `length` entries, its own entry at `own`. Where the rule equalises, the
/// list holds n + 1 entries: whoever is among the first n sees the others up to the last, all else the first
/// n.
Reach reach_of(Rule rule, std::int64_t n, std::int64_t length, std::int64_t own) {
    if (equalises(rule)) return own >= 0 && own < n ? Reach{n + 1, own} : Reach{n, -1};
    return {length, own < length ? own : -1};
}

/// The candidates under one rule from `sides` in the draw's order.
Candidates choose_candidates(const Study& study, const Pool& pool, const Context& context, const Cell& cell,
                             const Sides& sides, Rule rule, int draw) {
    Candidates chosen;
    chosen.rule = rule;
    chosen.draw = draw;
    chosen.n = size_of(study, rule, cell);
    if (cell.queries.empty()) {
        chosen.unscored = cell.positives == 0   ? "no positives"
                          : cell.negatives == 0 ? "no negatives"
                                                : "no positives to ask for";
        return chosen;
    }
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    for (std::size_t s = 0; s < 2; ++s) {
        Entries entries = entries_of(pool, context, cell, rule, sides[s]);
        std::int64_t length = chosen.n;
        if (equalises(rule)) length = chosen.n + 1;
        if (rule == Rule::unequal) length = std::min(cap_of(study), std::ssize(entries.rows));
        for (const std::int64_t own : entries.own) {
            chosen.reach[s].push_back(reach_of(rule, chosen.n, length, own));
            fewest = std::min(fewest, chosen.reach[s].back().size());
        }
        entries.rows.resize(static_cast<std::size_t>(length));
        chosen.list[s] = std::move(entries.rows);
    }
    if (fewest < study.op.k) {
        chosen.unscored = "fewer than k candidates a side (n = " + std::to_string(fewest) +
                          ", k = " + std::to_string(study.op.k) + ')';
        for (std::size_t s = 0; s < 2; ++s) {
            chosen.list[s].clear();
            chosen.reach[s].clear();
        }
    }
    return chosen;
}

}  // namespace

std::vector<Context> contexts_of(const Pool& pool) {
    std::vector<Context> contexts(pool.contexts.size());
    for (std::size_t c = 0; c < contexts.size(); ++c) {
        contexts[c].position = static_cast<std::int32_t>(c);
        contexts[c].name = pool.contexts[c];
    }
    for (std::size_t i = 0; i < pool.context.size(); ++i) {
        CANDOR_REQUIRE(pool.context[i] >= 0, pool.image[i]);
        contexts[static_cast<std::size_t>(pool.context[i])].rows.emplace_back(static_cast<std::int64_t>(i));
    }
    return contexts;
}

std::vector<Rule> rules_of(const Study& study, const Pool& pool) {
    std::vector<Rule> rules{study.op.candidates};
    rules.insert(rules.end(), study.op.also.begin(), study.op.also.end());
    if (pool.repeats_patients && !study.op.also_is_set && study.op.candidates != Rule::distinct) {
        rules.push_back(Rule::distinct);
    }
    return rules;
}

Cell make_cell(const Study& study, const Task& task, const Pool& pool, const Context& context,
               std::int32_t finding, const std::vector<Rule>& rules, const std::vector<bool>& asks) {
    CANDOR_REQUIRE(!rules.empty() && finding >= 0 && finding < std::ssize(task.findings),
                   std::to_string(finding));
    const Sides sides = sides_of(pool, context, finding, pool.answers);
    Cell cell;
    cell.finding = finding;
    cell.context = context.position;
    cell.negatives = std::ssize(sides[negative_side]);
    cell.positives = std::ssize(sides[positive_side]);
    cell.negative_patients = patients_of(pool, context, sides[negative_side]);
    cell.positive_patients = patients_of(pool, context, sides[positive_side]);
    std::vector<ContextRow> labelled = sides[negative_side];
    labelled.insert(labelled.end(), sides[positive_side].begin(), sides[positive_side].end());
    cell.patients = patients_of(pool, context, labelled);
    choose_queries(study, sides_of(pool, context, finding, asks), rules.front(), cell);

    std::vector<Sides> drawn;
    for (int draw = 0; draw < study.op.draws; ++draw) {
        drawn.push_back(in_draw_order(study, pool, context, sides, draw));
    }
    for (const Rule rule : rules) {
        for (int draw = 0; draw < study.op.draws; ++draw) {
            const Sides& ordered = drawn[static_cast<std::size_t>(draw)];
            cell.candidates.push_back(choose_candidates(study, pool, context, cell, ordered, rule, draw));
        }
    }
    return cell;
}

}  // namespace candor::study
