#pragma once

/// `candor embed`: from images to feature files.

#include <string>
#include <vector>

namespace candor::app {

/// @param arguments the words after "embed". @returns the exit code.
int embed_command(const std::vector<std::string>& arguments);

}  // namespace candor::app
