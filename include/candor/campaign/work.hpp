#pragma once

/// What is to be done: each task's pool, cells and cases, and the search items they make. A function of
/// study, tables and pool alone, so that every rank knows all of it without a message.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "candor/campaign/inputs.hpp"
#include "candor/study/cell.hpp"
#include "candor/study/pool.hpp"

namespace candor::campaign {

/// A task of the study, ready to be searched.
struct TaskWork {
    std::size_t task = 0;  ///< position in Study::tasks
    study::Pool pool;
    /// Those of the pool, then the whole references that some query falls back to.
    std::vector<study::Context> contexts;
    std::vector<study::Rule> rules;  ///< primary first
    /// All cells, scored or not, by finding in the task's order, then context in byte order, those of whole
    /// references last. A context in which nothing asks has none.
    std::vector<study::Cell> cells;
    /// First case of each cell; a cell that is not scored has none.
    std::vector<std::int64_t> first_case;
    std::int64_t cases = 0;
};

/// A task's work. Queries whose own context their reference does not score are asked of the whole reference,
/// in a cell of its own (METHODS 12.6), and counted among the pool's exclusions. The cell's context is called
/// (pooled), or (pooled) / REFERENCE in a task with several references.
TaskWork make_work(const study::Study& study, std::size_t task, study::Pool pool);

/// What to tell of a task of which no cell counts in any figure; nothing where one does.
std::optional<std::string> why_nothing_is_scored(const study::Study& study, const TaskWork& work);

/// The same task with its context match removed (METHODS 12.7): one context, under the primary rule alone,
/// asked by the positives of the scored cells of `matched`, so that the two rates are paired.
TaskWork merge_contexts(const study::Study& study, const TaskWork& matched);

/// Queries of one cell under one encoder: the unit that a rank searches.
struct SearchItem {
    std::size_t work = 0;               ///< position among the TaskWorks
    std::size_t encoder = 0;            ///< position in Task::encoders
    std::size_t cell = 0;               ///< position in TaskWork::cells
    std::int64_t first = 0, count = 0;  ///< among the cell's queries
    double flops = 0;
};

/// Most queries of an item.
inline constexpr std::int64_t item_queries = 4096;

/// All items, by task, encoder, context, then cell, so that neighbours in the list share their rows.
/// @param dimensions feature columns by position in Study::encoders.
std::vector<SearchItem> search_items(const study::Study& study, const std::vector<TaskWork>& work,
                                     const std::vector<std::int64_t>& dimensions);

/// Rank of each item: items that share rows stay together where the balance allows it, longest first.
std::vector<int> place_items(const std::vector<SearchItem>& items, const std::vector<TaskWork>& work,
                             int ranks);

}  // namespace candor::campaign
