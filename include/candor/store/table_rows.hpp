#pragma once

/// How tables are filled: row by row, or from lines that are known before any is written.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "candor/store/table.hpp"

namespace candor::store {

/// Fills a table row by row, its columns made in the order in which the first row names them. Every row names
/// the same columns in the same order.
class TableRows {
  public:
    explicit TableRows(std::string name) { table_.name = std::move(name); }

    void begin() { column_ = 0; }
    void put(const std::string& name, const std::string& value) {
        values<std::string>(name).push_back(value);
    }
    void put(const std::string& name, std::int64_t value) { values<std::int64_t>(name).push_back(value); }
    void put(const std::string& name, double value) { values<double>(name).push_back(value); }
    void put(const std::string& name, bool value) { put(name, static_cast<std::int64_t>(value)); }
    void put(const std::string&, const char*) = delete;

    ResultTable take() { return std::move(table_); }

  private:
    template <class T>
    std::vector<T>& values(const std::string& name) {
        if (column_ == table_.columns.size()) table_.columns.push_back({name, std::vector<T>{}});
        return std::get<std::vector<T>>(table_.columns[column_++].values);
    }
    ResultTable table_;
    std::size_t column_ = 0;
};

/// The table `name` with one row a line; `put(rows, line)` puts the columns of one. A table without lines
/// still names its columns.
template <class Line, class Put>
ResultTable table_of(std::string name, const std::vector<Line>& lines, Put put) {
    TableRows rows(std::move(name));
    const auto add = [&](const Line& line) {
        rows.begin();
        put(rows, line);
    };
    for (const Line& line : lines) add(line);
    if (lines.empty()) add(Line{});  // for the names of its columns
    ResultTable table = rows.take();
    for (Column& column : table.columns) {
        if (lines.empty()) std::visit([](auto& values) { values.clear(); }, column.values);
    }
    return table;
}

}  // namespace candor::store
