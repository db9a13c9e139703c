#include "candor/campaign/permute_mpi.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/threads.hpp"
#include "candor/neighbors/row_set.hpp"

namespace candor::campaign {

namespace {

using instruments::NearList;
using instruments::RowWorlds;
using instruments::worlds_a_word;

/// Up to 64 worlds of a cell.
struct Block {
    enum class Kind { observed, permuted, subsampled } kind = Kind::observed;
    std::int64_t first = 0, count = 0;
    std::vector<RowWorlds> roles;
};

std::vector<Block> blocks_of(const study::Study& study) {
    std::vector<Block> blocks{{Block::Kind::observed, 0, 1, {}}};
    const auto add = [&](Block::Kind kind, std::int64_t total) {
        for (std::int64_t first = 0; first < total; first += worlds_a_word)
            blocks.push_back({kind, first, std::min(worlds_a_word, total - first), {}});
    };
    add(Block::Kind::permuted, study.test.permutations);
    add(Block::Kind::subsampled, instruments::wide_draws);
    return blocks;
}

void draw_roles(const study::Study& study, const TaskWork& work, std::size_t cell, int threads,
                std::vector<Block>& blocks) {
    const instruments::Participants& participants = work.listed[cell].participants;
    const std::string name =
        permutation_name(study.tasks[work.task],
                         work.contexts[static_cast<std::size_t>(work.cells[cell].context)], work.cells[cell]);
    for_each_on_threads(threads, std::ssize(blocks), [&](std::int64_t b) {
        Block& block = blocks[static_cast<std::size_t>(b)];
        block.roles = block.kind == Block::Kind::observed ? participants.observed()
                      : block.kind == Block::Kind::permuted
                          ? participants.permuted(study.seed, name, block.first, block.count)
                          : participants.subsampled(
                                work.quarters[static_cast<std::size_t>(block.first / worlds_a_word)]);
    });
}

/// The lists of a cell: participants' for permutations and queries' for subsamples.
struct Lists {
    std::vector<NearList> near, sides;

    const std::vector<NearList>& of(const Block& block) const {
        return block.kind == Block::Kind::subsampled ? sides : near;
    }
};

/// Participants whose lists end too early for some world that is read off them.
std::vector<std::int64_t> lacking(const ListedCell& listed, const std::vector<Block>& blocks,
                                  const Lists& lists, bool subsampled, int k, int threads) {
    std::vector<std::atomic<bool>> lacks(lists.near.size());
    for_each_on_threads(threads, std::ssize(blocks), [&](std::int64_t b) {
        const Block& block = blocks[static_cast<std::size_t>(b)];
        if ((block.kind == Block::Kind::subsampled) != subsampled) return;
        const std::vector<NearList>& these = lists.of(block);
        for (std::size_t i = 0; i < these.size(); ++i) {
            if (!lacks[i] && instruments::lacks(these[i], static_cast<std::int64_t>(i), block.roles,
                                                listed.participants.unit(), k))
                lacks[i] = true;
        }
    });
    std::vector<std::int64_t> which;
    for (std::size_t i = 0; i < lacks.size(); ++i) {
        if (lacks[i]) which.push_back(static_cast<std::int64_t>(i));
    }
    return which;
}

/// Puts all participants but itself on the list of participant `i`, or all candidates of either side.
NearList whole_list(const neighbors::RowSet& participants, const ListedCell& listed, std::int64_t i,
                    bool subsampled) {
    std::vector<std::pair<double, std::int32_t>> all;
    const auto add = [&](std::int64_t other) {
        if (other != i)
            all.emplace_back(-participants.cosine(ContextRow(i), ContextRow(other)),
                             static_cast<std::int32_t>(other));
    };
    if (subsampled) {
        for (const auto& side : listed.candidate) std::ranges::for_each(side, add);
    } else {
        for (std::int64_t other = 0; other < participants.rows(); ++other) add(other);
    }
    std::ranges::sort(all);
    NearList list;
    for (const auto& [cosine, other] : all) {
        list.row.push_back(other);
        list.cosine.push_back(-cosine);
    }
    list.whole = true;
    return list;
}

/// Completes the lists that lack something for some world.
void complete(const study::Study& study, const TaskWork& work, const Found& found,
              const std::vector<Block>& blocks, Lists& lists, const OpenRows& open, int threads) {
    const ListedCell& listed = work.listed[found.cell];
    std::optional<neighbors::RowSet> participants;
    for (const bool subsampled : {false, true}) {
        const auto which = lacking(listed, blocks, lists, subsampled, study.op.k, threads);
        if (which.empty()) continue;
        if (!participants) {
            SearchGroup group;
            group.work = found.work;
            group.encoder = found.encoder;
            group.context = work.cells[found.cell].context;
            participants.emplace(open(group)->read(listed.rows));
        }
        for_each_on_threads(threads, std::ssize(which), [&](std::int64_t at) {
            const std::int64_t i = which[static_cast<std::size_t>(at)];
            (subsampled ? lists.sides : lists.near)[static_cast<std::size_t>(i)] =
                whole_list(*participants, listed, i, subsampled);
        });
    }
}

CellWorlds count(const study::Study& study, const ListedCell& listed, const std::vector<Block>& blocks,
                 const Lists& lists, int threads) {
    CellWorlds worlds;
    std::vector<instruments::WorldCounts> counted(blocks.size());
    const bool margins = study.op.negative_queries != study::NegativeQueries::none;
    for_each_on_threads(threads, std::ssize(blocks), [&](std::int64_t b) {
        const Block& block = blocks[static_cast<std::size_t>(b)];
        counted[static_cast<std::size_t>(b)] = instruments::count_worlds(
            lists.of(block), block.roles, listed.participants.unit(), study.op.k,
            static_cast<int>(block.count), margins,
            block.kind == Block::Kind::permuted ? listed.participants.positives() : 0);
    });
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        const auto& counts = counted[b].counts;
        if (blocks[b].kind == Block::Kind::observed) worlds.observed = counts.front();
        if (blocks[b].kind == Block::Kind::subsampled)
            worlds.subsampled.insert(worlds.subsampled.end(), counts.begin(), counts.end());
        if (blocks[b].kind != Block::Kind::permuted) continue;
        worlds.permuted.insert(worlds.permuted.end(), counts.begin(), counts.end());
        worlds.blind.insert(worlds.blind.end(), counted[b].blind.begin(), counted[b].blind.end());
        worlds.words = counted[b].words;
    }
    return worlds;
}

/// What the lists say of the labels as they are must be what the search said.
void require_same_counts(const Found& found, const study::Cell& cell, const instruments::Counts& counts) {
    std::int64_t discordant = 0, ties = 0;
    for (std::int64_t q = 0; q < cell.positive_queries; ++q) {
        const double margin = found.primary[static_cast<std::size_t>(q)].margin();
        discordant += margin > 0;
        ties += margin == 0;
    }
    CANDOR_REQUIRE(
        counts.discordant == discordant && counts.ties == ties && counts.queries == cell.positive_queries,
        "cell " + std::to_string(found.cell) + ": " + std::to_string(counts.discordant) + " of " +
            std::to_string(counts.queries) + " by the lists, " + std::to_string(discordant) + " of " +
            std::to_string(cell.positive_queries) + " by the search");
}

}  // namespace

std::vector<CellWorlds> permute(const study::Study& study, const std::vector<TaskWork>& work,
                                std::vector<Found>& owned, const OpenRows& open, int threads,
                                parallel::StopRequest& stop, const Log& log) {
    std::vector<CellWorlds> all(owned.size());
    std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>>
        encoders;  // by work and cell: of owned
    double total = 0;
    for (std::size_t i = 0; i < owned.size(); ++i) {
        const TaskWork& here = work[owned[i].work];
        if (here.listed.empty() || !here.listed[owned[i].cell].has_lists()) continue;
        encoders[{owned[i].work, owned[i].cell}].push_back(i);
        total += static_cast<double>(here.listed[owned[i].cell].participants.size());
    }
    Progress progress(log, "permuting labels", total);
    std::vector<Block> blocks = blocks_of(study);
    for (const auto& [cell, which] : encoders) {
        const TaskWork& here = work[cell.first];
        const ListedCell& listed = here.listed[cell.second];
        if (stop.requested()) break;
        draw_roles(study, here, cell.second, threads, blocks);
        for (const std::size_t i : which) {
            Found& found = owned[i];
            CANDOR_REQUIRE(std::ssize(found.near) == listed.participants.size(),
                           "cell " + std::to_string(found.cell) + " has " +
                               std::to_string(found.near.size()) + " lists");
            Lists lists{std::exchange(found.near, {}), {}};
            lists.sides.resize(lists.near.size());
            for (std::size_t q = 0; q < listed.query.size(); ++q)
                lists.sides[static_cast<std::size_t>(listed.query[q])] = std::move(found.sides[q]);
            found.sides.clear();
            complete(study, here, found, blocks, lists, open, threads);
            all[i] = count(study, listed, blocks, lists, threads);
            require_same_counts(found, here.cells[found.cell], all[i].observed);
            progress.advance(static_cast<double>(listed.participants.size()));
        }
    }
    stop.rendezvous();
    return all;
}

}  // namespace candor::campaign
