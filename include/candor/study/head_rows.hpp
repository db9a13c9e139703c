#pragma once

/// The rows that heads are trained, adjusted and tested on (METHODS 8).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/study/pool.hpp"
#include "candor/study/study.hpp"
#include "candor/study/table.hpp"

namespace candor::study {

/// Rows of one dataset's table in key order. All columns have one entry a row.
struct HeadSide {
    std::vector<TableRow> rows;
    std::vector<std::vector<std::int8_t>>
        labels;                         ///< [finding of the task][row]: 1, 0, or -1, policy applied
    std::vector<std::int32_t> context;  ///< position in Pool::contexts; -1 where no such is there
};

/// What the heads of one dataset of a task are made of.
struct HeadRows {
    std::size_t dataset = 0;  ///< position in Study::datasets
    std::string why_none;     ///< why there can be no heads; empty where there are
    HeadSide training, validation;
    std::vector<PoolRow> test;  ///< of the pool, in its order
    /// As Pool::exclusions; each `what` begins with "training: ", or "heads: " of rows that are not tested.
    std::vector<Exclusion> exclusions;
};

/// First stage, of every dataset of the task, in its order: rows by split alone. Training rows are those of
/// split "train", at most `heads.train_rows`; validation rows those of split "val", else the training rows of
/// patients whose key modulo 10 is 0, which are then not trained on, at most `heads.test_rows`. A dataset
/// without splits is divided by the patients' keys where `[heads] split` gives shares. Patients in two splits
/// leave this side (they are refused by `draft_pool` unless on_leak = "drop"). `context` is not filled.
/// @param tables all of the study's, by dataset position.
std::vector<HeadRows> draft_head_rows(const Study& study, const Task& task, std::span<const Table> tables);

/// Second stage: without the rows that the faults name, by row of training and validation; contexts and test
/// rows are those of `pool`, the task's final one, at most `heads.test_rows`.
HeadRows final_head_rows(const Study& study, const Task& task, std::span<const Table> tables,
                         const HeadRows& draft, const FeatureFaults& training,
                         const FeatureFaults& validation, const Pool& pool);

}  // namespace candor::study
