#pragma once

/// The pool of a task: which rows take part, in which order, as which patient, in which context (METHODS 2).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/study/study.hpp"
#include "candor/study/table.hpp"

namespace candor::study {

/// Rows of a dataset that a rule left out or changed: every one is counted and shown (DESIGN 6, promise 3).
/// Only counts above 0 are listed. `what` is, for rows that are not in the pool (a row is counted once):
/// "other split" (blank splits too), "patient in two splits" (on_leak = "drop": his rows in other splits),
/// "row cap", "blank context", "missing features", "bad features"; and for rows of the final pool, with the
/// finding as `detail`: "uncertain label excluded" or "... counted positive" or "... counted negative",
/// "blank label excluded" or "... counted negative".
struct Exclusion {
    std::string dataset;
    std::string what;
    std::string detail;  ///< may be empty
    std::int64_t rows = 0;
};

/// Context of the queries whose own one their reference does not score (METHODS 12.6).
inline constexpr std::string_view pooled_reference_name = "(pooled)";

/// The rows of one task in key order: (XXH64 of the image id, image id bytes, dataset position in the study).
/// All columns have one entry a PoolRow.
struct Pool {
    std::vector<std::int32_t> dataset;  ///< position in Study::datasets
    std::vector<TableRow> table_row;    ///< in that dataset's table
    std::vector<std::string> image;     ///< ids; unique within a dataset
    std::vector<std::uint64_t> key;
    std::vector<std::int32_t> patient;  ///< position in `patients`
    std::vector<std::int32_t> context;  ///< position in `contexts`; -1 in a draft where it is blank
    /// Who asks and who answers (METHODS 12.6): rows of a dataset with a reference only ask, rows of a
    /// reference that is not among the task's datasets only answer, all others do both.
    std::vector<bool> asks, answers;
    /// The first row with the same image (an image of a dataset and of its reference is one), mostly itself.
    std::vector<PoolRow> identity;
    /// labels[f][row]: 1 positive, 0 negative, -1 takes no part, for the task's f-th finding, policy applied.
    std::vector<std::vector<std::int8_t>> labels;
    std::vector<std::vector<Label>> stated;  ///< the same as the tables state them, before any policy

    /// The patients who have a row that asks, then the others; each in byte order of their ids, ties by
    /// dataset position (a dataset with a reference shares that one's patients). An image without a patient
    /// id is a patient of its own, under the image's id, and another one than a patient who happens to have
    /// the same id.
    std::vector<std::string> patients;
    std::int64_t clusters = 0;  ///< of the bootstrap (METHODS 4): the first so many patients, those who ask
    std::vector<bool> is_own_patient;  ///< by patient: an image without a patient id
    /// Values joined by " / ", a blank one (blank_context = "own") as "(blank)"; in byte order.
    std::vector<std::string> contexts;
    std::vector<Exclusion> exclusions;
    std::int64_t own_patients = 0;  ///< images without a patient id
    bool repeats_patients = false;  ///< some patient has more than one row

    std::int64_t rows() const { return static_cast<std::int64_t>(table_row.size()); }
};

/// Rows that leave the pool of every encoder because some encoder's features lack or spoil them; one flag per
/// draft row. Empty vectors mean none.
struct FeatureFaults {
    std::vector<bool> missing;
    std::vector<bool> bad;
};

/// Positions of the datasets whose rows make the task's pool: its own, then the references of these that are
/// not among them.
std::vector<std::size_t> pool_datasets(const Study& study, const Task& task);

/// First stage: the rows of `task` by split and cap alone, in key order, nothing left out yet for contexts or
/// features. `tables` are all of the study's, by dataset position; those of no dataset of the task, and of
/// none that shares patients with one, may be empty. Labels, patients and contexts are filled.
/// @throws DataError where a dataset has none of the task's splits; where a patient is in two splits (the
///         first ones named) unless on_leak = "drop" or all his splits are the task's own; where one image
///         would be asked for twice; where two contexts would have one name.
Pool draft_pool(const Study& study, const Task& task, std::span<const Table> tables);

/// The first stage of a pool of given rows, a dataset and its row of the table each, whatever their splits:
/// all ask and answer. Nothing is counted. @throws DataError as the above for images and contexts.
Pool draft_pool_of(const Study& study, const Task& task, std::span<const Table> tables,
                   std::span<const std::pair<std::size_t, TableRow>> rows);

/// Second stage: `draft` without rows of blank context and without the rows that `faults` names, each counted
/// in `exclusions`; patients and contexts renumbered to those that remain.
/// @throws DataError where no row remains.
Pool final_pool(const Study& study, const Task& task, const Pool& draft, const FeatureFaults& faults);

/// The name of the context of a table's row in `task`, as in Pool::contexts; empty where it has none because
/// a column is blank.
std::string context_name(const Study& study, const Task& task, const Table& table, std::size_t dataset,
                         std::size_t row);

/// What the task's policies make of a label: 1, 0, or -1 where the row takes no part.
std::int8_t apply_policy(const Task& task, Label stated);

/// A patient found in more than one split of a dataset (or of the datasets that share patients with it).
struct Leak {
    std::string dataset, patient;
    std::vector<std::string> splits;  ///< in byte order
    std::int64_t rows = 0;            ///< all that the patient has in those splits
};

/// All leaking patients of the dataset at `position`, in byte order of their ids; empty where there are no
/// splits. Rows without a patient or without a split (blank) leak nothing. Datasets share patients by
/// `reference`.
std::vector<Leak> find_leaks(const Study& study, std::span<const Table> tables, std::size_t position);

}  // namespace candor::study
