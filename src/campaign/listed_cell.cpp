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

ListedCell::Some ListedCell::some(const std::vector<std::int64_t>& which) const {
    Some some;
    for (const std::int64_t i : which) {
        some.rows.push_back(rows[static_cast<std::size_t>(i)]);
        some.reach.push_back(reach[static_cast<std::size_t>(i)]);
    }
    return some;
}

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
    const std::int64_t length = listed.participants.list_length(instruments::wide_share);
    CANDOR_REQUIRE(length <= std::numeric_limits<int>::max(), std::to_string(length));
    listed.length = static_cast<int>(length);
    return listed;
}

instruments::NearList near_list(std::span<const neighbors::Neighbor> nearest, const ListedCell& listed) {
    instruments::NearList list;
    for (const neighbors::Neighbor& one : nearest) {
        list.row.push_back(static_cast<std::int32_t>(one.position));
        list.cosine.push_back(one.cosine);
    }
    list.whole = std::ssize(nearest) == listed.participants.size() - 1;
    return list;
}

std::string permutation_name(const study::Task& task, const study::Context& context,
                             const study::Cell& cell) {
    return task.id + '/' + task.findings[static_cast<std::size_t>(cell.finding)] + '/' + context.name;
}

}  // namespace candor::campaign
