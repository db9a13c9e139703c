#pragma once

/// A table as a paper has it, in the formats a paper, a repository and a program want.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace candor::report {

enum class ValueKind {
    text,
    count,        ///< whole number
    share,        ///< fraction; for people a percentage with one decimal and, where it has one, its interval
    probability,  ///< three significant digits
    number,       ///< three significant digits
    magnitude,    ///< a large count in words: 86M, 1.1B
};

enum class Mark { none, best, second };

struct ExhibitColumn {
    std::string title;  ///< for people
    std::string key;    ///< for programs
    ValueKind kind = ValueKind::text;
    bool interval = false;  ///< shares only: programs get KEY, KEY_low and KEY_high
    bool bounded = false;  ///< and KEY_bound_low and KEY_bound_high, which people get in the interval's place
};

/// Only what its column's kind asks for is read.
struct ExhibitCell {
    std::string text;
    double value = NAN, low = NAN, high = NAN;  ///< NaN: undefined
    double bound_low = NAN, bound_high = NAN;   ///< of a share that no resample moves; NaN: none
    std::int64_t count = absent;
    Mark mark = Mark::none;

    static constexpr std::int64_t absent = std::numeric_limits<std::int64_t>::min();
    static ExhibitCell of_text(std::string text);
    static ExhibitCell of_count(std::int64_t count);
    static ExhibitCell of(double value, double low = NAN, double high = NAN);
};

struct Exhibit {
    std::string name;                  ///< of its files, safe in any
    std::string title;                 ///< "Table 2. Chest: the panel ..."
    std::string caption;               ///< what the columns mean
    std::vector<std::string> notes{};  ///< what is left out, and why
    std::vector<ExhibitColumn> columns{};
    std::vector<std::vector<ExhibitCell>> rows{};
};

/// Which end of a column is good.
enum class Better { lower, higher };

/// Marks the best and the second best value of column `column`; equal values share a mark, and two best have
/// no second. Fewer than three defined values are not marked.
void mark_best(Exhibit& exhibit, std::size_t column, Better better);

/// RFC 4180: fractions with every digit, undefined values empty, no marks and no notes.
std::string exhibit_csv(const Exhibit& exhibit);
/// A GitHub table under its title, caption and notes below; best bold, second best in italics.
std::string exhibit_markdown(const Exhibit& exhibit);
/// A table environment for the package booktabs, longtable where it is longer than a page; best bold, second
/// best underlined. The packages it needs stand in its first line.
std::string exhibit_latex(const Exhibit& exhibit);
/// A table element with caption, scopes and sort keys; best bold, second best underlined, both said in words
/// to those who do not see it.
std::string exhibit_html(const Exhibit& exhibit);

/// The value as it is printed for people, unescaped; "-" where undefined.
std::string value_text(const ExhibitColumn& column, const ExhibitCell& cell);

}  // namespace candor::report
