#include "candor/campaign/permute_mpi.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/threads.hpp"
#include "candor/neighbors/census.hpp"

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

/// Participants whose lists end too early for some world.
std::vector<std::int64_t> lacking(const ListedCell& listed, const std::vector<Block>& blocks,
                                  const std::vector<NearList>& lists, int k, int threads) {
    std::vector<std::atomic<bool>> lacks(lists.size());
    for_each_on_threads(threads, std::ssize(blocks), [&](std::int64_t b) {
        const Block& block = blocks[static_cast<std::size_t>(b)];
        for (std::size_t i = 0; i < lists.size(); ++i) {
            if (!lacks[i] && instruments::lacks(lists[i], static_cast<std::int64_t>(i), block.roles,
                                                listed.participants.unit(), k))
                lacks[i] = true;
        }
    });
    std::vector<std::int64_t> which;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        if (lacks[i]) which.push_back(static_cast<std::int64_t>(i));
    }
    return which;
}

/// Makes lists longer, four times at each go, until no world lacks anything.
void lengthen(const study::Study& study, const TaskWork& work, const Found& found,
              const std::vector<Block>& blocks, std::vector<NearList>& lists, const OpenRows& open,
              const neighbors::SearchOptions& options) {
    const ListedCell& listed = work.listed[found.cell];
    const std::int64_t most = listed.participants.size() - 1;
    std::unique_ptr<neighbors::RowSource> rows;
    for (std::int64_t length = 4 * std::int64_t{listed.length};; length *= 4) {
        const std::vector<std::int64_t> which = lacking(listed, blocks, lists, study.op.k, options.threads);
        if (which.empty()) return;
        if (rows == nullptr) {
            SearchGroup group;
            group.work = found.work;
            group.encoder = found.encoder;
            group.context = work.cells[found.cell].context;
            rows = open(group);
        }
        length = std::min(length, most);
        const ListedCell::Some asked = listed.some(which);
        const neighbors::Question question{listed.rows, asked.rows, asked.reach, static_cast<int>(length)};
        const neighbors::NeighborSets nearest =
            std::move(neighbors::census(*rows, {&question, 1}, study.op.k, options).front());
        for (std::size_t i = 0; i < which.size(); ++i)
            lists[static_cast<std::size_t>(which[i])] =
                near_list(nearest.of(static_cast<std::int64_t>(i)), listed);
    }
}

CellWorlds count(const study::Study& study, const ListedCell& listed, const std::vector<Block>& blocks,
                 const std::vector<NearList>& lists, int threads) {
    CellWorlds worlds;
    std::vector<instruments::WorldCounts> counted(blocks.size());
    const bool margins = study.op.negative_queries != study::NegativeQueries::none;
    for_each_on_threads(threads, std::ssize(blocks), [&](std::int64_t b) {
        const Block& block = blocks[static_cast<std::size_t>(b)];
        counted[static_cast<std::size_t>(b)] = instruments::count_worlds(
            lists, block.roles, listed.participants.unit(), study.op.k, static_cast<int>(block.count),
            margins, block.kind == Block::Kind::permuted ? listed.participants.positives() : 0);
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
                                std::vector<Found>& owned, const OpenRows& open,
                                const neighbors::SearchOptions& options, parallel::StopRequest& stop,
                                const Log& log) {
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
        draw_roles(study, here, cell.second, options.threads, blocks);
        for (const std::size_t i : which) {
            Found& found = owned[i];
            CANDOR_REQUIRE(std::ssize(found.near) == listed.participants.size(),
                           "cell " + std::to_string(found.cell) + " has " +
                               std::to_string(found.near.size()) + " lists");
            std::vector<NearList> lists = std::exchange(found.near, {});
            lengthen(study, here, found, blocks, lists, open, options);
            all[i] = count(study, listed, blocks, lists, options.threads);
            require_same_counts(found, here.cells[found.cell], all[i].observed);
            progress.advance(static_cast<double>(lists.size()));
        }
    }
    stop.rendezvous();
    return all;
}

}  // namespace candor::campaign
