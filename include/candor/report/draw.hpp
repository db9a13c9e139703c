#pragma once

/// Figures drawn by gnuplot, a program of its own.

#include <string>
#include <vector>

namespace candor::report {

/// Runs the scripts NAME.gp in folder `folder`, an absolute path or one from here, each by a gnuplot of its
/// own
/// ($PATH), without a shell. Each leaves NAME.svg and, where gnuplot has its cairo terminal, NAME.pdf.
/// @returns "" where all SVG files are there, else one line: what is missing and what to do.
std::string draw_figures(const std::string& folder, const std::vector<std::string>& names);

}  // namespace candor::report
