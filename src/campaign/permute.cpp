#include "candor/campaign/permute.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "candor/base/error.hpp"
#include "candor/base/matrix.hpp"
#include "candor/base/sum.hpp"
#include "candor/base/threads.hpp"
#include "candor/neighbors/centring.hpp"
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

    bool permutes() const { return kind == Kind::permuted; }
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

/// The lists of a cell: participants' for permutations, queries' where labels are as they are, since a query
/// of an encoder that sees the finding may have no neighbour of the other label among its nearest.
struct Lists {
    std::vector<NearList> near, sides;

    std::vector<NearList>& of(bool permuted) { return permuted ? near : sides; }
    const std::vector<NearList>& of(bool permuted) const { return permuted ? near : sides; }
};

/// Some rows as they are stored, with their norms.
struct Rows {
    Rows(const neighbors::RowSource& source, std::span<const ContextRow> which) : stored(source.read(which)) {
        neighbors::scale_to_unit_range(stored);
        std::visit(
            [&](const auto& matrix) {
                for (std::int64_t i = 0; i < matrix.rows(); ++i) norm.push_back(candor::norm(matrix.row(i)));
            },
            stored);
    }
    /// neighbors::cosine_of row i and row j of another.
    double cosine(std::int64_t i, const Rows& other, std::int64_t j) const {
        return std::visit(
            [&](const auto& matrix) {
                const auto& others = std::get<std::decay_t<decltype(matrix)>>(other.stored);
                return neighbors::cosine_of(matrix.row(i), norm[static_cast<std::size_t>(i)], others.row(j),
                                            other.norm[static_cast<std::size_t>(j)]);
            },
            stored);
    }

    neighbors::StoredRows stored;
    std::vector<double> norm;
};

/// Lists made longer at once, and rows read at once to stand on them.
constexpr std::int64_t lists_at_once = 64, rows_at_once = 512;

/// The cosines of participants `which` with all of them, the rows of `which` one below the other.
Matrix<double> cosines_with_all(const neighbors::RowSource& source, const ListedCell& listed,
                                std::span<const std::int64_t> which, int threads) {
    std::vector<ContextRow> asked;
    for (const std::int64_t i : which) asked.push_back(listed.rows[static_cast<std::size_t>(i)]);
    const Rows mine(source, asked);
    const std::int64_t rows = std::ssize(listed.rows);
    Matrix<double> cosines(std::ssize(which), rows);
    for (std::int64_t first = 0; first < rows; first += rows_at_once) {
        const std::int64_t count = std::min(rows_at_once, rows - first);
        const Rows others(
            source,
            std::span(listed.rows).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
        for_each_on_threads(threads, std::ssize(which), [&](std::int64_t i) {
            for (std::int64_t j = 0; j < count; ++j)
                cosines.row(i)[static_cast<std::size_t>(first + j)] = mine.cosine(i, others, j);
        });
    }
    return cosines;
}

/// The list of participant `i` with all others on it, or with all candidates of either side.
NearList whole_list(std::span<const double> cosine, const ListedCell& listed, std::int64_t i, bool permuted) {
    std::vector<std::pair<double, std::int32_t>> all;
    const auto add = [&](std::int64_t other) {
        if (other != i)
            all.emplace_back(-cosine[static_cast<std::size_t>(other)], static_cast<std::int32_t>(other));
    };
    if (permuted) {
        for (std::int64_t other = 0; other < std::ssize(cosine); ++other) add(other);
    } else {
        for (const auto& side : listed.candidate) std::ranges::for_each(side, add);
    }
    std::ranges::sort(all);
    NearList list;
    for (const auto& [minus_cosine, other] : all) {
        list.row.push_back(other);
        list.cosine.push_back(-minus_cosine);
    }
    list.whole = true;
    return list;
}

/// Makes the lists of participants `which` whole.
void complete(const ListedCell& listed, std::span<const std::int64_t> which, bool permuted,
              std::vector<NearList>& lists, const neighbors::RowSource& rows, int threads) {
    for (std::size_t first = 0; first < which.size(); first += lists_at_once) {
        const auto these =
            which.subspan(first, std::min(static_cast<std::size_t>(lists_at_once), which.size() - first));
        const Matrix<double> cosines = cosines_with_all(rows, listed, these, threads);
        for_each_on_threads(threads, std::ssize(these), [&](std::int64_t at) {
            const std::int64_t i = these[static_cast<std::size_t>(at)];
            lists[static_cast<std::size_t>(i)] = whole_list(cosines.row(at), listed, i, permuted);
        });
    }
}

/// Counts all blocks; lists that end too early for one are made whole, all of a kind together, since that
/// reads all participants' rows.
std::vector<instruments::WorldCounts> count(const study::Study& study, const ListedCell& listed,
                                            const std::vector<Block>& blocks, Lists& lists,
                                            const neighbors::RowSource& rows, int threads) {
    std::vector<instruments::WorldCounts> counts(blocks.size());
    const bool margins = study.op.negative_queries != study::NegativeQueries::none;
    for (const bool permuted : {true, false}) {
        std::vector<NearList>& these = lists.of(permuted);
        std::vector<std::size_t> which;  // blocks of the kind
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            if (blocks[b].permutes() == permuted) which.push_back(b);
        }
        std::vector<instruments::WorldCounter> counters;
        for (const std::size_t b : which)
            counters.emplace_back(blocks[b].roles, listed.participants.unit(), study.op.k,
                                  static_cast<int>(blocks[b].count), margins,
                                  permuted ? listed.participants.positives() : 0);
        std::vector<std::vector<std::int64_t>> later(which.size());  // whose lists end early
        for_each_on_threads(threads, std::ssize(which), [&](std::int64_t at) {
            const auto c = static_cast<std::size_t>(at);
            for (std::int64_t x = 0; x < std::ssize(these); ++x) {
                if (!counters[c].add(x, these[static_cast<std::size_t>(x)])) later[c].push_back(x);
            }
        });
        std::vector<std::int64_t> short_ones;
        for (const auto& of_block : later)
            short_ones.insert(short_ones.end(), of_block.begin(), of_block.end());
        std::ranges::sort(short_ones);
        short_ones.erase(std::ranges::unique(short_ones).begin(), short_ones.end());
        complete(listed, short_ones, permuted, these, rows, threads);
        for_each_on_threads(threads, std::ssize(which), [&](std::int64_t at) {
            const auto c = static_cast<std::size_t>(at);
            for (const std::int64_t x : later[c])
                CANDOR_REQUIRE(counters[c].add(x, these[static_cast<std::size_t>(x)]),
                               "the list of participant " + std::to_string(x) + " ends early");
            counts[which[c]] = counters[c].finish();
        });
    }
    return counts;
}

/// What the blocks have counted, one after another.
CellWorlds joined(const std::vector<Block>& blocks, const std::vector<instruments::WorldCounts>& counted) {
    CellWorlds worlds;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        const auto& counts = counted[b].counts;
        if (blocks[b].kind == Block::Kind::observed) worlds.observed = counts.front();
        if (blocks[b].kind == Block::Kind::subsampled)
            worlds.subsampled.insert(worlds.subsampled.end(), counts.begin(), counts.end());
        if (!blocks[b].permutes()) continue;
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

bool has_lists(const Found& found) {
    return !found.near.empty();
}

}  // namespace

void permute_cell(const study::Study& study, const TaskWork& work, Found& found,
                  const neighbors::RowSource& rows, int threads) {
    const ListedCell& listed = work.listed[found.cell];
    CANDOR_REQUIRE(
        std::ssize(found.near) == listed.participants.size() && found.sides.size() == listed.query.size(),
        "cell " + std::to_string(found.cell) + " has " + std::to_string(found.near.size()) + " lists");
    std::vector<Block> blocks = blocks_of(study);
    draw_roles(study, work, found.cell, threads, blocks);
    Lists lists{std::exchange(found.near, {}), {}};
    lists.sides.resize(lists.near.size());
    for (std::size_t q = 0; q < listed.query.size(); ++q)
        lists.sides[static_cast<std::size_t>(listed.query[q])] = std::move(found.sides[q]);
    found.sides = {};
    found.worlds = joined(blocks, count(study, listed, blocks, lists, rows, threads));
    require_same_counts(found, work.cells[found.cell], found.worlds.observed);
}

void permute(const study::Study& study, const std::vector<TaskWork>& work, std::vector<Found>& owned,
             const OpenRows& open, int threads, parallel::StopRequest& stop, const Log& log) {
    double total = 0;
    for (const Found& found : owned) total += has_lists(found) ? static_cast<double>(found.near.size()) : 0;
    Progress progress(log, "permuting labels", total);
    for (Found& found : owned) {
        if (!has_lists(found)) continue;
        if (stop.requested()) break;
        const auto lists = static_cast<double>(found.near.size());
        const SearchGroup group{found.work, found.encoder, work[found.work].cells[found.cell].context, {}, 0};
        permute_cell(study, work[found.work], found, *open(group), threads);
        progress.advance(lists);
    }
    stop.rendezvous();
}

namespace {

/// A list beside its entries: itself, and what two allocations take.
constexpr std::int64_t of_list = static_cast<std::int64_t>(sizeof(NearList)) + 32;
constexpr std::int64_t of_entry = sizeof(std::int32_t) + sizeof(double);

}  // namespace

std::int64_t lists_memory(const ListedCell& listed) {
    if (!listed.has_lists()) return 0;
    return listed.participants.size() * (of_list + listed.length * of_entry) +
           std::ssize(listed.query) * (of_list + 2 * listed.side_length * of_entry);
}

std::int64_t reading_memory(const study::Study& study, const ListedCell& listed) {
    if (!listed.has_lists()) return 0;
    const std::int64_t participants = listed.participants.size();
    // The scores of every permutation, which double where they grow.
    return participants * (std::ssize(blocks_of(study)) * static_cast<std::int64_t>(sizeof(RowWorlds)) +
                           2 * study.test.permutations * static_cast<std::int64_t>(sizeof(double)) +
                           static_cast<std::int64_t>(sizeof(NearList)) +
                           lists_at_once * static_cast<std::int64_t>(sizeof(double)));
}

std::int64_t worlds_memory(const study::Study& study, const ListedCell& listed) {
    if (!listed.has_lists()) return 0;
    return (study.test.permutations + instruments::wide_draws) *
               static_cast<std::int64_t>(sizeof(instruments::Counts)) +
           study.test.permutations * ((listed.participants.positives() + 63) / 64) *
               static_cast<std::int64_t>(sizeof(std::uint64_t));
}

}  // namespace candor::campaign
