#pragma once

/// Families of tests (METHODS 5): each has its own false discovery rate and says where its tests stand.

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "candor/campaign/rows.hpp"
#include "candor/instruments/summary.hpp"
#include "candor/store/table.hpp"
#include "candor/study/study.hpp"

namespace candor::campaign {

/// What a family says of one of its tests; undefined outside any family.
struct Verdict {
    double p = std::numeric_limits<double>::quiet_NaN(), q = std::numeric_limits<double>::quiet_NaN();
    bool reject = false;
};

/// Columns p, q and reject.
void put_verdict(Rows& rows, const Verdict& verdict);

/// The p-values of one family, in the order of the rows that carry them; NaN: undefined, outside the family.
struct TestFamily {
    std::string name;
    std::string task;  ///< blank: a family of the whole study
    std::string test;  ///< how the p-values are made: bootstrap, permutation, hypergeometric, t or exact
    std::vector<double> p;
    double smallest_p = 0;  ///< the smallest that this test can give; 0: no floor

    /// A family of bootstrap tests, to be filled by `add`.
    static TestFamily bootstrap(std::string name, std::string task);
    /// The bootstrap p of `replicates` against `null` (METHODS 4); undefined where the observed value is.
    void add(const instruments::Replicates& replicates, double null);

    /// Of each p, in their order: Benjamini-Hochberg over those that are defined, rejected where q <= alpha.
    std::vector<Verdict> verdicts(double alpha) const;
};

/// families: a row each.
store::ResultTable families_table(const study::Study& study, std::span<const TestFamily> families);

}  // namespace candor::campaign
