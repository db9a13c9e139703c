#pragma once

/// `candor pairs OUT.h5 --close A --far B`.

#include <string>
#include <vector>

namespace candor::app {

/// Lists the opposite-label pairs that encoder A holds close and encoder B holds far, as CSV. Runs under
/// mpirun or srun, or alone. @returns the exit code.
int pairs_command(const std::vector<std::string>& arguments);

}  // namespace candor::app
