#pragma once

/// How the tables of the results file are filled: row by row.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "candor/instruments/summary.hpp"
#include "candor/store/table.hpp"

namespace candor::campaign {

/// Fills a table row by row, its columns made in the order in which the first row names them. Every row names
/// the same columns in the same order.
class Rows {
  public:
    explicit Rows(std::string name) { table_.name = std::move(name); }

    void begin() { column_ = 0; }
    void put(const char* name, const std::string& value) { values<std::string>(name).push_back(value); }
    void put(const char* name, std::int64_t value) { values<std::int64_t>(name).push_back(value); }
    void put(const char* name, double value) { values<double>(name).push_back(value); }
    void put(const char* name, bool value) { put(name, static_cast<std::int64_t>(value)); }
    void put(const char*, const char*) = delete;

    store::ResultTable take() { return std::move(table_); }

  private:
    template <class T>
    std::vector<T>& values(const char* name) {
        if (column_ == table_.columns.size()) table_.columns.push_back({name, std::vector<T>{}});
        return std::get<std::vector<T>>(table_.columns[column_++].values);
    }
    store::ResultTable table_;
    std::size_t column_ = 0;
};

inline void put_estimate(Rows& rows, const char* value, const char* low, const char* high,
                         const instruments::Estimate& e) {
    rows.put(value, e.value);
    rows.put(low, e.low);
    rows.put(high, e.high);
}

}  // namespace candor::campaign
