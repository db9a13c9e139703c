#pragma once

/// Columns of a results table by name and type, for the sentences that are made of them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "candor/store/table.hpp"

namespace candor::report {

/// @throws DataError where the table has no such column of that type.
const std::vector<std::string>& texts(const store::ResultTable& table, std::string_view name);
const std::vector<double>& reals(const store::ResultTable& table, std::string_view name);
const std::vector<std::int64_t>& integers(const store::ResultTable& table, std::string_view name);

/// Row numbers of `table` that belong to `task`.
std::vector<std::size_t> rows_of(const store::ResultTable& table, const std::string& task);

/// "1 cell", "2 cells".
std::string counted(std::int64_t count, std::string_view one, std::string_view many);

/// "27.7 [25.1, 30.4]" of fractions, or without the interval where there is none.
std::string with_interval(double value, double low, double high);

/// The same of the share `miss` of a row of `selection`: its interval or, where every resample gives 0 or 1,
/// the bound over patients.
struct Missed {
    double value, low, high;
    std::string text() const { return with_interval(value, low, high); }
};
Missed missed(const store::ResultTable& selection, std::size_t row);

}  // namespace candor::report
