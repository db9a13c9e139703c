#pragma once

/// `candor synth --shape SHAPE -o DIR`.

#include <string>
#include <vector>

namespace candor::app {

/// Writes a synthetic study with known discordance rates into a folder. Runs under mpirun or srun, or alone.
/// @returns the exit code.
int synth_command(const std::vector<std::string>& arguments);

}  // namespace candor::app
