#pragma once

/// Command lines, read the same way by every command.

#include <boost/program_options.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace candor::app {

/// The options that every command has (DESIGN 3).
struct CommonOptions {
    std::vector<std::string> overrides;  ///< --set section.key=value
    bool quiet = false, verbose = false, help = false;
    int threads = 0;
};

/// Adds --set, --quiet, --verbose, --threads and --help.
void add_common(boost::program_options::options_description& options, CommonOptions& into);

/// Parses `arguments` of command `command` into what `options` name; at most `most_places` words without a
/// dash are allowed and returned. Abbreviations are not guessed.
/// @throws UsageError for an unknown option (with the nearest known one), a missing or repeated value, a word
/// too many.
std::vector<std::string> parse_arguments(const std::string& command,
                                         const std::vector<std::string>& arguments,
                                         const boost::program_options::options_description& options,
                                         std::size_t most_places);

/// `text` as the whole number of an option like --threads. @throws UsageError naming `option` unless it is 1
/// to 1048576, beyond any use of threads, ranks or rows of a block.
std::int64_t parse_count(const std::string& option, const std::string& text);

/// The value of such an option. @throws as parse_count, when the command line is read.
template <class Integer>
boost::program_options::typed_value<std::string>* count_value(const std::string& option, Integer& into) {
    return boost::program_options::value<std::string>()->value_name("N")->notifier(
        [option, &into](const std::string& text) { into = static_cast<Integer>(parse_count(option, text)); });
}

/// The value of an option that names a file. @throws UsageError where the name is empty.
boost::program_options::typed_value<std::string>* file_value(const std::string& option, std::string& into);

/// `usage`, then the options with their texts, to standard output.
void print_help(const std::string& usage, const boost::program_options::options_description& options);

/// From now on `print_help` hands what it would print to `taker`; nullptr: it prints again.
void take_help(
    std::function<void(const std::string&, const boost::program_options::options_description&)> taker);

/// Writes results to standard output and makes sure that they arrived; a reader that closes the pipe early
/// ends the output quietly. @throws MachineError where it cannot be written.
void write_output(std::string_view text);

}  // namespace candor::app
