#pragma once

// METHODS 3 word for word, a query and a candidate at a time: what the distributed search is held against.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "candor/campaign/search_mpi.hpp"
#include "candor/campaign/work.hpp"
#include "candor/instruments/discordance.hpp"
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
    campaign::Found found{w, encoder, position, {}, {}};
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

inline bool same(const campaign::Found& a, const campaign::Found& b) {
    return a.item.work == b.item.work && a.item.encoder == b.item.encoder && a.item.cell == b.item.cell &&
           a.item.first == b.item.first && a.item.count == b.item.count && a.sign == b.sign &&
           std::ranges::equal(a.primary, b.primary,
                              [](const instruments::Discordance& x, const instruments::Discordance& y) {
                                  return x.c_pos == y.c_pos && x.c_neg == y.c_neg && x.s1 == y.s1;
                              });
}

}  // namespace candor::testing
