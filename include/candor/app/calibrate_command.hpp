#pragma once

/// `candor calibrate`: the proofs that the instrument works, on this machine (METHODS 12).

#include <string>
#include <vector>

namespace candor::app {

/// @returns 0, or 1 where a proof fails. @throws UsageError for bad options, MachineError where the output
/// cannot be written.
int calibrate_command(const std::vector<std::string>& arguments);

}  // namespace candor::app
