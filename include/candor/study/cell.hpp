#pragma once

/// Cells and their candidates (METHODS 3): who is asked, and who may answer. Encoders do not matter here: the
/// pool is shared, so a (finding, context) has the same queries and candidates under every encoder.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/reach.hpp"
#include "candor/study/pool.hpp"
#include "candor/study/study.hpp"

namespace candor::study {

/// The rows of one context of a pool, in key order: ContextRow i is PoolRow rows[i].
struct Context {
    std::int32_t position = 0;  ///< among the contexts of the task: those of the pool first
    std::string name;           ///< as in Pool::contexts
    std::vector<PoolRow> rows;
};

/// Candidates of one cell under one rule and draw. `list[s]` are the rows of side s (0 negative, 1 positive)
/// in the draw's key order; `reach[s][q]` is what query q sees of it. Both are empty where the rule is
/// unscored.
struct Candidates {
    Rule rule = Rule::equal;
    int draw = 0;
    std::vector<ContextRow> list[2];
    std::vector<Reach> reach[2];
    std::int64_t n = 0;  ///< as make_cell says; under equal and distinct every reach has exactly this size
    std::optional<std::string> unscored;  ///< why this rule does not score the cell
};

/// One (finding, context) of a task: its queries, in the order of the cases, and its candidates by draw and
/// rule.
struct Cell {
    std::int32_t finding = 0;  ///< position in Task::findings
    std::int32_t context = 0;  ///< position in Pool::contexts
    // Of the rows that answer; where the task has a reference these are the reference's (METHODS 12.6).
    std::int64_t positives = 0, negatives = 0;                  ///< labelled rows
    std::int64_t positive_patients = 0, negative_patients = 0;  ///< patients a side
    std::int64_t patients = 0;                                  ///< patients of either side
    std::vector<ContextRow> queries;  ///< the positives in key order, then the negatives queried in key order
    std::int64_t positive_queries = 0;  ///< how many of `queries` are positives
    /// Queries whose own context their reference does not score, against the whole reference (METHODS 12.6):
    /// reported by itself, outside every pooled figure.
    bool pooled_reference = false;
    /// Primary rule first, then `also` in the study's order; within a rule, draw 0 first.
    std::vector<Candidates> candidates;

    /// The primary rule scores the cell: its queries are asked.
    bool scored() const { return !candidates.front().unscored.has_value(); }
    /// Its queries count in findings, tasks, panels and blind sets.
    bool in_figures() const { return scored() && !pooled_reference; }
};

/// The pool's rows by context, in the order of Pool::contexts.
std::vector<Context> contexts_of(const Pool& pool);

/// The rules a task is run under: the primary one, then `also`; `distinct` is appended where the pool repeats
/// patients and `also` was not set.
std::vector<Rule> rules_of(const Study& study, const Pool& pool);

/// The cell of one finding in one context. Candidates of draw r stand in the order of (image key under
/// seed + r, image id bytes, dataset position); draw 0's is the pool's own.
///
/// n, at least 0: `equal` min(cap, n+ - 1, n- - 1); `distinct` the same of patients a side; `literal` and
/// `unequal` min(cap, n+, n-), where a query that is on a list itself has one candidate fewer.
///
/// Candidates are rows that answer, queries are labelled rows of which `asks` holds, by PoolRow (mostly
/// Pool::asks). Negative queries under "bank": the first n + 1 of draw 0, n the primary rule's. A cell
/// without positives or negatives that answer, or without a positive that asks, has no queries.
Cell make_cell(const Study& study, const Task& task, const Pool& pool, const Context& context,
               std::int32_t finding, const std::vector<Rule>& rules, const std::vector<bool>& asks);

}  // namespace candor::study
