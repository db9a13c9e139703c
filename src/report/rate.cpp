#include "candor/report/rate.hpp"

#include <cmath>

#include "candor/report/table_columns.hpp"

namespace candor::report {

Rate rate_of(const store::ResultTable& table, std::size_t row) {
    const double d = reals(table, "d")[row], mid = reals(table, "rate_mid")[row];
    const bool excludes_half = integers(table, "excludes_half")[row] != 0;
    if (2 * (mid - d) > notable_ties) return {mid, NAN, NAN, excludes_half, true};
    const bool bounded = !std::isnan(reals(table, "bound_low")[row]);
    return {d, reals(table, bounded ? "bound_low" : "d_low")[row],
            reals(table, bounded ? "bound_high" : "d_high")[row], excludes_half, false};
}

}  // namespace candor::report
