#include "candor/neighbors/search.hpp"

#include <algorithm>
#include <cmath>

#include "candor/base/error.hpp"
#include "candor/base/threads.hpp"
#include "candor/linalg/gemm.hpp"
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
    std::partial_sort(decided.begin(), decided.begin() + static_cast<std::ptrdiff_t>(out.size()),
                      decided.end(), [](const Neighbor& a, const Neighbor& b) {
                          return a.cosine != b.cosine ? a.cosine > b.cosine : a.position < b.position;
                      });
    std::copy_n(decided.begin(), out.size(), out.begin());
    return static_cast<std::int64_t>(decided.size());
}

}  // namespace

std::vector<NeighborSets> nearest(const RowSet& rows, std::span<const ContextRow> list,
                                  std::span<const ContextRow> queries,
                                  std::span<const std::span<const Reach>> views, int k,
                                  const SearchOptions& options) {
    const auto query_count = static_cast<std::int64_t>(queries.size());
    const auto list_size = static_cast<std::int64_t>(list.size());
    const std::int64_t block = std::max<std::int64_t>(1, options.block_rows);
    const std::int64_t query_blocks = (query_count + block - 1) / block;

    double largest_radius = 0;
    for (const ContextRow row : list) largest_radius = std::max(largest_radius, rows.radius(row));

    std::vector<std::vector<Sink>> sinks(views.size());
    std::int64_t longest = 0;
    for (std::size_t v = 0; v < views.size(); ++v) {
        sinks[v].reserve(queries.size());
        for (std::int64_t q = 0; q < query_count; ++q) {
            const Reach& reach = views[v][q];
            CANDOR_REQUIRE(reach.size() >= k && reach.end <= list_size,
                           "query " + std::to_string(q) + " reaches " + std::to_string(reach.size()));
            longest = std::max(longest, reach.end);
            sinks[v].emplace_back(k, 2 * rows.error(rows.radius(queries[q]), largest_radius));
        }
    }

    const Matrix<float> query_rows = gather(rows, queries);
    for (std::int64_t first = 0; first < longest; first += block) {
        const std::int64_t count = std::min(block, longest - first);
        const auto part = list.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
        const Matrix<float> candidates = gather(rows, part);
        std::vector<double> offsets;
        for (const ContextRow row : part) offsets.push_back(rows.offset(row));

        for_each_on_threads(options.threads, query_blocks, [&](std::int64_t b) {
            const std::int64_t first_query = b * block;
            const std::int64_t some = std::min(block, query_count - first_query);
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

    std::vector<NeighborSets> sets(views.size());
    for (std::size_t v = 0; v < views.size(); ++v) {
        NeighborSets& set = sets[v];
        set.k = k;
        set.values.resize(queries.size() * static_cast<std::size_t>(k));
        std::vector<std::int64_t> kept(queries.size());
        for_each_on_threads(options.threads, query_blocks, [&](std::int64_t b) {
            for (std::int64_t q = b * block; q < std::min(query_count, (b + 1) * block); ++q) {
                const std::span<Neighbor> out(set.values.data() + q * k, static_cast<std::size_t>(k));
                kept[static_cast<std::size_t>(q)] = decide(rows, list, queries[static_cast<std::size_t>(q)],
                                                           sinks[v][static_cast<std::size_t>(q)], out);
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
