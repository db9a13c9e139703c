#include "candor/report/table_columns.hpp"

#include <cmath>
#include <variant>

#include "candor/base/error.hpp"
#include "candor/report/cell_text.hpp"

namespace candor::report {

namespace {

template <class T>
const std::vector<T>& column(const store::ResultTable& table, std::string_view name) {
    const store::Column* found = table.find(name);
    const auto* values = found ? std::get_if<std::vector<T>>(&found->values) : nullptr;
    if (!values) {
        throw DataError({.file = "table " + table.name, .column = std::string(name)},
                        "the column is missing or of another type",
                        "the file was not written by this version of candor");
    }
    return *values;
}

}  // namespace

const std::vector<std::string>& texts(const store::ResultTable& table, std::string_view name) {
    return column<std::string>(table, name);
}
const std::vector<double>& reals(const store::ResultTable& table, std::string_view name) {
    return column<double>(table, name);
}
const std::vector<std::int64_t>& integers(const store::ResultTable& table, std::string_view name) {
    return column<std::int64_t>(table, name);
}

std::vector<std::size_t> rows_of(const store::ResultTable& table, const std::string& task) {
    const auto& tasks = texts(table, "task");
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (tasks[i] == task) rows.push_back(i);
    }
    return rows;
}

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
    return std::to_string(count) + ' ' + std::string(count == 1 ? one : many);
}

std::string with_interval(double value, double low, double high) {
    return percent(value) + (std::isnan(low) ? "" : " [" + percent(low) + ", " + percent(high) + ']');
}

ReadShare read_share(const store::ResultTable& table, std::size_t row, std::string_view value,
                     std::string_view low, std::string_view high) {
    const bool bounded = !std::isnan(reals(table, "bound_low")[row]);
    return {reals(table, value)[row], reals(table, bounded ? "bound_low" : low)[row],
            reals(table, bounded ? "bound_high" : high)[row]};
}

ReadShare missed(const store::ResultTable& selection, std::size_t row) {
    return read_share(selection, row, "miss", "miss_low", "miss_high");
}

}  // namespace candor::report
