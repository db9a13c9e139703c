#pragma once

/// The text files of a synthetic study.

#include <string>

#include "candor/synth/plan.hpp"

namespace candor::synth {

/// The dataset table (DESIGN 4) of dataset `d`.
void write_table(Plan& plan, std::size_t d, const std::string& path);

/// The boxes of its evidence: one or two an (image, region), a few of them blank, on images of 1024 x 1024
/// pixels.
void write_boxes(Plan& plan, std::size_t d, const std::string& path);

/// Rows of planted.csv for one encoder of a task: its cells, its findings over contexts, the task over
/// findings.
std::string planted_rows(Plan& plan, std::size_t task, std::size_t encoder);
inline constexpr std::string_view planted_header =
    "task,encoder,level,finding,context,n,queries,d,standard_error,simulated\n";

/// `text` as a CSV cell.
std::string csv_cell(const std::string& text);

}  // namespace candor::synth
