#pragma once

/// A named table of typed columns: what the results file stores as one compound dataset and what `show`
/// prints.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace candor::store {

/// Whole numbers, reals (NaN: undefined) or text. Flags are whole numbers 0 and 1.
using ColumnValues = std::variant<std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

struct Column {
    std::string name;
    ColumnValues values;
};

/// Columns of equal length.
struct ResultTable {
    std::string name;
    std::deque<Column> columns;  ///< a deque, so that the references below survive further columns

    std::int64_t rows() const;
    /// The column of that name, or nullptr.
    const Column* find(std::string_view column) const;

    /// Appends a column; @returns its values to fill, valid as long as the table is not moved or copied over.
    std::vector<std::int64_t>& integers(std::string column);
    std::vector<double>& reals(std::string column);
    std::vector<std::string>& texts(std::string column);
};

}  // namespace candor::store
