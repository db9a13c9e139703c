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

/// A share as people read it: with its interval or, where every resample gives 0 or 1, its bound over
/// patients.
struct ReadShare {
    double value, low, high;
    std::string text() const { return with_interval(value, low, high); }
};
/// Of row `row`, whose bound is in `bound_low` and `bound_high`.
ReadShare read_share(const store::ResultTable& table, std::size_t row, std::string_view value,
                     std::string_view low, std::string_view high);
/// The errors on positives of a row of `selection`.
ReadShare missed(const store::ResultTable& selection, std::size_t row);

}  // namespace candor::report
