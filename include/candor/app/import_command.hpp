#pragma once

/// `candor import`: features of any origin to a feature file that candor reads, every row with its id.

#include <string>
#include <vector>

namespace candor::app {

/// Runs `candor import` with the arguments after the subcommand. @returns the exit code.
/// @throws UsageError, DataError and MachineError; nothing is written under the final name unless all is
/// well.
int import_command(const std::vector<std::string>& arguments);

}  // namespace candor::app
