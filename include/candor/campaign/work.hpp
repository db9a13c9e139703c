#pragma once

/// What is to be done: each task's pool, cells and cases. A function of study, tables and pool alone, so that
/// every rank knows all of it without a message.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "candor/campaign/inputs.hpp"
#include "candor/campaign/listed_cell.hpp"
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
    /// The neighbour lists of each cell; empty where the study asks for no permutations, as of an ablation.
    std::vector<ListedCell> listed;
    /// The patients that the draws of the wide interval take, 64 draws at a time.
    std::vector<std::vector<instruments::Worlds>> quarters;
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

}  // namespace candor::campaign
