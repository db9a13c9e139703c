#include "candor/base/error.hpp"

#include <utility>

namespace candor {

namespace {

/// A failure is one line, whatever the file held.
std::string one_line(std::string text) {
    for (char& c : text) {
        if (c == '\n' || c == '\r') c = ' ';
    }
    return text;
}

std::string join(const std::string& head, const std::string& body, const std::string& remedy) {
    std::string line = head.empty() ? body : head + ": " + body;
    if (!remedy.empty()) line += "; " + remedy;
    return one_line(std::move(line));
}

}  // namespace

UsageError::UsageError(std::string subject, std::string rule)
    : Error(ExitCode::usage, join(subject, rule, {})), subject_(std::move(subject)), rule_(std::move(rule)) {}

std::string Place::text() const {
    std::string text = file;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    if (row) add("row " + std::to_string(*row));
    if (!column.empty()) add("column \"" + column + '"');
    if (!id.empty()) add("id \"" + id + '"');
    return text;
}

DataError::DataError(Place place, std::string fault, std::string remedy)
    : Error(ExitCode::data, join(place.text(), fault, remedy)),
      place_(std::move(place)),
      fault_(std::move(fault)),
      remedy_(std::move(remedy)) {}

MachineError::MachineError(std::string subject, std::string fault, std::string remedy)
    : Error(ExitCode::machine, join(subject, fault, remedy)), subject_(std::move(subject)) {}

InternalError::InternalError(const char* expression, const char* file, int line, const std::string& values)
    : Error(ExitCode::internal, one_line(std::string("internal fault: ") + expression + " does not hold at " +
                                         file + ":" + std::to_string(line) + " (" + values +
                                         "); please report this with the command you ran")) {}

}  // namespace candor
