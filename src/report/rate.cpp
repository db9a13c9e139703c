#include "candor/report/rate.hpp"

#include <cmath>

#include "candor/report/table_columns.hpp"

namespace candor::report {

Rate rate_of(const store::ResultTable& table, std::size_t row) {
    const auto [d, low, high] = read_share(table, row, "d", "d_low", "d_high");
    const double mid = reals(table, "rate_mid")[row];
    const bool excludes_half = integers(table, "excludes_half")[row] != 0;
    if (2 * (mid - d) > notable_ties) return {mid, NAN, NAN, excludes_half, true};
    return {d, low, high, excludes_half, false};
}

}  // namespace candor::report
