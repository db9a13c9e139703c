#pragma once

/// How the tables of the results file are filled: row by row.

#include "candor/instruments/summary.hpp"
#include "candor/store/table_rows.hpp"

namespace candor::campaign {

using Rows = store::TableRows;

inline void put_estimate(Rows& rows, const char* value, const char* low, const char* high,
                         const instruments::Estimate& e) {
    rows.put(value, e.value);
    rows.put(low, e.low);
    rows.put(high, e.high);
}

}  // namespace candor::campaign
