#pragma once

/// One table of two results files, row beside row.

#include <string>
#include <vector>

#include "candor/store/table.hpp"

namespace candor::report {

/// D of two tables `cells`, `findings` or `tasks` (the same of both), matched by their names: the keys, then
/// `d_a`, `d_a_low`, `d_a_high`, `d_b`, ..., `difference` (b - a) and `change`:
/// - `same`: the same bits;
/// - `within`: one value lies in the other's interval; `near`: neither does, but the intervals overlap;
/// - `beyond`: the intervals lie apart. Of independent samples of like size this is stricter than a test at their
///   level; of the same images, whose rates move together, it may miss what a paired test would show. No test;
/// - `unjudged`: other values, of which one has no interval, or one without width;
/// - `defined`, `undefined`: only b has a value, only a; `only a`, `only b`: a row of one file.
/// Rows are in a's order, those of b alone behind. @throws DataError where a column is missing.
store::ResultTable compare_rates(const store::ResultTable& a, const store::ResultTable& b);

}  // namespace candor::report
