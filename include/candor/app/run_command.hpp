#pragma once

/// `candor run STUDY.toml -o OUT.h5`.

#include <string>
#include <vector>

namespace candor::app {

/// Runs under mpirun or srun, or alone. @returns the exit code.
int run_command(const std::vector<std::string>& arguments);

}  // namespace candor::app
