#pragma once

// METHODS 3 word for word, a query and a candidate at a time: what the distributed search is held against.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "../neighbors/decided_sets.hpp"
#include "candor/campaign/search_mpi.hpp"
#include "candor/campaign/search_plan.hpp"
#include "candor/campaign/work.hpp"
#include "candor/instruments/discordance.hpp"
#include "candor/neighbors/census.hpp"
#include "candor/neighbors/row_set.hpp"
#include "candor/study/cell.hpp"

namespace candor::testing {

/// The k nearest candidates of query `query` on one side, by sorting all of them.
inline std::vector<double> nearest_by_definition(const study::Cell& cell, const study::Candidates& candidates,
                                                 int side, std::size_t query, int k,
                                                 const neighbors::RowSet& rows) {
    const Reach& reach = candidates.reach[side][query];
    std::vector<double> cosines;
    for (std::int64_t i = 0; i < reach.end; ++i) {
        if (i == reach.skip) continue;
        cosines.push_back(
            rows.cosine(cell.queries[query], candidates.list[side][static_cast<std::size_t>(i)]));
    }
    std::ranges::sort(cosines, std::greater<>());
    cosines.resize(static_cast<std::size_t>(k));
    return cosines;
}

inline instruments::Discordance discordance_by_definition(const study::Cell& cell,
                                                          const study::Candidates& candidates,
                                                          std::size_t query, int k,
                                                          const neighbors::RowSet& rows) {
    double mean[2] = {}, largest[2] = {};
    for (int side = 0; side < 2; ++side) {
        const std::vector<double> cosines = nearest_by_definition(cell, candidates, side, query, k, rows);
        for (const double c : cosines) mean[side] += c;
        mean[side] /= k;
        largest[side] = cosines.front();
    }
    return {mean[1], mean[0], largest[0]};
}

/// All that a cell finds under one encoder.
inline campaign::Found found_by_definition(const study::Study& study,
                                           const std::vector<campaign::TaskWork>& work, std::size_t w,
                                           std::size_t encoder, std::size_t position,
                                           const neighbors::RowSet& rows) {
    const study::Cell& cell = work[w].cells[position];
    campaign::Found found{w, encoder, position, {}, {}, {}, {}, {}};
    for (std::size_t q = 0; q < cell.queries.size(); ++q)
        found.primary.push_back(
            discordance_by_definition(cell, cell.candidates.front(), q, study.op.k, rows));
    for (const study::Candidates& candidates : cell.candidates) {
        if (candidates.unscored) continue;
        found.sign.emplace_back();
        for (std::int64_t q = 0; q < cell.positive_queries; ++q) {
            const double margin =
                discordance_by_definition(cell, candidates, static_cast<std::size_t>(q), study.op.k, rows)
                    .margin();
            found.sign.back().push_back(margin > 0 ? 1 : margin < 0 ? -1 : 0);
        }
    }
    return found;
}

/// All cells of all encoders by definition, ordered as deliver_mpi orders them.
inline std::vector<campaign::Found> all_by_definition(const study::Study& study,
                                                      const std::vector<campaign::TaskWork>& work,
                                                      const campaign::OpenRows& open) {
    std::vector<campaign::Found> all;
    for (std::size_t w = 0; w < work.size(); ++w) {
        for (std::size_t e = 0; e < study.tasks[work[w].task].encoders.size(); ++e) {
            std::map<std::int32_t, std::unique_ptr<neighbors::RowSource>> rows;  // by context
            for (std::size_t c = 0; c < work[w].cells.size(); ++c) {
                if (!work[w].cells[c].scored()) continue;
                const std::int32_t context = work[w].cells[c].context;
                if (rows[context] == nullptr) rows[context] = open({w, e, context, {c}, 0});
                all.push_back(found_by_definition(study, work, w, e, c,
                                                  dynamic_cast<const neighbors::RowSet&>(*rows[context])));
            }
        }
    }
    return all;
}

/// The search of one rank, without a message: all groups of its plan, one after another.
/// @returns whole cells, in the order of the plan.
inline std::vector<campaign::Found> search_alone(const study::Study& study,
                                                 const std::vector<campaign::TaskWork>& work,
                                                 const std::vector<std::int64_t>& dimensions,
                                                 const campaign::OpenRows& open,
                                                 const neighbors::SearchOptions& options) {
    const campaign::SearchPlan plan = campaign::plan_search(study, work, dimensions, options, 1);
    std::vector<campaign::Found> all;
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
        const campaign::SearchGroup& group = plan.groups[g];
        std::vector<neighbors::Question> questions;
        for (const std::size_t c : group.cells) {
            const auto own = campaign::questions_of(work[group.work], c);
            questions.insert(questions.end(), own.begin(), own.end());
        }
        const auto rows = open(group);
        neighbors::Census census(*rows, questions, study.op.k, options);
        for (const campaign::SearchTask& task : plan.tasks) {
            if (task.group == g) census.meet(task.encounter.i, task.encounter.j);
        }
        std::vector<neighbors::NeighborSets> sets = blank_sets(questions, study.op.k);
        for (std::int64_t panel = 0; panel < group.panels; ++panel) put(sets, census.decide(panel));
        std::size_t next = 0;
        for (const std::size_t c : group.cells) {
            const study::Cell& cell = work[group.work].cells[c];
            campaign::Found& found =
                all.emplace_back(campaign::Found{group.work, group.encoder, c, {}, {}, {}, {}, {}});
            const std::size_t end = next + campaign::questions_of(work[group.work], c).size();
            for (const study::Candidates& candidates : cell.candidates) {
                if (candidates.unscored) continue;
                const neighbors::NeighborSets &negatives = sets[next], &positives = sets[next + 1];
                next += 2;
                const bool primary = found.sign.empty();
                found.sign.emplace_back();
                for (std::int64_t q = 0; q < (primary ? std::ssize(cell.queries) : cell.positive_queries);
                     ++q) {
                    const auto k = static_cast<std::size_t>(study.op.k);
                    const auto one =
                        instruments::discordance(positives.of(q).first(k), negatives.of(q).first(k));
                    if (primary) found.primary.push_back(one);
                    if (q < cell.positive_queries)
                        found.sign.back().push_back(one.margin() > 0 ? 1 : one.margin() < 0 ? -1 : 0);
                }
            }
            next = end;  // lists are asked for last
        }
    }
    return all;
}

/// Parts of at most `most` queries each, the last first.
inline std::vector<campaign::FoundPart> cut(const std::vector<campaign::FoundPart>& parts, std::size_t most) {
    std::vector<campaign::FoundPart> out;
    for (const campaign::FoundPart& part : parts) {
        const auto piece = [&](const auto& values, std::size_t first) {
            const auto begin = values.begin() + static_cast<std::ptrdiff_t>(std::min(first, values.size()));
            const auto end =
                values.begin() + static_cast<std::ptrdiff_t>(std::min(first + most, values.size()));
            return std::decay_t<decltype(values)>(begin, end);
        };
        for (std::size_t first = 0;
             first == 0 || first < std::max(part.query.size(), part.participant.size()); first += most) {
            campaign::FoundPart one{piece(part.query, first),
                                    piece(part.participant, first),
                                    {part.found.work,
                                     part.found.encoder,
                                     part.found.cell,
                                     piece(part.found.primary, first),
                                     {},
                                     piece(part.found.near, first),
                                     piece(part.found.sides, first),
                                     first == 0 ? part.found.worlds : campaign::CellWorlds{}}};
            for (const auto& signs : part.found.sign) one.found.sign.push_back(piece(signs, first));
            out.push_back(std::move(one));
        }
    }
    std::ranges::reverse(out);
    return out;
}

inline bool same(const campaign::Found& a, const campaign::Found& b) {
    return a.work == b.work && a.encoder == b.encoder && a.cell == b.cell && a.sign == b.sign &&
           std::ranges::equal(a.primary, b.primary,
                              [](const instruments::Discordance& x, const instruments::Discordance& y) {
                                  return x.c_pos == y.c_pos && x.c_neg == y.c_neg && x.s1 == y.s1;
                              });
}

/// How many pairs of finds differ, the longer list's rest included.
inline std::size_t differing(const std::vector<campaign::Found>& a, const std::vector<campaign::Found>& b) {
    std::size_t count = std::max(a.size(), b.size()) - std::min(a.size(), b.size());
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) count += !same(a[i], b[i]);
    return count;
}

}  // namespace candor::testing
