#pragma once

/// `candor diff A.h5 B.h5`: what changed between two results files.

#include <string>
#include <vector>

namespace candor::app {

/// Prints how the runs and the studies differ and, of each table with rates, how many are the same, moved
/// within an interval or beyond; or with TABLE every row of one. @returns 0, changed or not.
/// @throws UsageError, DataError.
int diff_command(const std::vector<std::string>& arguments);

}  // namespace candor::app
