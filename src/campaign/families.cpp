#include "candor/campaign/families.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "candor/stats/bootstrap_p.hpp"
#include "candor/stats/fdr.hpp"

namespace candor::campaign {

TestFamily TestFamily::bootstrap(std::string name, std::string task) {
    // Tests with fewer valid resamples have a higher floor than the family's.
    return {std::move(name), std::move(task), "bootstrap", {}, 1};
}

void TestFamily::add(const instruments::Replicates& replicates, double null) {
    const bool defined = !std::isnan(replicates.observed);
    p.push_back(defined ? stats::bootstrap_p(replicates.resampled, null)
                        : std::numeric_limits<double>::quiet_NaN());
    const auto valid = std::ssize(replicates.resampled) -
                       std::ranges::count_if(replicates.resampled, [](double v) { return std::isnan(v); });
    if (valid > 0) smallest_p = std::min(smallest_p, stats::smallest_bootstrap_p(valid));
}

std::vector<Verdict> TestFamily::verdicts(double alpha) const {
    const std::vector<double> q = stats::benjamini_hochberg(p);
    std::vector<Verdict> all;
    for (std::size_t i = 0; i < p.size(); ++i) all.push_back({p[i], q[i], q[i] <= alpha});
    return all;
}

void put_verdict(Rows& rows, const Verdict& verdict) {
    rows.put("p", verdict.p);
    rows.put("q", verdict.q);
    rows.put("reject", verdict.reject);
}

store::ResultTable families_table(const study::Study& study, std::span<const TestFamily> families) {
    Rows rows("families");
    for (const TestFamily& family : families) {
        const stats::Family summary = stats::summarise_family(family.p, study.test.alpha, family.smallest_p);
        rows.begin();
        rows.put("family", family.name);
        rows.put("task", family.task);
        rows.put("test", family.test);
        rows.put("m", summary.tests);
        rows.put("undefined", summary.undefined);
        rows.put("alpha", study.test.alpha);
        rows.put("smallest_p", summary.smallest_p);
        rows.put("at_floor", summary.at_smallest);
        rows.put("needed", summary.needed.value_or(-1));
        rows.put("rejected", summary.rejected);
    }
    return rows.take();
}

}  // namespace candor::campaign
