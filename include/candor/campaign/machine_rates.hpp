#pragma once

/// What a processor of a machine takes for the pieces that a run is made of: measured by `candor bench
/// --profile`, read by `candor plan`.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace candor::campaign {

/// What the search takes at one number of feature columns, in processor seconds.
struct SearchRates {
    std::int64_t dimension = 0;
    double look = 0;      ///< a census on a rank: its directions made orthogonal, and what else does not grow
    double look_row = 0;  ///< a row that is looked at beforehand, for the centre and the directions
    double load = 0;      ///< a row read and centred
    double product = 0;   ///< a pair of rows whose tile is multiplied out and scanned
    double fill = 0;    ///< a list that a query asks: its first neighbours, on each rank that looks for them
    double decide = 0;  ///< the same: its neighbours decided
};

/// Processor seconds of one thread.
struct MachineRates {
    std::string machine;              ///< where they were measured, for people
    double start = 0;                 ///< a rank, until it reads its study
    double open = 0;                  ///< a feature file opened
    double audit_value = 0;           ///< a feature read and looked at
    double audit_row = 0;             ///< a row of a feature file joined by its id
    double build = 0;                 ///< a row of a census and a list, put into order
    std::vector<SearchRates> search;  ///< by dimension, ascending
    double world = 0;                 ///< a row in a permutation or a draw, read off its list
    double counting = 0;              ///< a case, under a rule, made ready for the resamples
    double draw = 0;                  ///< a patient in a resample
    double sum = 0;                   ///< a row in a resample, in a rate
    double pair = 0;                  ///< a row in a resample, in an AUROC
    double tally = 0;            ///< a resample of a cell: its figures, intervals and what they are sent in
    double rank = 0;             ///< a row in a resample, in a rank correlation
    double retention = 0;        ///< a feature of an erased row compared
    double summary = 0;          ///< a resample of a statistic, in its interval
    double overlap = 0;          ///< a pair of encoders: positives times the root of their contexts
    double overlap_context = 0;  ///< a pair of encoders: a context, whatever its size
    double write = 0;            ///< a byte of the results file
    double text = 0;             ///< a text of the results file

    /// At any dimension: on straight lines between those that were measured, and beyond them.
    SearchRates at(std::int64_t dimension) const;
};

/// No piece of work takes less or more than this on any machine, in seconds: what says otherwise was measured
/// beside other work, or is no measurement.
constexpr double least_rate = 1e-13, most_rate = 1e3;

/// The key of the first number that is not least_rate to most_rate; empty where there is none.
std::string first_impossible(const MachineRates& rates);

/// As TOML, numbers with four digits.
std::string format_rates(const MachineRates& rates);

/// @throws UsageError naming `file` where `text` is no such profile: syntax, an unknown or missing key, a
///         number outside least_rate to most_rate, dimensions that do not rise, control characters in the
///         machine's name.
MachineRates parse_rates(const std::string& file, std::string_view text);

/// Whether `path` begins as write_rates begins a profile, of whatever version. @throws DataError where it
/// cannot be read.
bool is_rates_file(const std::string& path);

/// The profile that `path` holds. @throws as parse_rates; UsageError where it cannot be read.
MachineRates read_rates(const std::string& path);

/// @throws UsageError or MachineError where a profile could not be written to `path`: to be asked before
///         measuring.
void require_writable_rates(const std::string& path);

/// Writes a profile under its final name once it is whole. @throws MachineError where it cannot be written.
void write_rates(const std::string& path, const MachineRates& rates);

}  // namespace candor::campaign
