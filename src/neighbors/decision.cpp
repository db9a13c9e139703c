#include "candor/neighbors/decision.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/neighbors/row_set.hpp"

namespace candor::neighbors {

void audit_choice([[maybe_unused]] const RowSource& source, [[maybe_unused]] std::span<const ContextRow> list,
                  [[maybe_unused]] ContextRow query, [[maybe_unused]] const Reach& reach,
                  [[maybe_unused]] std::span<const Neighbor> chosen) {
#ifdef CANDOR_AUDIT
    std::vector<ContextRow> which(list.begin(), list.begin() + reach.end);
    which.push_back(query);
    const RowSet rows(source.read(which));
    const ContextRow own(reach.end);
    std::size_t before = 0;
    for (std::int64_t j = 0; j < reach.end; ++j) {
        if (j == reach.skip) continue;
        const Neighbor one{rows.cosine(own, ContextRow(j)), j};
        before += comes_before(one, chosen.back());
    }
    CANDOR_REQUIRE(before + 1 == chosen.size(), "row " + std::to_string(query.value) + ", " +
                                                    std::to_string(before) +
                                                    " candidates come before the last");
#endif
}

}  // namespace candor::neighbors
