#include "candor/app/manual.hpp"

#include "candor/app/options.hpp"
#include "candor/base/text.hpp"

namespace candor::app {

namespace {

/// Text of a page: nothing in it is a request, a hyphen is one that can be copied.
std::string roff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool first = out.empty() || out.back() == '\n';
        if (first && (c == '.' || c == '\'')) out += "\\&";
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out;
}

}  // namespace

CommandHelp help_of(const std::string& name, const std::string& purpose,
                    int (*run)(const std::vector<std::string>&)) {
    CommandHelp help{name, purpose, {}, {}};
    take_help([&](const std::string& usage, const boost::program_options::options_description& options) {
        help.usage = usage;
        for (const auto& option : options.options()) help.options.add(option);
    });
    run({"--help"});
    take_help(nullptr);
    return help;
}

std::string man_page(const CommandHelp& help) {
    std::string out = ".TH CANDOR\\-" + roff(help.name) + " 1\n.SH NAME\ncandor\\-" + roff(help.name) +
                      " \\- " + roff(help.purpose) + "\n.SH SYNOPSIS\n.nf\n" + roff(help.usage) +
                      "\n.fi\n.SH OPTIONS\n";
    for (const auto& option : help.options.options()) {
        const std::string value =
            option->semantic()->max_tokens() > 0 ? ' ' + option->format_parameter() : "";
        out += ".TP\n.B " + roff(option->format_name() + value) + '\n' + roff(option->description()) + '\n';
    }
    return out;
}

std::string bash_completion(const std::vector<CommandHelp>& commands) {
    std::vector<std::string> names;
    std::string cases;
    for (const CommandHelp& command : commands) {
        names.push_back(command.name);
        std::vector<std::string> words;
        for (const auto& option : command.options.options()) words.push_back("--" + option->long_name());
        cases += "        " + command.name + ") options=\"" + join_text(words, " ") + "\" ;;\n";
    }
    return "# Completion of candor for bash: source <(candor completion)\n"
           "_candor() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} options=\"\"\n"
           "    if ((COMP_CWORD == 1)); then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"" +
           join_text(names, " ") +
           " --help --version\" -- \"$word\")\n"
           "        return\n"
           "    fi\n"
           "    case ${COMP_WORDS[1]} in\n" +
           cases +
           "    esac\n"
           "    [[ $word == -* ]] || return 0\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
           "}\n"
           "complete -o default -F _candor candor\n";
}

}  // namespace candor::app
