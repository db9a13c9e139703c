#pragma once

/// `candor plan STUDY.toml`.

#include <string>
#include <vector>

namespace candor::app {

/// Prints what a study will take at many rank counts; nothing is computed. @returns the exit code.
int plan_command(const std::vector<std::string>& arguments);

}  // namespace candor::app
