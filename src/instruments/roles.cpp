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

/// Whether some query is, by image, on the list.
bool meets_itself(std::span<const LabelledRow> rows, std::span<const std::size_t> list,
                  std::span<const std::size_t> asking) {
    return std::ranges::any_of(asking, [&](std::size_t query) {
        return std::ranges::any_of(
            list, [&](std::size_t entry) { return rows[entry].identity == rows[query].identity; });
    });
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
    const std::int64_t n = std::max<std::int64_t>(
        0, std::min({rules.cap, std::ssize(entries[0]) - one, std::ssize(entries[1]) - one}));
    std::vector<std::size_t> asking;
    std::int64_t negatives = rules.negatives == NegativesAsking::all    ? std::ssize(rows)
                             : rules.negatives == NegativesAsking::bank ? n + 1
                                                                        : 0;
    bool positive_asks = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (part[i] == 0 || !rows[i].asks || (rows[i].label == 0 && negatives-- <= 0)) continue;
        asking.push_back(i);
        positive_asks = positive_asks || rows[i].label == 1;
    }
    if (!positive_asks || n < rules.k) return false;
    const auto length = [&](std::size_t side) {
        return rules.same_n ? n : std::min(rules.cap, std::ssize(entries[side]));
    };
    for (std::size_t side = 0; side < 2 && !rules.leaves_one_out; ++side) {
        // A query that is a candidate itself has one fewer.
        if (length(side) == rules.k &&
            meets_itself(rows, std::span(entries[side]).first(static_cast<std::size_t>(rules.k)), asking))
            return false;
    }
    const Worlds bit = Worlds{1} << world;
    for (std::size_t side = 0; side < 2; ++side) {
        for (std::int64_t i = 0; i < length(side); ++i)
            out[entries[side][static_cast<std::size_t>(i)]].near[side] |= bit;
        if (rules.leaves_one_out) out[entries[side][static_cast<std::size_t>(n)]].last[side] |= bit;
    }
    for (const std::size_t i : asking) out[i].asks[rows[i].label == 1 ? 1 : 0] |= bit;
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
