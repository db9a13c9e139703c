#include "candor/neighbors/search.hpp"

#include <algorithm>
#include <cmath>

#include "candor/base/error.hpp"
#include "candor/base/threads.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/neighbors/decision.hpp"
#include "candor/neighbors/sink.hpp"

namespace candor::neighbors {

namespace {

/// Copies the centred rows that `which` names, so that a product sees them side by side.
Matrix<float> gather(const RowSet& rows, std::span<const ContextRow> which) {
    Matrix<float> out(static_cast<std::int64_t>(which.size()), rows.dimension());
    for (std::size_t i = 0; i < which.size(); ++i) {
        std::ranges::copy(rows.centred().row(which[i].value), out.row(static_cast<std::int64_t>(i)).begin());
    }
    return out;
}

/// Offers one row of a tile, candidates first .. first + scores.size(), to a sink.
void scan(std::span<const float> scores, std::span<const double> offsets, double query_offset,
          std::int64_t first, const Reach& reach, Sink& sink) {
    const auto count = std::min(static_cast<std::int64_t>(scores.size()), reach.end - first);
    for (std::int64_t j = 0; j < count; ++j) {
        const double score = static_cast<double>(scores[j]) + offsets[j] + query_offset;
        if (score < sink.cut() || first + j == reach.skip) continue;
        sink.offer(score, first + j);
    }
}

/// Decides the proposals of one query in double and writes its k nearest. @returns how many were decided.
std::int64_t decide(const RowSet& rows, std::span<const ContextRow> list, ContextRow query, Sink& sink,
                    std::span<Neighbor> out) {
    std::vector<Neighbor> decided;
    for (const Sink::Proposal& p : sink.kept()) {
        decided.push_back({rows.cosine(query, list[static_cast<std::size_t>(p.position)]), p.position});
    }
    CANDOR_REQUIRE(decided.size() >= out.size(), std::to_string(decided.size()) + " proposals");
    std::partial_sort(decided.begin(), decided.begin() + static_cast<std::ptrdiff_t>(out.size()),
                      decided.end(), comes_before);
    std::copy_n(decided.begin(), out.size(), out.begin());
    return static_cast<std::int64_t>(decided.size());
}

/// One sink a query and view.
using Sinks = std::vector<std::vector<Sink>>;

Sinks make_sinks(const RowSet& rows, std::span<const ContextRow> list, std::span<const ContextRow> queries,
                 std::span<const std::span<const Reach>> views, int k) {
    double largest_radius = 0;
    for (const ContextRow row : list) largest_radius = std::max(largest_radius, rows.radius(row));

    Sinks sinks(views.size());
    for (std::size_t v = 0; v < views.size(); ++v) {
        sinks[v].reserve(queries.size());
        for (std::size_t q = 0; q < queries.size(); ++q) {
            const Reach& reach = views[v][q];
            CANDOR_REQUIRE(reach.size() >= k && reach.end <= static_cast<std::int64_t>(list.size()),
                           "query " + std::to_string(q) + " reaches " + std::to_string(reach.size()));
            sinks[v].emplace_back(k, 2 * rows.error(rows.radius(queries[q]), largest_radius));
        }
    }
    return sinks;
}

/// Calls `body(first, count)` for blocks of `block` of 0 .. total-1, on threads.
template <class Body>
void for_each_block(int threads, std::int64_t total, std::int64_t block, Body body) {
    for_each_on_threads(threads, (total + block - 1) / block,
                        [&](std::int64_t b) { body(b * block, std::min(block, total - b * block)); });
}

/// Offers every (query, candidate) score to the sinks, a tile of the Gram matrix at a time.
void propose(const RowSet& rows, std::span<const ContextRow> list, std::span<const ContextRow> queries,
             std::span<const std::span<const Reach>> views, std::int64_t block, int threads, Sinks& sinks) {
    std::int64_t longest = 0;
    for (const auto& view : views) {
        for (const Reach& reach : view) longest = std::max(longest, reach.end);
    }
    const Matrix<float> query_rows = gather(rows, queries);
    for (std::int64_t first = 0; first < longest; first += block) {
        const std::int64_t count = std::min(block, longest - first);
        const auto part = list.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
        const Matrix<float> candidates = gather(rows, part);
        std::vector<double> offsets;
        for (const ContextRow row : part) offsets.push_back(rows.offset(row));

        for_each_block(threads, std::ssize(queries), block, [&](std::int64_t first_query, std::int64_t some) {
            Matrix<float> tile(some, count);
            linalg::product(query_rows.view().block(first_query, some), candidates.view(), tile.view());
            for (std::int64_t i = 0; i < some; ++i) {
                const auto q = static_cast<std::size_t>(first_query + i);
                for (std::size_t v = 0; v < views.size(); ++v) {
                    scan(tile.row(i), offsets, rows.offset(queries[q]), first, views[v][q], sinks[v][q]);
                }
            }
        });
    }
}

}  // namespace

std::vector<NeighborSets> nearest(const RowSet& rows, std::span<const ContextRow> list,
                                  std::span<const ContextRow> queries,
                                  std::span<const std::span<const Reach>> views, int k,
                                  const SearchOptions& options) {
    const std::int64_t block = std::max<std::int64_t>(1, options.block_rows);
    Sinks sinks = make_sinks(rows, list, queries, views, k);
    propose(rows, list, queries, views, block, options.threads, sinks);

    std::vector<NeighborSets> sets(views.size());
    for (std::size_t v = 0; v < views.size(); ++v) {
        NeighborSets& set = sets[v];
        set.k = k;
        set.values.resize(queries.size() * static_cast<std::size_t>(k));
        std::vector<std::int64_t> kept(queries.size());
        for_each_block(
            options.threads, std::ssize(queries), block, [&](std::int64_t first, std::int64_t some) {
                for (std::int64_t i = first; i < first + some; ++i) {
                    const auto q = static_cast<std::size_t>(i);
                    const std::span<Neighbor> out(set.values.data() + i * k, static_cast<std::size_t>(k));
                    kept[q] = decide(rows, list, queries[q], sinks[v][q], out);
                    audit_choice(rows, list, queries[q], views[v][q], out);
                }
            });
        for (const std::int64_t count : kept) {
            set.kept += count;
            set.kept_max = std::max(set.kept_max, count);
        }
    }
    return sets;
}

}  // namespace candor::neighbors
