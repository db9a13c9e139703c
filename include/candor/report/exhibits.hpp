#pragma once

/// The paper's tables for whatever study it is. A column whose table the results file lacks is left out, and
/// a note of the exhibit says so.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "candor/report/exhibit.hpp"
#include "candor/report/report_data.hpp"

namespace candor::report {

/// Names of files that differ between tasks: the task's id where it is one, else with a number behind.
std::map<std::string, std::string> task_files(const ReportData& data);

/// Table 1: the data sets with the images and patients that asked, and the panel.
Exhibit datasets_exhibit(const ReportData& data);
Exhibit encoders_exhibit(const ReportData& data);

/// Table 2 of a task: its panel through each instrument, best and second best marked: D (lower is better),
/// margin AUROC and task AUROC (higher), retention (lower).
Exhibit panel_exhibit(const ReportData& data, const std::string& task);

/// Table 3: the tasks by collapse; by overlap of blind sets (stratified null) and error detection (impurity
/// beside confidence).
Exhibit tasks_exhibit(const ReportData& data);
Exhibit overlap_exhibit(const ReportData& data);

/// Table 4 of a task: consensus blind set, and errors of the heads under one encoder, most and all, by
/// finding.
Exhibit consensus_exhibit(const ReportData& data, const std::string& task);

/// Every rate of a task: encoder, finding, D, test against chance, margin AUROC.
Exhibit rates_exhibit(const ReportData& data, const std::string& task);

/// "below chance", "above chance" or "not told from chance" (and why not, where there is no test), for row
/// `row` of the table findings: by the test and its false discovery rate, never by the interval.
std::string verdict(const store::ResultTable& findings, std::size_t row);

/// "[95 % interval over patients]".
std::string interval_note(const ReportData& data);

/// A share whose interval is in columns of the same row.
ExhibitCell share_at(const store::ResultTable& table, std::size_t row, std::string_view value,
                     std::string_view low, std::string_view high);
/// The same with the columns BOUND_low and BOUND_high.
ExhibitCell bounded_share_at(const store::ResultTable& table, std::size_t row, std::string_view value,
                             std::string_view low, std::string_view high, const std::string& bound);

/// The share `miss` or `false_alarm` of a row of the table `selection`, with its interval and its bound.
ExhibitCell errors_at(const store::ResultTable& selection, std::size_t row, const std::string& rate);
/// Says, of an exhibit that has bounds, what they are.
void note_bounds(Exhibit& exhibit);

/// AUROC of the linear heads of (encoder, finding) of `task`: over data sets, pairs within one only. Empty
/// where the file has no heads.
std::map<std::pair<std::string, std::string>, double> head_aurocs(const ReportData& data,
                                                                  const std::string& task);

}  // namespace candor::report
