#include "candor/campaign/search_mpi.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>

#include "candor/base/bytes.hpp"
#include "candor/campaign/encoder_features.hpp"

namespace candor::campaign {

namespace {

constexpr int sides = 2;
constexpr int negative = 0, positive = 1;

/// Searches `queries` (some of a cell's, from `first` on) in side `side` of every candidate set that `which`
/// names; one pass a distinct list. @returns neighbour sets in the order of `which`.
std::vector<neighbors::NeighborSets> search_side(const study::Cell& cell, std::span<const std::size_t> which,
                                                 int side, std::int64_t first, std::int64_t count, int k,
                                                 const neighbors::RowSet& rows,
                                                 const neighbors::SearchOptions& options, SearchCost& cost) {
    const std::span<const ContextRow> queries =
        std::span(cell.queries).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    std::vector<neighbors::NeighborSets> sets(which.size());
    std::vector<bool> done(which.size(), false);
    for (std::size_t i = 0; i < which.size(); ++i) {
        if (done[i]) continue;
        const std::vector<ContextRow>& list = cell.candidates[which[i]].list[side];
        std::vector<std::size_t> sharing;
        std::vector<std::span<const Reach>> views;
        for (std::size_t j = i; j < which.size(); ++j) {
            if (done[j] || cell.candidates[which[j]].list[side] != list) continue;
            done[j] = true;
            sharing.push_back(j);
            views.push_back(std::span(cell.candidates[which[j]].reach[side])
                                .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
        }
        std::vector<neighbors::NeighborSets> found =
            neighbors::nearest(rows, list, queries, views, k, options);
        for (std::size_t j = 0; j < sharing.size(); ++j) {
            cost.searches += count;
            cost.kept += found[j].kept;
            cost.kept_max = std::max(cost.kept_max, found[j].kept_max);
            sets[sharing[j]] = std::move(found[j]);
        }
    }
    return sets;
}

std::int8_t sign_of(double margin) {
    return margin > 0 ? 1 : margin == 0 ? 0 : -1;
}

std::string to_bytes(const Found& found) {
    ByteWriter out;
    out.put(found.item);
    out.put(std::span<const instruments::Discordance>(found.primary));
    out.put(static_cast<std::int64_t>(found.sign.size()));
    for (const std::vector<std::int8_t>& signs : found.sign) out.put(std::span<const std::int8_t>(signs));
    return out.take();
}

Found get_found(ByteReader& in) {
    Found found;
    found.item = in.get<SearchItem>();
    found.primary = in.get_many<instruments::Discordance>();
    found.sign.resize(static_cast<std::size_t>(in.get<std::int64_t>()));
    for (std::vector<std::int8_t>& signs : found.sign) signs = in.get_many<std::int8_t>();
    return found;
}

}  // namespace

Found search_item(const study::Study& study, const TaskWork& work, const SearchItem& item,
                  const neighbors::RowSet& rows, const neighbors::SearchOptions& options, SearchCost& cost) {
    const study::Cell& cell = work.cells[item.cell];
    const int k = study.op.k;
    const std::int64_t positives =
        std::clamp<std::int64_t>(cell.positive_queries - item.first, 0, item.count);

    // Positives are asked under every rule and draw; negatives serve the margin classifier alone, draw 0 of
    // the primary rule.
    std::vector<std::size_t> scored;
    for (std::size_t c = 0; c < cell.candidates.size(); ++c) {
        if (!cell.candidates[c].unscored) scored.push_back(c);
    }
    const std::vector<std::size_t> primary{0};

    Found found{item, {}, std::vector<std::vector<std::int8_t>>(scored.size())};
    found.primary.resize(static_cast<std::size_t>(item.count));
    const auto ask = [&](std::span<const std::size_t> which, std::int64_t first, std::int64_t count) {
        if (count == 0) return;
        std::vector<neighbors::NeighborSets> sets[sides];
        for (int side = 0; side < sides; ++side) {
            sets[side] = search_side(cell, which, side, first, count, k, rows, options, cost);
        }
        for (std::size_t c = 0; c < which.size(); ++c) {
            for (std::int64_t q = 0; q < count; ++q) {
                const instruments::Discordance one =
                    instruments::discordance(sets[positive][c].of(q), sets[negative][c].of(q));
                if (c == 0) found.primary[static_cast<std::size_t>(first - item.first + q)] = one;
                if (first < cell.positive_queries) found.sign[c].push_back(sign_of(one.margin()));
            }
        }
    };
    ask(scored, item.first, positives);
    ask(primary, item.first + positives, item.count - positives);
    return found;
}

std::vector<Found> search_mine(const Inputs& inputs, const std::vector<TaskWork>& work,
                               const std::vector<SearchItem>& items, const std::vector<int>& placed, int rank,
                               const neighbors::SearchOptions& options, const Log& log, SearchCost& cost) {
    double total = 0;
    for (std::size_t i = 0; i < items.size(); ++i) total += placed[i] == rank ? items[i].flops : 0;
    Progress progress(log, "searching neighbours", total);

    std::vector<Found> found;
    std::optional<EncoderFeatures> features;
    std::optional<neighbors::RowSet> rows;
    std::tuple<std::size_t, std::size_t, std::int32_t> loaded;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (placed[i] != rank) continue;
        const SearchItem& item = items[i];
        const TaskWork& here = work[item.work];
        const std::size_t encoder = inputs.study.tasks[here.task].encoders[item.encoder];
        const std::int32_t context = here.cells[item.cell].context;
        if (!features || features->encoder() != encoder) features.emplace(inputs, encoder);
        if (const auto wanted = std::tuple(item.work, encoder, context); !rows || loaded != wanted) {
            rows.reset();
            rows.emplace(features->rows(here.pool, here.contexts[static_cast<std::size_t>(context)].rows));
            loaded = wanted;
        }
        found.push_back(search_item(inputs.study, here, item, *rows, options, cost));
        progress.advance(item.flops);
    }
    return found;
}

std::vector<Found> deliver_mpi(const parallel::Communicator& world, const std::vector<TaskWork>& work,
                               const std::vector<Found>& found,
                               const std::function<int(std::size_t, std::size_t, std::size_t)>& owner) {
    std::vector<std::string> outgoing(static_cast<std::size_t>(world.size()));
    for (const Found& one : found) {
        const auto finding = static_cast<std::size_t>(work[one.item.work].cells[one.item.cell].finding);
        outgoing[static_cast<std::size_t>(owner(one.item.work, one.item.encoder, finding))] += to_bytes(one);
    }
    std::vector<Found> owned;
    for (const std::string& bytes : world.exchange(outgoing)) {
        ByteReader in(bytes);
        while (!in.done()) owned.push_back(get_found(in));
    }
    std::ranges::sort(owned, {}, [](const Found& f) {
        return std::tuple(f.item.work, f.item.encoder, f.item.cell, f.item.first);
    });
    return owned;
}

}  // namespace candor::campaign
