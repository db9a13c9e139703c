#pragma once

/// `candor report OUT.h5 -o DIR`: tables, figures and a page of a results file.

#include <string>
#include <vector>

namespace candor::app {

/// Writes the folder DIR: `index.html`, `tables/` (CSV, Markdown, LaTeX), `figures/` (CSV, gnuplot script,
/// SVG, PDF). It appears whole or not at all. Without gnuplot the figures are left as scripts, with a
/// warning.
/// @returns the exit code, 0. @throws UsageError, DataError, MachineError.
int report_command(const std::vector<std::string>& arguments);

}  // namespace candor::app
