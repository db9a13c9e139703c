#pragma once

/// What several figures have: names, rows, axes, chance.

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "candor/report/report_data.hpp"

namespace candor::report {

inline constexpr std::size_t most_findings = 60;           // of a figure; more are in the tables
inline constexpr std::size_t most_findings_in_words = 16;  // columns that leave room for their numbers
inline constexpr std::size_t name_length = 26;

/// Labels of encoders, cut at `length`; anchors are marked.
std::vector<std::string> labels_of(const ReportData& data, const std::vector<std::string>& encoders,
                                   std::size_t length = name_length);

/// A number of a script.
std::string text_of(double number);

/// A broken line between two points of gnuplot's.
std::string chance_line(const std::string& from, const std::string& to);

/// The end of an axis from 0 that holds `largest` percent and, always, chance.
double upper_end(double largest);

/// "95 % interval over patients".
std::string interval_words(const ReportData& data);

/// The plot's rectangle in inches from the edges: gnuplot guesses the room that names take, and badly.
std::string frame(double width, double height, double left, double right, double top, double bottom);

/// Rows under each other with names on the left.
struct Rows {
    double width, height;
    std::string frame;
};

/// @param row_height, right  inches: of a row; right of the axis
Rows rows_frame(const std::vector<std::string>& labels, double row_height, double right);

/// The plot of `name`.csv, whose columns are a row's number, its value, both ends of its interval and 0 or 1:
/// a circle or, for 1, a triangle in another colour.
std::string intervals_in_rows(const std::string& name);

/// The name of the task in names of files.
std::string file_of(const ReportData& data, const std::string& task);

/// Rows of the table `findings`: the rates of (encoder, finding) of a task.
std::map<std::pair<std::string, std::string>, std::size_t> finding_rows(const ReportData& data,
                                                                        const std::string& task);

/// The findings of a task that have a row, in the study's order.
std::vector<std::string> scored_findings(const ReportData& data, const std::string& task);

/// What a caption says of findings that are not drawn; nothing where all are.
std::string cut_words(std::size_t shown, std::size_t all);

}  // namespace candor::report
