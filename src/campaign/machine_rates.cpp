#include "candor/campaign/machine_rates.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/store/output_file.hpp"
#include "candor/study/section.hpp"

namespace candor::campaign {

namespace {

constexpr std::string_view first_line =
    "# What candor's pieces of work take on one thread of this machine, in seconds. Written by candor "
    "bench\n";

/// The single numbers, as they are called in a profile.
struct Named {
    const char* key;
    double MachineRates::*value;
    const char* meaning;
};

constexpr Named numbers[] = {
    {"start", &MachineRates::start, "a rank, until it reads its study"},
    {"open", &MachineRates::open, "a feature file opened"},
    {"audit_value", &MachineRates::audit_value, "a feature read and looked at"},
    {"audit_row", &MachineRates::audit_row, "a row of a feature file joined by its id"},
    {"build", &MachineRates::build, "a row of a census and a list"},
    {"world", &MachineRates::world, "a row in a permutation, read off its list"},
    {"counting", &MachineRates::counting, "a case made ready for the resamples"},
    {"draw", &MachineRates::draw, "a patient in a resample"},
    {"sum", &MachineRates::sum, "a row in a resample, in a rate"},
    {"pair", &MachineRates::pair, "a row in a resample, in an AUROC"},
    {"tally", &MachineRates::tally, "a resample of a cell"},
    {"rank", &MachineRates::rank, "a row in a resample, in a rank correlation"},
    {"retention", &MachineRates::retention, "a feature of an erased row compared"},
    {"summary", &MachineRates::summary, "a resample of a statistic, in its interval"},
    {"overlap", &MachineRates::overlap, "a positive of a pair of encoders"},
    {"overlap_context", &MachineRates::overlap_context, "a context of a pair of encoders"},
    {"write", &MachineRates::write, "a byte of the results file"},
    {"text", &MachineRates::text, "a text of the results file"},
};

struct NamedOfSearch {
    const char* key;
    double SearchRates::*value;
    const char* meaning;
};

constexpr NamedOfSearch of_search[] = {
    {"look", &SearchRates::look, "a census on a rank"},
    {"look_row", &SearchRates::look_row, "a row looked at for the centre and the directions"},
    {"load", &SearchRates::load, "a row read and centred"},
    {"product", &SearchRates::product, "a pair of rows multiplied and scanned"},
    {"fill", &SearchRates::fill, "a list that a query asks, its first neighbours"},
    {"decide", &SearchRates::decide, "a list that a query asks, its neighbours decided"},
};

/// Four digits, more than such a time repeats to.
std::string toml_real(double value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, 3).ptr;
    return {text, end};
}

std::string line_of(const char* key, const std::string& value, const char* meaning) {
    std::string line = std::string(key) + " = " + value;
    if (line.size() < 36) line.resize(36, ' ');
    return line + " # " + meaning + '\n';
}

toml::table parse_toml(const std::string& file, std::string_view text) {
    try {
        return toml::parse(text);
    } catch (const toml::parse_error& error) {
        const toml::source_position at = error.source().begin;
        throw UsageError(file, "line " + std::to_string(at.line) + ", column " + std::to_string(at.column) +
                                   ": " + std::string(error.description()));
    }
}

bool is_possible(double value) {
    return value >= least_rate && value <= most_rate;
}

std::string possible() {
    return format_real(least_rate) + " to " + format_real(most_rate);
}

/// Begins the part of a profile; @throws MachineError where that cannot be written.
void write_part(const std::string& path, const std::string& text) {
    errno = 0;
    std::ofstream out(store::part_of(path), std::ios::binary);
    out << text;
    out.close();
    if (out) return;
    const int why = errno != 0 ? errno : EIO;
    store::discard(path);
    throw MachineError(path, std::string("cannot be written: ") + std::strerror(why),
                       "name a file in a folder that exists and can be written");
}

}  // namespace

std::string first_impossible(const MachineRates& rates) {
    for (const Named& one : numbers) {
        if (!is_possible(rates.*one.value)) return one.key;
    }
    for (const NamedOfSearch& one : of_search) {
        for (const SearchRates& of : rates.search) {
            if (!is_possible(of.*one.value)) return one.key;
        }
    }
    return {};
}

SearchRates MachineRates::at(std::int64_t dimension) const {
    CANDOR_REQUIRE(!search.empty(), "no rates of a search");
    const auto above = std::ranges::lower_bound(search, dimension, {}, &SearchRates::dimension);
    // The line between the two measured next to it; beyond the last, that of the last two.
    const auto last = search.size() - 1;
    const auto high = std::clamp<std::size_t>(static_cast<std::size_t>(above - search.begin()), 1,
                                              std::max<std::size_t>(1, last));
    if (last == 0) return search.front();
    const SearchRates &a = search[high - 1], &b = search[high];
    const double share =
        static_cast<double>(dimension - a.dimension) / static_cast<double>(b.dimension - a.dimension);
    SearchRates out;
    out.dimension = dimension;
    for (const NamedOfSearch& one : of_search) {
        const double value = a.*one.value + share * (b.*one.value - a.*one.value);
        out.*one.value = std::max(value, std::min(a.*one.value, b.*one.value) / 10);
    }
    return out;
}

std::string format_rates(const MachineRates& rates) {
    std::string text = std::string(first_line) +
                       "# --profile for candor plan --profile; measure anew where the machine or the build "
                       "changes.\n\nmachine = \"";
    for (const char c : rates.machine) {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
    }
    text += "\"\n\n[seconds]\n";
    for (const Named& one : numbers) text += line_of(one.key, toml_real(rates.*one.value), one.meaning);
    text += "\n[search]\n";
    const auto list = [&](const char* key, const char* meaning, auto number) {
        std::vector<std::string> values;
        for (const SearchRates& one : rates.search) values.push_back(number(one));
        text += line_of(key, '[' + join_text(values, ", ") + ']', meaning);
    };
    list("dimension", "feature columns", [](const SearchRates& r) { return std::to_string(r.dimension); });
    for (const NamedOfSearch& one : of_search)
        list(one.key, one.meaning, [&](const SearchRates& r) { return toml_real(r.*one.value); });
    return text;
}

MachineRates parse_rates(const std::string& file, std::string_view text) {
    const toml::table root = parse_toml(file, text);
    if (!root.contains("machine") || !root.contains("seconds") || !root.contains("search")) {
        throw UsageError(file, "is no profile of candor bench; candor bench --profile FILE writes one");
    }
    const std::set<std::string> none;
    study::Section whole(root, file, "", none);
    MachineRates rates;
    whole.text("machine", rates.machine, study::Need::required);
    whole.require(std::ranges::none_of(rates.machine, [](unsigned char c) { return c < ' ' || c == 0x7f; }),
                  "machine", "must be one line without control characters");
    study::Section seconds = whole.table("seconds", study::Need::required);
    study::Section search = whole.table("search", study::Need::required);
    whole.finish();
    const auto positive = [](study::Section& section, const char* key, double& value) {
        section.require(section.has(key), key, "is missing; measure anew with candor bench --profile");
        section.real(key, value);
        section.require(is_possible(value), key, "must be " + possible());
    };
    for (const Named& one : numbers) positive(seconds, one.key, rates.*one.value);
    seconds.finish();
    std::vector<double> dimension;
    search.reals("dimension", dimension);
    search.require(!dimension.empty(), "dimension", "must list at least one number of feature columns");
    rates.search.resize(dimension.size());
    for (std::size_t i = 0; i < dimension.size(); ++i) {
        search.require(
            dimension[i] >= 1 && dimension[i] <= 1e9 && (i == 0 || dimension[i] > dimension[i - 1]),
            "dimension", "must be whole numbers that rise");
        rates.search[i].dimension = static_cast<std::int64_t>(dimension[i]);
    }
    for (const NamedOfSearch& one : of_search) {
        std::vector<double> values;
        search.reals(one.key, values);
        search.require(values.size() == dimension.size() && std::ranges::all_of(values, is_possible), one.key,
                       "must list a number for each dimension, " + possible());
        for (std::size_t i = 0; i < values.size(); ++i) rates.search[i].*one.value = values[i];
    }
    search.finish();
    return rates;
}

bool is_rates_file(const std::string& path) {
    return read_file(path).starts_with(first_line);
}

MachineRates read_rates(const std::string& path) {
    return parse_rates(path, read_named_file(path));
}

void require_writable_rates(const std::string& path) {
    store::require_output_name(path);
    write_part(path, {});
    store::discard(path);
}

void write_rates(const std::string& path, const MachineRates& rates) {
    store::require_output_name(path);
    write_part(path, format_rates(rates));
    store::publish(path);
}

}  // namespace candor::campaign
