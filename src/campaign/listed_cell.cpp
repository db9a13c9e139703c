#include "candor/campaign/listed_cell.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "candor/base/error.hpp"

namespace candor::campaign {

namespace {

instruments::RoleRules rules_of(const study::Study& study, study::Rule rule) {
    instruments::RoleRules rules;
    rules.leaves_one_out = rule == study::Rule::equal || rule == study::Rule::distinct;
    rules.by_patient = rule == study::Rule::distinct;
    rules.same_n = rule != study::Rule::unequal;
    if (study.op.bank_cap > 0) rules.cap = study.op.bank_cap;
    rules.k = study.op.k;
    using instruments::NegativesAsking;
    rules.negatives = study.op.negative_queries == study::NegativeQueries::all    ? NegativesAsking::all
                      : study.op.negative_queries == study::NegativeQueries::bank ? NegativesAsking::bank
                                                                                  : NegativesAsking::none;
    return rules;
}

/// The roles that participants were found to have must be those that the search goes by.
void require_same_roles(const ListedCell& listed, const study::Cell& cell) {
    const std::vector<instruments::RowWorlds> roles = listed.participants.observed();
    std::vector<ContextRow> queries[2], near[2];
    for (std::size_t i = 0; i < roles.size(); ++i) {
        for (std::size_t side = 0; side < 2; ++side) {
            if (roles[i].asks[side] != 0) queries[side].push_back(listed.rows[i]);
            if ((roles[i].near[side] | roles[i].last[side]) != 0) near[side].push_back(listed.rows[i]);
        }
    }
    queries[1].insert(queries[1].end(), queries[0].begin(), queries[0].end());
    const study::Candidates& primary = cell.candidates.front();
    CANDOR_REQUIRE(queries[1] == cell.queries && near[0] == primary.list[0] && near[1] == primary.list[1],
                   "finding " + std::to_string(cell.finding) + ", context " + std::to_string(cell.context));
}

}  // namespace

namespace {

/// Participants that stand for `rows`, each of which is one.
std::vector<std::int32_t> places_in(const std::vector<ContextRow>& participants,
                                    const std::vector<ContextRow>& rows) {
    std::vector<std::int32_t> places;
    for (const ContextRow row : rows)
        places.push_back(
            static_cast<std::int32_t>(std::ranges::lower_bound(participants, row) - participants.begin()));
    return places;
}

}  // namespace

ListedCell list_cell(const study::Study& study, const study::Pool& pool, const study::Context& context,
                     const study::Cell& cell, const std::vector<bool>& asks) {
    ListedCell listed;
    if (study.test.permutations == 0 || !cell.in_figures()) return listed;
    const std::vector<std::int8_t>& labels = pool.labels[static_cast<std::size_t>(cell.finding)];
    std::vector<instruments::LabelledRow> labelled;
    std::vector<ContextRow> row;
    for (std::size_t i = 0; i < context.rows.size(); ++i) {
        const auto at = static_cast<std::size_t>(context.rows[i].value);
        if (labels[at] < 0 || !(asks[at] || pool.answers[at])) continue;
        labelled.push_back({labels[at], asks[at], pool.answers[at], pool.patient[at],
                            static_cast<std::int32_t>(pool.identity[at].value)});
        row.emplace_back(static_cast<std::int64_t>(i));
    }
    listed.participants = {labelled, rules_of(study, cell.candidates.front().rule)};
    for (const std::int64_t i : listed.participants.chosen())
        listed.rows.push_back(row[static_cast<std::size_t>(i)]);
    const std::int64_t rows = std::ssize(listed.rows);
    for (std::int64_t i = 0; i < rows; ++i) listed.reach.push_back({rows, i});
    require_same_roles(listed, cell);
    const std::int64_t length = listed.participants.list_length();
    CANDOR_REQUIRE(length <= std::numeric_limits<int>::max(), std::to_string(length));
    listed.length = static_cast<int>(length);
    listed.query = places_in(listed.rows, cell.queries);
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max(), most = 0;
    for (std::size_t side = 0; side < 2; ++side) {
        listed.candidate[side] = places_in(listed.rows, cell.candidates.front().list[side]);
        for (const Reach& reach : cell.candidates.front().reach[side]) {
            fewest = std::min(fewest, reach.size());
            most = std::max(most, reach.size());
        }
    }
    listed.side_length = static_cast<int>(std::min(fewest, listed.participants.side_length()));
    listed.sides_whole = listed.side_length == most;
    return listed;
}

instruments::NearList near_list(std::span<const neighbors::Neighbor> nearest, const ListedCell& listed) {
    instruments::NearList list;
    list.row.reserve(nearest.size());
    list.cosine.reserve(nearest.size());
    for (const neighbors::Neighbor& one : nearest) {
        list.row.push_back(static_cast<std::int32_t>(one.position));
        list.cosine.push_back(one.cosine);
    }
    list.whole = std::ssize(nearest) == listed.participants.size() - 1;
    return list;
}

instruments::NearList sides_list(std::span<const neighbors::Neighbor> negatives,
                                 std::span<const neighbors::Neighbor> positives, bool whole,
                                 const ListedCell& listed) {
    std::vector<std::pair<double, std::int32_t>> all;
    all.reserve(negatives.size() + positives.size());
    for (const neighbors::Neighbor& one : negatives)
        all.emplace_back(-one.cosine, listed.candidate[0][static_cast<std::size_t>(one.position)]);
    for (const neighbors::Neighbor& one : positives)
        all.emplace_back(-one.cosine, listed.candidate[1][static_cast<std::size_t>(one.position)]);
    std::ranges::sort(all);
    instruments::NearList list;
    list.row.reserve(all.size());
    list.cosine.reserve(all.size());
    for (const auto& [cosine, row] : all) {
        list.row.push_back(row);
        list.cosine.push_back(-cosine);
    }
    list.whole = whole;
    return list;
}

std::string permutation_name(const study::Task& task, const study::Context& context,
                             const study::Cell& cell) {
    return task.id + '/' + task.findings[static_cast<std::size_t>(cell.finding)] + '/' + context.name;
}

}  // namespace candor::campaign
