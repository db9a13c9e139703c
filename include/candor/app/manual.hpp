#pragma once

/// Man pages and shell completion, made of the very descriptions that `--help` prints.

#include <boost/program_options.hpp>
#include <string>
#include <vector>

namespace candor::app {

/// What a command tells of itself.
struct CommandHelp {
    std::string name, purpose, usage;
    boost::program_options::options_description options;
};

/// Runs a command's `--help` without printing it. @param run the command as in main's table.
CommandHelp help_of(const std::string& name, const std::string& purpose,
                    int (*run)(const std::vector<std::string>&));

/// A page of section 1 in man's macros.
std::string man_page(const CommandHelp& help);

/// A script for bash: completes commands, their options, and names of files.
std::string bash_completion(const std::vector<CommandHelp>& commands);

}  // namespace candor::app
