#include "candor/neighbors/decision.hpp"

#include <cstdint>
#include <string>

#include "candor/base/error.hpp"

namespace candor::neighbors {

void audit_choice([[maybe_unused]] const RowSet& rows, [[maybe_unused]] std::span<const ContextRow> list,
                  [[maybe_unused]] ContextRow query, [[maybe_unused]] const Reach& reach,
                  [[maybe_unused]] std::span<const Neighbor> chosen) {
#ifdef CANDOR_AUDIT
    std::size_t before = 0;
    for (std::int64_t j = 0; j < reach.end; ++j) {
        if (j == reach.skip) continue;
        const Neighbor one{rows.cosine(query, list[static_cast<std::size_t>(j)]), j};
        before += comes_before(one, chosen.back());
    }
    CANDOR_REQUIRE(before + 1 == chosen.size(), "row " + std::to_string(query.value) + ", " +
                                                    std::to_string(before) +
                                                    " candidates come before the last");
#endif
}

}  // namespace candor::neighbors
