#pragma once

/// What a researcher wants to see first of a results file: each task's encoders by findings, its panel, its
/// tests and what to look out for. Everything is read from the tables; nothing is computed here but counts.

#include <cstdint>
#include <string>
#include <vector>

#include "candor/report/across_sentences.hpp"
#include "candor/report/head_sentences.hpp"
#include "candor/store/table.hpp"

namespace candor::report {

struct OverviewTask {
    std::string id, label;
    std::int64_t images = 0;    ///< distinct images among the cases
    std::int64_t patients = 0;  ///< distinct patients among the cases; an image without a patient is its own
};

struct Overview {
    std::string file;  ///< as the user named it, for the commands that are hinted at
    std::string run;   ///< one line about the run
    std::string rule;  ///< primary candidate rule
    std::int64_t k = 0;
    double confidence = 0.95;
    std::int64_t resamples = 0;
    std::vector<OverviewTask> tasks;  ///< in the study's order
    /// Tables of the results file, by their names there.
    store::ResultTable cells, findings, task_rows, panels, rules, families, skipped, exclusions;
    AcrossTables across;
    HeadTables heads;
};

/// The overview as plain text for a terminal `width` columns wide. Findings that do not fit beside each other
/// continue below. Encoders are sorted by their micro D, undefined ones behind them, anchors last.
/// Marks: `*` the lowest D of its column, `=` an interval that holds 50, `>` one above 50, `?` no interval.
/// With up to five findings each D has its interval; with more only the task's has.
/// @throws DataError where a table lacks a column.
std::string format_overview(const Overview& overview, std::int64_t width);

/// The panel of a task in two sentences: best, median, highest, anchor, range.
std::string panel_sentences(const Overview& overview, const std::string& task);

/// A line a family of tests of `task` ("": of the whole study): what was rejected, by which test, and what
/// that test can show at all (METHODS 5).
std::vector<std::string> family_lines(const Overview& overview, const std::string& task);

/// What to look out for in `task`, a sentence each: cells not scored, rows left out, patients that repeat,
/// few patients, ties, fallback contexts, undefined resamples.
std::vector<std::string> warnings(const Overview& overview, const OverviewTask& task);

}  // namespace candor::report
