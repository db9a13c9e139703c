#pragma once

/// A table of the results file as text in one of five formats.

#include <string>
#include <string_view>

#include "candor/store/table.hpp"

namespace candor::report {

/// `text`, `md` and `tex` are for people (see cell_text.hpp: percentages, rounded); `csv` and `json` are for
/// programs: names as stored, fractions, every digit.
enum class Format { text, csv, json, md, tex };

/// @throws UsageError naming the formats, and the nearest, where `name` is none.
Format parse_format(std::string_view name);

/// The whole table, lines ending in LF.
/// - text: aligned columns, numbers to the right; lines are as wide as they must be and never wrapped.
/// - csv: RFC 4180 with a header; undefined reals are empty fields.
/// - json: an array with one object a row; undefined reals are null.
/// - md: a GitHub table.
/// - tex: one tabular for the package booktabs.
/// @pre columns of equal length.
std::string format_table(const store::ResultTable& table, Format format);

}  // namespace candor::report
