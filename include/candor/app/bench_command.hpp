#pragma once

/// `candor bench [FEATURES]`.

#include <string>
#include <vector>

namespace candor::app {

/// Times candor's kernels beside their peers on this machine and prints the ratios, in about a minute.
/// @returns the exit code.
int bench_command(const std::vector<std::string>& arguments);

}  // namespace candor::app
