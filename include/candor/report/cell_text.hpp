#pragma once

/// How a value is printed for people, decided by its column's name in one table (src/report/cell_text.cpp):
/// shares are percentages with one decimal, probabilities have three significant digits, caps three decimals.
/// What is stored stays a fraction.

#include <cstdint>
#include <string>
#include <string_view>

#include "candor/store/table.hpp"

namespace candor::report {

enum class ColumnKind {
    text,
    whole,        ///< counts and flags, as they are
    share,        ///< a rate, an area or a bound on one: percent, one decimal
    probability,  ///< p and q: three significant digits without trailing zeros, e.g. 0.012, 2.0e-05
    cap,          ///< normalised margins of METHODS 3.3: three decimals
    mixed,        ///< `panels`, `associations`: a share or another number, as the row says
    real,         ///< anything else: four significant digits
};

ColumnKind kind_of(const store::ResultTable& table, const store::Column& column);

/// The column's name, with " %" where its values are printed as percentages.
std::string heading(const store::ResultTable& table, const store::Column& column);

/// The value in `row` of `column`, unescaped; "-" where it is undefined (NaN), never "-0.0".
std::string cell_text(const store::ResultTable& table, const store::Column& column, std::int64_t row);

/// A fraction as a percentage with one decimal: 0.277 is "27.7"; "-" for NaN.
std::string percent(double fraction);
/// `value` with `digits` significant digits, trailing zeros dropped: "0.012", "2.0e-05", "1"; "-" for NaN.
std::string significant(double value, int digits);

}  // namespace candor::report
