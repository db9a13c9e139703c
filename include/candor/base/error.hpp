#pragma once

/// The kinds of failure, each a type that carries its data (DESIGN 3). Whoever catches one prints `what()` as
/// the single line `candor: error: ...` and ends with `code()`.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace candor {

/// Exit codes of the program. Job scripts act on them, so they never change meaning.
enum class ExitCode : int {
    done = 0,          ///< all finished
    usage = 2,         ///< the command line or the study file is wrong
    data = 3,          ///< an input file is wrong
    machine = 4,       ///< disk, file system or MPI failed us
    internal = 70,     ///< a fault of candor itself
    interrupted = 75,  ///< stopped on a signal, all finished work kept
};

/// Base of all failures; `what()` is one line without the leading "candor: error: ".
class Error : public std::runtime_error {
  public:
    Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
    ExitCode code() const noexcept { return code_; }

  private:
    ExitCode code_;
};

/// The command line or the study file is wrong: `subject` is the option or `file: key`, `rule` what must
/// hold.
class UsageError : public Error {
  public:
    UsageError(std::string subject, std::string rule);
    const std::string& subject() const noexcept { return subject_; }
    const std::string& rule() const noexcept { return rule_; }

  private:
    std::string subject_, rule_;
};

/// A place in an input file. Rows are counted from 1 as an editor counts lines where the file is text, and
/// from 0 where it is an array. Only what is known is printed.
struct Place {
    std::string file;
    std::optional<std::int64_t> row{};
    std::string column{};
    std::string id{};

    std::string text() const;
};

/// An input file is wrong: `fault` says what, `remedy` what to do about it.
class DataError : public Error {
  public:
    DataError(Place place, std::string fault, std::string remedy = {});
    const Place& place() const noexcept { return place_; }
    const std::string& fault() const noexcept { return fault_; }
    const std::string& remedy() const noexcept { return remedy_; }

  private:
    Place place_;
    std::string fault_, remedy_;
};

/// The machine failed us: `subject` is the file or the service, `fault` what it answered.
class MachineError : public Error {
  public:
    MachineError(std::string subject, std::string fault, std::string remedy = {});
    const std::string& subject() const noexcept { return subject_; }

  private:
    std::string subject_;
};

/// A broken promise inside candor: the expression, with the values that broke it.
class InternalError : public Error {
  public:
    InternalError(const char* expression, const char* file, int line, const std::string& values);
};

}  // namespace candor

/// Contract that holds in every build: throws InternalError with the expression and `values` (a std::string).
#define CANDOR_REQUIRE(expression, values) \
    ((expression) ? void(0) : throw ::candor::InternalError(#expression, __FILE__, __LINE__, (values)))
