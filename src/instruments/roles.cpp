#include "candor/instruments/roles.hpp"

#include <algorithm>
#include <string>

#include "candor/base/error.hpp"

namespace candor::instruments {

namespace {

/// The rows of one side that may be candidates, in key order: all, or the first of each patient.
std::vector<std::size_t> entries_of(std::span<const LabelledRow> rows, const RoleRules& rules,
                                    std::span<const std::uint8_t> part, int side, std::vector<bool>& seen) {
    std::vector<std::size_t> entries;
    seen.assign(seen.size(), false);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (part[i] == 0 || rows[i].label != side || !rows[i].answers) continue;
        if (rules.by_patient) {
            const auto patient = static_cast<std::size_t>(rows[i].patient);
            if (seen[patient]) continue;
            seen[patient] = true;
        }
        entries.push_back(i);
    }
    return entries;
}

}  // namespace

bool assign_roles(std::span<const LabelledRow> rows, const RoleRules& rules,
                  std::span<const std::uint8_t> part, int world, std::span<RowWorlds> out) {
    CANDOR_REQUIRE(part.size() == rows.size() && out.size() == rows.size(), std::to_string(out.size()));
    std::int32_t patients = 0;
    if (rules.by_patient) {
        for (const LabelledRow& row : rows) patients = std::max(patients, row.patient + 1);
    }
    std::vector<bool> seen(static_cast<std::size_t>(patients));
    const std::array<std::vector<std::size_t>, 2> entries{entries_of(rows, rules, part, 0, seen),
                                                          entries_of(rows, rules, part, 1, seen)};
    const std::int64_t one = rules.leaves_one_out ? 1 : 0;
    const std::int64_t n = std::min({rules.cap, std::ssize(entries[0]) - one, std::ssize(entries[1]) - one});
    // Where none is left out for it, a query that is a candidate itself has one fewer.
    if (n + one < rules.k + 1) return false;
    const Worlds bit = Worlds{1} << world;
    for (std::size_t side = 0; side < 2; ++side) {
        const auto all = std::ssize(entries[side]);
        const std::int64_t length = rules.same_n ? n : std::min(rules.cap, all);
        for (std::int64_t i = 0; i < length; ++i)
            out[entries[side][static_cast<std::size_t>(i)]].near[side] |= bit;
        if (rules.leaves_one_out) out[entries[side][static_cast<std::size_t>(n)]].last[side] |= bit;
    }
    std::int64_t negatives = rules.negatives == NegativesAsking::all    ? std::ssize(rows)
                             : rules.negatives == NegativesAsking::bank ? n + 1
                                                                        : 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (part[i] == 0 || !rows[i].asks) continue;
        if (rows[i].label == 1) out[i].asks[1] |= bit;
        if (rows[i].label == 0 && negatives-- > 0) out[i].asks[0] |= bit;
    }
    return true;
}

void find_own(std::span<const std::int32_t> unit, std::span<RowWorlds> rows) {
    CANDOR_REQUIRE(unit.size() == rows.size(), std::to_string(unit.size()));
    const std::int32_t units = unit.empty() ? 0 : *std::ranges::max_element(unit) + 1;
    std::vector<std::array<Worlds, 2>> near(static_cast<std::size_t>(units));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t side = 0; side < 2; ++side)
            near[static_cast<std::size_t>(unit[i])][side] |= rows[i].near[side];
    }
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].own = near[static_cast<std::size_t>(unit[i])];
}

}  // namespace candor::instruments
