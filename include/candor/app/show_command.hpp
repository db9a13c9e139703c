#pragma once

/// `candor show OUT.h5 [TABLE]`: a results file on the terminal, or a table of it for a program.

#include <string>
#include <vector>

namespace candor::app {

/// Prints the overview of a results file, or with TABLE one table (`--format`, `--where`, `--columns`), or
/// with `--list` what tables there are. Results go to standard output, notes to standard error; a reader that
/// closes the pipe early ends the command quietly.
/// @param arguments what follows `show` on the command line.
/// @returns the exit code, 0.
/// @throws UsageError for unknown options, tables, columns and formats (naming the nearest known one),
///         DataError for a file that is no results file, MachineError where standard output cannot be
///         written.
int show_command(const std::vector<std::string>& arguments);

}  // namespace candor::app
