#pragma once

/// Rows and columns of a table that the user asks for: `--where` and `--columns`.

#include <string>
#include <string_view>
#include <vector>

#include "candor/store/table.hpp"

namespace candor::report {

/// `column=value` or `column!=value`.
struct Condition {
    std::string column;
    bool equal = true;
    std::string value;

    std::string text() const { return column + (equal ? "=" : "!=") + value; }
};

/// @throws UsageError where `text` has no `=` or no column before it.
Condition parse_condition(std::string_view text);

/// The rows of `table` that meet every condition, in their order. Text compares byte for byte; whole numbers
/// and reals compare as stored, as numbers (0.50 is 0.5), and `nan` finds what is undefined.
/// @throws UsageError for an unknown column (naming the nearest), or a value that is no number where
///         the column holds numbers.
store::ResultTable select_rows(const store::ResultTable& table, const std::vector<Condition>& conditions);

/// The named columns of `table`, in the order of `names`.
/// @throws UsageError for an unknown column (naming the nearest) or one named twice.
store::ResultTable select_columns(const store::ResultTable& table, const std::vector<std::string>& names);

/// Why `conditions` may have met no row: the first that alone meets none, with the column's nearest value
/// where one is near. "" where each alone meets some.
std::string explain_empty(const store::ResultTable& table, const std::vector<Condition>& conditions);

}  // namespace candor::report
