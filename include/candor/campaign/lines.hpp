#pragma once

/// Tables made of lines that are known before any is written: one without lines still names its columns.

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "candor/campaign/rows.hpp"
#include "candor/store/table.hpp"

namespace candor::campaign {

/// The table `name` with one row a line; `put(rows, line)` puts the columns of one.
template <class Line, class Put>
store::ResultTable table_of(std::string name, const std::vector<Line>& lines, Put put) {
    Rows rows(std::move(name));
    const auto add = [&](const Line& line) {
        rows.begin();
        put(rows, line);
    };
    for (const Line& line : lines) add(line);
    if (lines.empty()) add(Line{});  // for the names of its columns
    store::ResultTable table = rows.take();
    for (store::Column& column : table.columns) {
        if (lines.empty()) std::visit([](auto& values) { values.clear(); }, column.values);
    }
    return table;
}

}  // namespace candor::campaign
