#include "candor/report/rate.hpp"

#include "candor/report/table_columns.hpp"

namespace candor::report {

Rate rate_of(const store::ResultTable& table, std::size_t row) {
    const double d = reals(table, "d")[row], mid = reals(table, "rate_mid")[row];
    const bool excludes_half = integers(table, "excludes_half")[row] != 0;
    if (2 * (mid - d) > notable_ties) return {mid, NAN, NAN, excludes_half, true};
    return {d, reals(table, "d_low")[row], reals(table, "d_high")[row], excludes_half, false};
}

}  // namespace candor::report
