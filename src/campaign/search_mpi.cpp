#include "candor/campaign/search_mpi.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <tuple>

#include "candor/base/bytes.hpp"
#include "candor/campaign/encoder_features.hpp"
#include "candor/neighbors/census.hpp"

namespace candor::campaign {

namespace {

constexpr int sides = 2;
constexpr int negative = 0, positive = 1;

std::int8_t sign_of(double margin) {
    return margin > 0 ? 1 : margin == 0 ? 0 : -1;
}

/// Entries of Cell::candidates that score the cell.
std::vector<std::size_t> scored_candidates(const study::Cell& cell) {
    std::vector<std::size_t> scored;
    for (std::size_t c = 0; c < cell.candidates.size(); ++c) {
        if (!cell.candidates[c].unscored) scored.push_back(c);
    }
    return scored;
}

std::int64_t positives_of(const study::Cell& cell, const SearchItem& item) {
    return std::clamp<std::int64_t>(cell.positive_queries - item.first, 0, item.count);
}

/// What one item asks, in the order of the scored candidates, the negative side before the positive one.
/// Positives are asked under every rule and draw; negatives serve the margin classifier alone: draw 0 of the
/// primary rule.
std::vector<neighbors::Question> ask(const TaskWork& work, const SearchItem& item) {
    const study::Cell& cell = work.cells[item.cell];
    std::vector<neighbors::Question> asked;
    for (const std::size_t c : scored_candidates(cell)) {
        const auto first = static_cast<std::size_t>(item.first);
        const auto count = static_cast<std::size_t>(c == 0 ? item.count : positives_of(cell, item));
        for (const int side : {negative, positive}) {
            asked.push_back({cell.candidates[c].list[side], std::span(cell.queries).subspan(first, count),
                             std::span(cell.candidates[c].reach[side]).subspan(first, count)});
        }
    }
    return asked;
}

/// What the neighbours of an item's queries say. `sets` in the order of `ask`.
Found answer(const study::Cell& cell, const SearchItem& item, std::span<const neighbors::NeighborSets> sets) {
    const std::size_t scored = sets.size() / sides;
    Found found{item, {}, std::vector<std::vector<std::int8_t>>(scored)};
    for (std::size_t c = 0; c < scored; ++c) {
        const neighbors::NeighborSets &negatives = sets[sides * c], &positives = sets[sides * c + 1];
        const std::int64_t count = c == 0 ? item.count : positives_of(cell, item);
        for (std::int64_t q = 0; q < count; ++q) {
            const instruments::Discordance one = instruments::discordance(positives.of(q), negatives.of(q));
            if (c == 0) found.primary.push_back(one);
            if (q < positives_of(cell, item)) found.sign[c].push_back(sign_of(one.margin()));
        }
    }
    return found;
}

/// This rank's items by (task, encoder, context), parts of one cell that follow each other joined.
std::vector<std::vector<SearchItem>> groups_of(const std::vector<TaskWork>& work,
                                               const std::vector<SearchItem>& items,
                                               const std::vector<int>& placed, int rank) {
    std::vector<std::vector<SearchItem>> groups;
    const auto rows_of = [&](const SearchItem& item) {
        return std::tuple(item.work, item.encoder, work[item.work].cells[item.cell].context);
    };
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (placed[i] != rank) continue;
        const SearchItem& item = items[i];
        if (groups.empty() || rows_of(groups.back().front()) != rows_of(item)) groups.emplace_back();
        std::vector<SearchItem>& group = groups.back();
        if (!group.empty() && group.back().cell == item.cell &&
            group.back().first + group.back().count == item.first) {
            group.back().count += item.count;
            group.back().flops += item.flops;
        } else {
            group.push_back(item);
        }
    }
    return groups;
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

std::vector<Found> search_group(const study::Study& study, const TaskWork& work,
                                std::span<const SearchItem> items, const neighbors::RowSet& rows,
                                const neighbors::SearchOptions& options, SearchCost& cost) {
    std::vector<std::vector<neighbors::Question>> asked;
    double apart = 0;
    for (const SearchItem& item : items) {
        asked.push_back(ask(work, item));
        apart += neighbors::products_of(rows.rows(), asked.back());
    }
    std::vector<neighbors::Question> all;
    for (const auto& one : asked) all.insert(all.end(), one.begin(), one.end());

    // The cells of a context share rows: all in one pass, unless so few are shared that each by itself takes
    // fewer products.
    std::vector<neighbors::NeighborSets> sets;
    if (apart < neighbors::products_of(rows.rows(), all)) {
        for (const auto& one : asked)
            std::ranges::move(neighbors::census(rows, one, study.op.k, options), std::back_inserter(sets));
    } else {
        sets = neighbors::census(rows, all, study.op.k, options);
    }
    std::vector<Found> found;
    std::size_t next = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const std::span of_item = std::span(sets).subspan(next, asked[i].size());
        next += of_item.size();
        for (const neighbors::NeighborSets& set : of_item) {
            cost.searches += static_cast<std::int64_t>(set.values.size()) / set.k;
            cost.kept += set.kept;
            cost.kept_max = std::max(cost.kept_max, set.kept_max);
        }
        found.push_back(answer(work.cells[items[i].cell], items[i], of_item));
    }
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
    for (const std::vector<SearchItem>& group : groups_of(work, items, placed, rank)) {
        const TaskWork& here = work[group.front().work];
        const std::size_t encoder = inputs.study.tasks[here.task].encoders[group.front().encoder];
        const std::int32_t context = here.cells[group.front().cell].context;
        if (!features || features->encoder() != encoder) features.emplace(inputs, encoder);
        const neighbors::RowSet rows =
            features->rows(here.pool, here.contexts[static_cast<std::size_t>(context)].rows);
        std::ranges::move(search_group(inputs.study, here, group, rows, options, cost),
                          std::back_inserter(found));
        for (const SearchItem& item : group) progress.advance(item.flops);
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
