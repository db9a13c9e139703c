#include "candor/app/options.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <sstream>
#include <system_error>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/parallel/session.hpp"

namespace candor::app {

namespace po = boost::program_options;

namespace {

// Program_options wants a name for what has none; nobody types one with blanks.
constexpr const char* places_name = "words without a dash";

std::function<void(const std::string&, const po::options_description&)> help_taker;

}  // namespace

void add_common(po::options_description& options, CommonOptions& into) {
    options.add_options()  //
        ("set", po::value(&into.overrides)->composing()->value_name("SECTION.KEY=VALUE"),
         "override a key of the study file; may be given several times")  //
        ("threads", count_value("--threads", into.threads),
         "threads a rank (default: the rank's share of the processors)")       //
        ("quiet", po::bool_switch(&into.quiet), "warnings and errors only")    //
        ("verbose", po::bool_switch(&into.verbose), "say what is being done")  //
        ("help", po::bool_switch(&into.help), "this text");
}

std::vector<std::string> parse_arguments(const std::string& command,
                                         const std::vector<std::string>& arguments,
                                         const po::options_description& options, std::size_t most_places) {
    std::vector<std::string> places;
    po::options_description all;
    all.add(options).add_options()(places_name, po::value(&places));
    po::positional_options_description positional;
    positional.add(places_name, -1);
    try {
        po::variables_map values;
        // No guessing: an abbreviation is an unknown option.
        const auto style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
        po::store(po::command_line_parser(arguments).options(all).positional(positional).style(style).run(),
                  values);
        po::notify(values);
    } catch (const po::unknown_option& unknown) {
        std::vector<std::string> names;
        for (const auto& option : options.options()) names.push_back("--" + option->long_name());
        const std::string near = nearest_name(unknown.get_option_name(), names);
        throw UsageError(unknown.get_option_name(), "candor " + command + " has no such option; " +
                                                        (near.empty() ? "it has " + join_text(names, ", ")
                                                                      : "did you mean " + near + "?"));
    } catch (const po::error& wrong) {
        throw UsageError("candor " + command, wrong.what());
    }
    if (places.size() > most_places) {
        throw UsageError("candor " + command, "\"" + places[most_places] +
                                                  "\" is a word too many; see candor " + command + " --help");
    }
    return places;
}

std::int64_t parse_count(const std::string& option, const std::string& text) {
    constexpr std::int64_t most = 1 << 20;
    const auto count = parse_integer(text);
    if (count && *count >= 1 && *count <= most) return *count;
    throw UsageError(option + " " + text, "must be a whole number, 1 to " + std::to_string(most));
}

po::typed_value<std::string>* file_value(const std::string& option, std::string& into) {
    return po::value(&into)->value_name("FILE")->notifier([option](const std::string& name) {
        if (name.empty()) throw UsageError(option, "has an empty name; name a file");
    });
}

void print_help(const std::string& usage, const po::options_description& options) {
    if (help_taker) return help_taker(usage, options);
    if (parallel::launched_rank() != 0) return;  // once, not once a rank
    std::ostringstream text;
    text << usage << "\nOptions:\n" << options;
    write_output(std::move(text).str());
}

void take_help(std::function<void(const std::string&, const po::options_description&)> taker) {
    help_taker = std::move(taker);
}

void write_output(std::string_view text) {
    std::signal(SIGPIPE, SIG_IGN);
    while (!text.empty()) {
        const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EPIPE) {
            return;
        } else if (errno != EINTR) {
            throw MachineError("standard output", std::generic_category().message(errno));
        }
    }
}

}  // namespace candor::app
