#pragma once

/// `candor check STUDY.toml`.

#include <string>
#include <vector>

namespace candor::app {

/// Audits every input of a study and prints what was seen. @returns 0, or 3 where something would make a
/// result wrong.
int check_command(const std::vector<std::string>& arguments);

}  // namespace candor::app
