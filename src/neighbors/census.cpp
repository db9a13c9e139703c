#include "candor/neighbors/census.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/matrix.hpp"
#include "candor/base/random.hpp"
#include "candor/base/sum.hpp"
#include "candor/base/threads.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/neighbors/census_rows.hpp"
#include "candor/neighbors/decision.hpp"
#include "candor/neighbors/leading_part.hpp"
#include "candor/neighbors/panel_cache.hpp"
#include "candor/neighbors/panel_rows.hpp"
#include "candor/neighbors/panel_sinks.hpp"
#include "candor/neighbors/tile_scan.hpp"

namespace candor::neighbors {

namespace {

/// Leading directions where the census itself decides whether there are any: so few that multiplying along
/// them is cheap beside multiplying out, and none where rows are short.
std::int64_t directions_to_try(std::int64_t dimension) {
    constexpr std::int64_t most = 128, shortest = 256;
    return dimension < shortest ? 0 : std::min(most, dimension / 4);
}

/// Rows that are looked at before any are met: runs of neighbours, evenly apart, which cost a file little.
std::vector<ContextRow> rows_to_look_at(std::int64_t rows) {
    constexpr std::int64_t runs = 8, most = 128;
    std::vector<ContextRow> looked_at;
    for (std::int64_t run = 0; run < runs; ++run) {
        const std::int64_t first = rows * run / runs, end = rows * (run + 1) / runs;
        for (std::int64_t row = first; row < std::min(end, first + most); ++row) looked_at.emplace_back(row);
    }
    return looked_at;
}

/// The share of the rows' squared lengths that the directions leave out.
double rest_share(const LeadingPart& part, MatrixView<const float> rows) {
    const auto n = static_cast<std::size_t>(rows.rows);
    std::vector<double> radius(n);
    std::vector<float> rest(n);
    Matrix<float> leading(rows.rows, part.size());
    for (std::size_t i = 0; i < n; ++i) radius[i] = norm(rows.row(static_cast<std::int64_t>(i)));
    part.split(rows, radius, leading.view(), rest);
    double left = 0, whole = 0;
    for (std::size_t i = 0; i < n; ++i) {
        left += static_cast<double>(rest[i]) * rest[i];
        whole += radius[i] * radius[i];
    }
    return left / whole;  // NaN where all rows are the same
}

constexpr double infinity = std::numeric_limits<double>::infinity();

std::int64_t first_of(std::span<const Block> panel) {
    return panel.front().first;
}
std::int64_t count_of(std::span<const Block> panel) {
    return panel.back().first + panel.back().count - panel.front().first;
}

/// Whether a row of one block asks a list on which a row of the other stands.
bool takes(const Block& asking, const Block& standing) {
    for (std::size_t w = 0; w < asking.asks.size(); ++w) {
        if (asking.asks[w] & standing.lists[w]) return true;
    }
    return false;
}

/// Blocks of two panels, by their places in them.
struct Corner {
    std::size_t row = 0, col = 0;
};

/// Those that have something to show each other. Corners that follow each other have no block in common where
/// it can be had, so that threads seldom wait for one.
std::vector<Corner> corners_of(std::span<const Block> a, std::span<const Block> b) {
    const bool same = a.data() == b.data();
    std::vector<Corner> corners;
    for (std::size_t step = 0; step < b.size(); ++step) {
        for (std::size_t row = 0; row < a.size(); ++row) {
            const std::size_t col = same ? row + step : (row + step) % b.size();
            if (col >= b.size()) break;
            if (takes(a[row], b[col]) || takes(b[col], a[row])) corners.push_back({row, col});
        }
    }
    return corners;
}

SearchOptions within_bounds(SearchOptions options) {
    options.panel_rows = std::max<std::int64_t>(1, options.panel_rows);
    options.block_rows = std::clamp<std::int64_t>(options.block_rows, 1, options.panel_rows);
    return options;
}

/// What a census takes, in bytes.
struct Memory {
    std::int64_t fixed = 0;     // who is who, and what a panel's decisions take
    std::int64_t sinks = 0;     // of all panels
    std::int64_t crowds = 0;    // what the sinks take more where every row has a crowd
    std::int64_t packed = 0;    // of all panels packed but two, crowds included
    std::int64_t all_kept = 0;  // of all panels packed
    std::int64_t panel = 0;     // a panel's numbers
};

Memory memory_of(std::int64_t rows, std::int64_t dimension, bool doubles, std::int64_t leading,
                 std::span<const Question> questions, int k, const SearchOptions& options) {
    std::int64_t asked = 0, wanted = 0;
    for (const Question& question : questions) {
        asked += std::ssize(question.queries);
        wanted += std::ssize(question.queries) * (question.k > 0 ? question.k : k);
    }
    const std::int64_t count = std::ssize(questions), words = (count + word_bits - 1) / word_bits;
    const std::int64_t panel = std::min(rows, options.panel_rows);
    Memory memory;
    const auto of_panel = [&](std::int64_t bytes) { return bytes * panel / std::max<std::int64_t>(1, rows); };
    // A panel is decided from what it kept, a cosine to each, to its answers.
    constexpr std::int64_t of_decision = 24 + static_cast<std::int64_t>(sizeof(Neighbor));
    memory.fixed = rows * (count * 8 + words * 16 + 24) + asked * 16 + of_panel(wanted * of_decision);
    memory.sinks = PanelSinks::bytes(rows, asked, wanted, questions.size());
    memory.crowds = PanelSinks::crowd_bytes(rows, asked, wanted);
    memory.all_kept = PanelSinks::packed_bytes(rows, asked, wanted);
    // Two panels are there, a third is packed or unpacked.
    memory.packed = memory.all_kept + 3 * of_panel(memory.sinks + memory.crowds);
    memory.panel = PanelRows::bytes(panel, dimension, leading, doubles);
    return memory;
}

/// Sorts by key_of(value) < keys, those of one key as they came, through `sorted`.
template <class Value, class KeyOf>
void counting_sort(std::vector<Value>& values, std::size_t keys, KeyOf key_of, std::vector<Value>& sorted) {
    std::vector<std::size_t> next(keys + 1);
    for (const Value& value : values) ++next[key_of(value) + 1];
    for (std::size_t key = 1; key < keys; ++key) next[key] += next[key - 1];
    sorted.resize(values.size());
    for (const Value& value : values) sorted[next[key_of(value)]++] = value;
    values.swap(sorted);
}

/// One side of a tile: rows first .. first + count of a panel.
struct Side {
    PanelSinks& sinks;
    const PanelRows& numbers;
    std::int64_t first = 0, count = 0;

    Side part(std::int64_t from, std::int64_t n) const { return {sinks, numbers, first + from, n}; }
};

/// What the columns of a tile are to take. Hits come row after row; they wait here until a few rows are done
/// and go to a column together, whose lists are then fetched once and not for every hit.
class ColumnHits {
  public:
    void add(std::int64_t row, std::int64_t col, float score) {
        hits_.push_back({score, static_cast<std::int32_t>(row), static_cast<std::int32_t>(col)});
    }
    /// Calls `body(row, col, score)` column by column, rows in the order in which they came, and forgets
    /// them.
    template <class Body>
    void deliver(std::int64_t cols, Body body) {
        const auto place = [](const Hit& hit) { return static_cast<std::size_t>(hit.col); };
        counting_sort(hits_, static_cast<std::size_t>(cols), place, sorted_);
        for (const Hit& hit : hits_) body(hit.row, hit.col, hit.score);
        hits_.clear();
    }

  private:
    struct Hit {
        float score;
        std::int32_t row, col;
    };
    std::vector<Hit> hits_, sorted_;
};

/// Where a tile's hits go.
struct Meeting {
    const Side& rows;
    const Side& cols;
    const Tile& tile;
    ColumnHits* for_cols;                        // null: the columns take no rows
    float slack;                                 // of any two rows
    std::int64_t survivors = 0, multiplied = 0;  // pairs that passed the first bound, and both
};

void take_score(const Meeting& meeting, std::int64_t row, std::int64_t col, float product) {
    const Side &rows = meeting.rows, &cols = meeting.cols;
    const std::int64_t i = rows.first + row, j = cols.first + col;
    const float for_row = product + *cols.sinks.offsets(j), for_col = product + *rows.sinks.offsets(i);
    if (for_row >= *rows.sinks.tile_cuts(i)) rows.sinks.take(i, cols.sinks.first() + j, for_row);
    if (meeting.for_cols != nullptr && for_col >= *cols.sinks.tile_cuts(j))
        meeting.for_cols->add(row, col, for_col);
}

/// Gives the columns what has waited for them.
void deliver(const Meeting& meeting) {
    if (meeting.for_cols == nullptr) return;
    const Side &rows = meeting.rows, &cols = meeting.cols;
    meeting.for_cols->deliver(cols.count, [&](std::int64_t row, std::int64_t col, float score) {
        if (score >= *cols.sinks.tile_cuts(cols.first + col))
            cols.sinks.take(cols.first + col, rows.sinks.first() + rows.first + row, score);
    });
}

void take_hits(void* context, std::int64_t row, std::int64_t first, std::uint64_t hits) {
    const Meeting& meeting = *static_cast<Meeting*>(context);
    const float* const products = meeting.tile.products + row * meeting.tile.stride;
    for (; hits != 0; hits &= hits - 1) {
        const std::int64_t col = first + std::countr_zero(hits);
        take_score(meeting, row, col, products[col]);
    }
}

/// Whether a list of either row still wants the pair if its product is as large as `most`.
bool wanted(const Meeting& meeting, std::int64_t i, std::int64_t j, float most) {
    const PanelSinks &rows = meeting.rows.sinks, &cols = meeting.cols.sinks;
    const float for_row = most + *cols.offsets(j), for_col = most + *rows.offsets(i);
    return (for_row >= *rows.tile_cuts(i) && rows.wants(i, cols.first() + j, for_row)) ||
           (meeting.for_cols != nullptr && for_col >= *cols.tile_cuts(j) &&
            cols.wants(j, rows.first() + i, for_col));
}

/// Multiplies out those of the pairs that a list still wants if their bounds are met: first in bytes, then,
/// where that leaves it open, in full.
void take_survivors(void* context, std::int64_t row, std::int64_t first, std::uint64_t hits) {
    Meeting& meeting = *static_cast<Meeting*>(context);
    const PanelRows &rows = meeting.rows.numbers, &cols = meeting.cols.numbers;
    const Tile& tile = meeting.tile;
    const std::int64_t i = meeting.rows.first + row, first_col = meeting.cols.first + first;
    const float* const products = tile.products + row * tile.stride + first;
    const float* const col_rest = tile.col_rest + first;
    std::uint64_t open = 0;
    for (std::uint64_t left = hits; left != 0; left &= left - 1) {
        const int bit = std::countr_zero(left);
        const float most = products[bit] + tile.row_rest[row] * col_rest[bit] + meeting.slack;
        open |= std::uint64_t{wanted(meeting, i, first_col + bit, most)} << bit;
    }
    if (open == 0) return;
    meeting.survivors += std::popcount(open);

    std::array<std::int32_t, 64> coarse;
    const MatrixView<const std::int8_t> a = rows.coarse.values.view(), b = cols.coarse.values.view();
    dot_products(a.data + i * a.stride, b.data + first_col * b.stride, b.stride, b.stride, open,
                 coarse.data());
    std::uint64_t still = 0;
    const std::int32_t* next = coarse.data();
    for (std::uint64_t left = open; left != 0; left &= left - 1) {
        const int bit = std::countr_zero(left);
        const float most =
            CoarseRows::bound(rows.coarse, i, cols.coarse, first_col + bit, *next++) + meeting.slack;
        still |= std::uint64_t{wanted(meeting, i, first_col + bit, most)} << bit;
    }
    if (still == 0) return;
    meeting.multiplied += std::popcount(still);

    std::array<float, 64> whole;
    const MatrixView<const float> c = rows.centred.view(), d = cols.centred.view();
    dot_products(c.data + i * c.stride, d.data + first_col * d.stride, d.stride, d.stride, still,
                 whole.data());
    for (const float* product = whole.data(); still != 0; still &= still - 1)
        take_score(meeting, row, first + std::countr_zero(still), *product++);
}

}  // namespace

class Census::Work {
  public:
    Work(const RowSource& rows, std::span<const Question> questions, int k, const SearchOptions& options,
         std::span<const std::int64_t> place)
        : rows_(rows),
          questions_(questions),
          k_(k),
          options_(within_bounds(options)),
          all_(rows.rows(), questions, place, options_.block_rows, options_.panel_rows),
          panels_(all_.panels()),
          sinks_(panels_.size()),
          packed_(panels_.size()) {}

    std::int64_t panels() const { return std::ssize(panels_); }

    void meet(std::int64_t i, std::int64_t j, std::int64_t next) {
        prepare();
        const auto rows_i = cache_->get(i), rows_j = cache_->get(j);
        if (next >= 0) cache_->ahead(next);
        PanelSinks &a = enter(i, *rows_i), &b = enter(j, *rows_j);
        const std::span<const Block> a_blocks = panels_[static_cast<std::size_t>(i)],
                                     b_blocks = panels_[static_cast<std::size_t>(j)];
        const std::vector<Corner> corners = corners_of(a_blocks, b_blocks);
        std::vector<std::mutex> row_guards(a_blocks.size()), own_guards(i == j ? 0 : b_blocks.size());
        std::vector<std::mutex>& col_guards = i == j ? row_guards : own_guards;
        for_each_on_threads(options_.threads, std::ssize(corners), [&](std::int64_t at) {
            const Corner corner = corners[static_cast<std::size_t>(at)];
            const Block &row_block = a_blocks[corner.row], &col_block = b_blocks[corner.col];
            const Side rows{a, *rows_i, row_block.first - a.first(), row_block.count};
            const Side cols{b, *rows_j, col_block.first - b.first(), col_block.count};
            const bool same = i == j && corner.row == corner.col;
            std::mutex *const first = &row_guards[corner.row], *const second = &col_guards[corner.col];
            show(rows, row_block, cols, col_block, same, [&](const auto& body) {
                if (same) {
                    const std::lock_guard lock(*first);
                    body();
                } else {
                    const std::scoped_lock lock(*first, *second);
                    body();
                }
            });
        });
        leave(i);
        if (i != j) leave(j);
    }

    std::string copy_of_kept(std::int64_t panel) const {
        const auto at = static_cast<std::size_t>(panel);
        return sinks_[at] != nullptr ? sinks_[at]->pack() : packed_[at];
    }

    std::string kept(std::int64_t panel) {
        const auto at = static_cast<std::size_t>(panel);
        std::string bytes = copy_of_kept(panel);
        sinks_[at].reset();
        packed_[at].clear();
        return bytes;
    }

    void add(std::int64_t panel, std::string_view kept) {
        if (kept.empty()) return;
        prepare();
        const auto rows = cache_->get(panel);
        enter(panel, *rows).add(kept);
        leave(panel);
    }

    std::vector<Decided> decide(std::int64_t panel);

    CensusCost cost() const {
        CensusCost cost = cost_;
        cost.directions = part_ ? part_->size() : 0;
        cost.loads = cache_ ? cache_->loads() : 0;
        return cost;
    }

  private:
    /// One entry that a row has kept for a question.
    struct Kept {
        std::int32_t row, other, question;
        double cosine;
    };

    std::vector<ContextRow> rows_of(std::int64_t panel) const {
        std::vector<ContextRow> which;
        const std::span<const Block> blocks = panels_[static_cast<std::size_t>(panel)];
        for (std::int64_t u = first_of(blocks); u < first_of(blocks) + count_of(blocks); ++u)
            which.push_back(all_.row(u));
        return which;
    }

    /// Looks at the rows once: where their centre is, which directions lead, how large they are.
    void prepare();
    std::int64_t panels_in_memory(std::int64_t leading, bool doubles);

    PanelSinks& enter(std::int64_t panel, const PanelRows& rows) {
        const auto at = static_cast<std::size_t>(panel);
        if (sinks_[at] == nullptr) {
            sinks_[at] = std::make_unique<PanelSinks>(all_, questions_.size(), k_, first_of(panels_[at]),
                                                      rows, scale_);
            if (!packed_[at].empty()) sinks_[at]->add(std::exchange(packed_[at], {}));
        }
        return *sinks_[at];
    }

    void leave(std::int64_t panel) {
        const auto at = static_cast<std::size_t>(panel);
        if (!packs_ || sinks_[at] == nullptr) return;
        packed_[at] = sinks_[at]->pack();
        sinks_[at].reset();
    }

    /// Shows the rows of two blocks to each other. `guarded(body)` calls `body` while no one else has either
    /// block.
    template <class Guarded>
    void show(const Side& rows, const Block& row_block, const Side& cols, const Block& col_block, bool same,
              Guarded guarded) {
        bool any = false;
        std::int64_t new_rows = 0, new_cols = 0;
        guarded([&] {
            any = rows.sinks.face(rows.first, rows.count, col_block);
            if (!same) any = cols.sinks.face(cols.first, cols.count, row_block) || any;
            const auto is_new = [](float cut) { return cut == -std::numeric_limits<float>::infinity(); };
            new_rows = std::count_if(rows.sinks.tile_cuts(rows.first),
                                     rows.sinks.tile_cuts(rows.first) + rows.count, is_new);
            if (!same)
                new_cols = std::count_if(cols.sinks.tile_cuts(cols.first),
                                         cols.sinks.tile_cuts(cols.first) + cols.count, is_new);
        });
        if (!any) return;
        const auto part = [&](std::int64_t row, std::int64_t n, std::int64_t col, std::int64_t m,
                              bool bounds) {
            if (n > 0 && m > 0)
                show_part(rows.part(row, n), row_block, cols.part(col, m), col_block, same, bounds, guarded);
        };
        if (!bounds_pay()) {
            if (!same) return part(0, rows.count, 0, cols.count, false);
            // Of a block and itself, one half shown to the other serves both.
            const std::int64_t half = rows.count / 2;
            part(0, half, 0, half, false);
            part(half, rows.count - half, half, rows.count - half, false);
            if (half > 0)
                show_part(rows.part(0, half), row_block, cols.part(half, cols.count - half), col_block, false,
                          false, guarded);
            return;
        }
        // A bound rules nothing out for who has kept nothing: they see some rows first.
        constexpr std::int64_t some = 64;
        const std::int64_t c = 4 * new_rows > rows.count ? std::min(some, cols.count) : 0;
        const std::int64_t r = 4 * new_cols > cols.count ? std::min(some, rows.count) : 0;
        part(0, rows.count, 0, c, false);
        part(0, r, c, cols.count - c, false);
        part(r, rows.count - r, c, cols.count - c, true);
    }

    template <class Guarded>
    void show_part(const Side& rows, const Block& row_block, const Side& cols, const Block& col_block,
                   bool same, bool bounds, Guarded guarded) {
        struct Scratch {
            Matrix<float> products;
            std::vector<float> row_cut, col_cut;
            ColumnHits for_cols;
        };
        thread_local Scratch scratch;
        if (scratch.products.rows() < options_.block_rows) {
            scratch.products = Matrix<float>(options_.block_rows, options_.block_rows);
            scratch.row_cut.resize(static_cast<std::size_t>(options_.block_rows));
            scratch.col_cut.resize(static_cast<std::size_t>(options_.block_rows));
        }
        MatrixView<float> products = scratch.products.view();
        products.rows = rows.count;
        products.cols = cols.count;
        const auto factor = [&](const Side& side) {
            const Matrix<float>& matrix = bounds ? side.numbers.leading : side.numbers.centred;
            return matrix.view().block(side.first, side.count);
        };
        linalg::product(factor(rows), factor(cols), products);

        Tile tile;
        tile.products = products.data;
        tile.stride = products.stride;
        tile.rows = rows.count;
        tile.cols = cols.count;
        tile.row_offset = rows.sinks.offsets(rows.first);
        tile.col_offset = cols.sinks.offsets(cols.first);
        std::int64_t survivors = 0, multiplied = 0;
        guarded([&] {
            rows.sinks.face(rows.first, rows.count, col_block);
            if (!same) cols.sinks.face(cols.first, cols.count, row_block);
            if (bounds) {
                lower(rows, scratch.row_cut);
                tile.row_rest = rows.numbers.rest.data() + rows.first;
                tile.col_rest = cols.numbers.rest.data() + cols.first;
                if (!same) lower(cols, scratch.col_cut);
            }
            if (same)
                std::fill_n(scratch.col_cut.begin(), cols.count, std::numeric_limits<float>::infinity());
            tile.row_cut = bounds ? scratch.row_cut.data() : rows.sinks.tile_cuts(rows.first);
            tile.col_cut = bounds || same ? scratch.col_cut.data() : cols.sinks.tile_cuts(cols.first);
            // A few rows at a time, so that what a crowd puts aside in between stays small.
            constexpr std::int64_t some = 64;
            for (std::int64_t row = 0; row < rows.count; row += some) {
                const Side strip = rows.part(row, std::min(some, rows.count - row));
                const Tile part = tile.from(row, strip.count);
                Meeting meeting{strip, cols, part, same ? nullptr : &scratch.for_cols,
                                bounds ? slack_of(scale_.radius) : 0};
                if (bounds) {
                    scan_bounds(part, take_survivors, &meeting);
                } else {
                    scan_tile(part, take_hits, &meeting);
                }
                deliver(meeting);
                survivors += meeting.survivors;
                multiplied += meeting.multiplied;
                decide_crowded(strip, cols);
                decide_crowded(cols, strip);
            }
        });
        count(static_cast<double>(rows.count) * static_cast<double>(cols.count), bounds, survivors,
              multiplied);
    }

    /// How far a score of a row of this radius may lie above its bound, when both are summed and compared in
    /// single precision.
    float slack_of(double radius) const {
        return rounded_up(part_->slack(radius, scale_.radius) +
                          0x1p-20 * (radius * scale_.radius + scale_.spread));
    }

    /// What a bound must reach for a score to reach the cut.
    void lower(const Side& side, std::vector<float>& out) const {
        for (std::int64_t i = 0; i < side.count; ++i) {
            const float cut = *side.sinks.tile_cuts(side.first + i);
            out[static_cast<std::size_t>(i)] = cut - slack_of(side.sinks.radius(side.first + i));
        }
    }

    /// Whether the next tile is worth a look at its bounds: not where most pairs pass them, but now and then
    /// to see whether that has changed.
    bool bounds_pay() {
        if (!part_) return false;
        const std::lock_guard lock(count_guard_);
        if (losses_ < 4) return true;
        return ++skipped_ % 64 == 0;
    }

    void count(double pairs, bool bounds, std::int64_t passed, std::int64_t in_full_count) {
        const std::lock_guard lock(count_guard_);
        if (!bounds) {
            cost_.products += pairs;
            return;
        }
        const auto survivors = static_cast<double>(passed);
        const auto multiplied = static_cast<double>(in_full_count);
        cost_.bounded += pairs;
        cost_.survivors += survivors;
        cost_.multiplied += multiplied;
        // A product of two rows by itself costs about this many of those that a matrix product makes.
        constexpr double in_bytes = 0.8, in_full = 2;
        const double cost = static_cast<double>(part_->size()) / static_cast<double>(rows_.dimension()) +
                            (in_bytes * survivors + in_full * multiplied) / pairs;
        losses_ = cost < 0.9 ? 0 : losses_ + 1;
    }

    void decide_crowded(const Side& side, const Side& other) {
        std::vector<Kept> kept;
        for (std::int64_t i = side.first; i < side.first + side.count; ++i) {
            if (!side.sinks.is_crowded(i)) continue;
            kept.clear();
            const auto row = static_cast<std::int32_t>(side.sinks.first() + i);
            side.sinks.release(i, other.sinks.first() + other.first, other.count,
                               [&](std::size_t q, std::int32_t one) {
                                   kept.push_back({row, one, static_cast<std::int32_t>(q), 0});
                               });
            for (Kept& one : kept)
                one.cosine = cosine(side.numbers, i, other.numbers, one.other - other.sinks.first());
            choose(side.sinks, kept, [&](std::size_t q, std::span<const Neighbor> best, std::int64_t) {
                side.sinks.decided(i, q).assign(best.begin(), best.end());
                if (std::ssize(best) == all_.wanted(q, k_)) side.sinks.settle(i, q, best.back().cosine);
            });
        }
    }

    /// Calls `body(question, best, count)` with the k nearest, or fewer, of what one row has kept for each
    /// question and of what it has decided before; `count` is how many it has kept.
    /// @param kept of one row, question after question.
    template <class Body>
    void choose(PanelSinks& sinks, std::span<const Kept> kept, Body body) {
        std::vector<Neighbor> merged;
        for (std::size_t from = 0; from < kept.size();) {
            const auto q = static_cast<std::size_t>(kept[from].question);
            const std::int64_t u = kept[from].row;
            merged = sinks.take_decided(u - sinks.first(), q);
            std::size_t to = from;
            for (; to < kept.size() && kept[to].question == kept[from].question; ++to)
                merged.push_back({kept[to].cosine, all_.position(q, kept[to].other)});
            const auto new_ones = static_cast<std::int64_t>(to - from);
            const std::size_t count = std::min(merged.size(), static_cast<std::size_t>(all_.wanted(q, k_)));
            std::partial_sort(merged.begin(), merged.begin() + static_cast<std::ptrdiff_t>(count),
                              merged.end(), comes_before);
            body(q, std::span<const Neighbor>(merged).first(count), new_ones);
            from = to;
        }
    }

    const RowSource& rows_;
    std::span<const Question> questions_;
    int k_;
    SearchOptions options_;
    CensusRows all_;
    const std::vector<std::vector<Block>>& panels_;
    std::vector<std::unique_ptr<PanelSinks>> sinks_;
    std::vector<std::string> packed_;  // of panels whose sinks are away
    bool packs_ = false;               // sinks go away when their panel leaves
    std::optional<Centring> centring_;
    std::optional<LeadingPart> part_;
    Scale scale_;
    std::optional<PanelCache> cache_;
    std::mutex count_guard_;
    CensusCost cost_;
    std::int64_t losses_ = 0, skipped_ = 0;
};

std::int64_t Census::Work::panels_in_memory(std::int64_t leading, bool doubles) {
    if (options_.memory == 0) return panels();
    const Memory memory =
        memory_of(all_.size(), rows_.dimension(), doubles, leading, questions_, k_, options_);
    std::int64_t left = options_.memory - memory.fixed;
    const std::int64_t sinks = memory.sinks + memory.crowds;
    packs_ = sinks > left / 3;
    left -= packs_ ? memory.packed : sinks;
    return left / memory.panel;
}

void Census::Work::prepare() {
    if (cache_) return;
    const std::vector<ContextRow> sample = rows_to_look_at(rows_.rows());
    StoredRows stored = rows_.read(sample);
    scale_to_unit_range(stored);
    centring_.emplace(stored);
    const bool doubles = std::holds_alternative<Matrix<double>>(stored);
    const bool asked = options_.directions >= 0;
    const std::int64_t d = rows_.dimension();
    const std::int64_t count = asked ? std::min(d, options_.directions) : directions_to_try(d);
    if (count > 0 && all_.size() > 0) {
        Matrix<float> centred(std::ssize(sample), d);
        std::visit(
            [&](const auto& rows) {
                for (std::int64_t i = 0; i < rows.rows(); ++i) centring_->centre(rows.row(i), centred.row(i));
            },
            stored);
        // Directions always lead in the rows that they were made from: the last rows tell whether they do.
        const std::int64_t last = centred.rows() / 8, others = centred.rows() - last;
        part_.emplace(linalg::leading_directions(centred.view().block(0, others), count,
                                                 Stream(0, "census/directions", 0)),
                      d);
        constexpr double most_left = 0.5;
        if (part_->size() == 0 ||
            (!asked && !(rest_share(*part_, centred.view().block(others, last)) < most_left)))
            part_.reset();
    }
    const std::int64_t most = panels_in_memory(part_ ? part_->size() : 0, doubles);
    cache_.emplace(panels(), most, [this](std::int64_t panel) {
        return load_panel(rows_, rows_of(panel), *centring_, part_ ? &*part_ : nullptr);
    });
    // From the last panel to the first, so that those met first are there.
    double offsets = 0, least = infinity, greatest = -infinity;
    for (std::int64_t panel = panels() - 1; panel >= 0; --panel) {
        const auto rows = cache_->get(panel);
        if (panel > 0) cache_->ahead(panel - 1);
        for (std::int64_t i = 0; i < rows->size(); ++i) {
            const double offset = rows->offset[static_cast<std::size_t>(i)];
            scale_.radius = std::max(scale_.radius, rows->radius[static_cast<std::size_t>(i)]);
            offsets += offset;
            least = std::min(least, offset);
            greatest = std::max(greatest, offset);
        }
    }
    scale_.offset = offsets / static_cast<double>(std::max<std::int64_t>(1, all_.size()));
    scale_.spread = std::max({0.0, greatest - scale_.offset, scale_.offset - least});
}

std::vector<Decided> Census::Work::decide(std::int64_t panel) {
    prepare();
    const auto mine = cache_->get(panel);
    PanelSinks& sinks = enter(panel, *mine);
    constexpr std::int64_t some = 64;
    const std::int64_t chunks = (sinks.size() + some - 1) / some;
    std::vector<std::vector<Kept>> kept(static_cast<std::size_t>(chunks));
    for_each_on_threads(options_.threads, chunks, [&](std::int64_t chunk) {
        std::vector<Kept>&here = kept[static_cast<std::size_t>(chunk)], sorted;
        for (std::int64_t i = chunk * some; i < std::min((chunk + 1) * some, sinks.size()); ++i) {
            const auto row = static_cast<std::int32_t>(sinks.first() + i);
            sinks.release(i, 0, all_.size(), [&](std::size_t q, std::int32_t other) {
                here.push_back({row, other, static_cast<std::int32_t>(q), 0});
            });
        }
        // By the other row first: panels are then met one after another, and one row may be kept for many
        // lists: its cosine is computed once.
        counting_sort(
            here, static_cast<std::size_t>(all_.size()),
            [](const Kept& one) { return static_cast<std::size_t>(one.other); }, sorted);
    });
    std::vector<std::size_t> next(kept.size(), 0);
    for (std::int64_t other = 0; other < panels(); ++other) {
        const std::int64_t first = first_of(panels_[static_cast<std::size_t>(other)]);
        const std::int64_t end = first + count_of(panels_[static_cast<std::size_t>(other)]);
        const auto theirs = cache_->get(other);
        if (other + 1 < panels()) cache_->ahead(other + 1);
        for_each_on_threads(options_.threads, chunks, [&](std::int64_t chunk) {
            std::vector<Kept>& here = kept[static_cast<std::size_t>(chunk)];
            for (std::size_t& at = next[static_cast<std::size_t>(chunk)];
                 at < here.size() && here[at].other < end; ++at) {
                const bool known =
                    at > 0 && here[at].other == here[at - 1].other && here[at].row == here[at - 1].row;
                here[at].cosine =
                    known ? here[at - 1].cosine
                          : cosine(*mine, here[at].row - sinks.first(), *theirs, here[at].other - first);
            }
        });
    }
    // Where each row's answers go: its place among the queries of each question that are in this panel.
    std::vector<Decided> decided(questions_.size());
    for (std::int64_t i = 0; i < sinks.size(); ++i) {
        const Bits* const asks = all_.asks(sinks.first() + i);
        for_each_common(asks, asks, all_.words(),
                        [&](std::size_t q) { decided[q].query.push_back(all_.query(q, sinks.first() + i)); });
    }
    for (std::size_t q = 0; q < questions_.size(); ++q) {
        std::ranges::sort(decided[q].query);
        const int k = all_.wanted(q, k_);
        decided[q].nearest.k = k;
        decided[q].nearest.values.resize(decided[q].query.size() * static_cast<std::size_t>(k));
    }
    std::vector<std::vector<std::int64_t>> counts(kept.size(),
                                                  std::vector<std::int64_t>(2 * questions_.size()));
    for_each_on_threads(options_.threads, chunks, [&](std::int64_t chunk) {
        std::vector<Kept>& here = kept[static_cast<std::size_t>(chunk)];
        std::vector<std::int64_t>& count = counts[static_cast<std::size_t>(chunk)];
        std::vector<Kept> sorted;
        counting_sort(
            here, static_cast<std::size_t>(some) * questions_.size(),
            [&](const Kept& one) {
                return static_cast<std::size_t>(one.row - sinks.first() - chunk * some) * questions_.size() +
                       static_cast<std::size_t>(one.question);
            },
            sorted);
        std::size_t next_row = 0;
        for (std::int64_t i = chunk * some; i < std::min((chunk + 1) * some, sinks.size()); ++i) {
            const std::int64_t u = sinks.first() + i;
            const std::size_t first = next_row;
            while (next_row < here.size() && here[next_row].row == u) ++next_row;
            const auto of_row = std::span<const Kept>(here).subspan(first, next_row - first);
            const auto put = [&](std::size_t q, std::span<const Neighbor> best, std::int64_t new_ones) {
                const std::int64_t query = all_.query(q, u);
                const int k = all_.wanted(q, k_);
                CANDOR_REQUIRE(std::ssize(best) == k, "query " + std::to_string(query) + " of question " +
                                                          std::to_string(q) + " has " +
                                                          std::to_string(best.size()) + " neighbours");
                const auto at = std::ranges::lower_bound(decided[q].query, query) - decided[q].query.begin();
                std::ranges::copy(best, decided[q].nearest.values.begin() + at * k);
                count[2 * q] += new_ones;
                count[2 * q + 1] = std::max(count[2 * q + 1], new_ones);
                audit_choice(rows_, questions_[q].list,
                             questions_[q].queries[static_cast<std::size_t>(query)],
                             questions_[q].reach[static_cast<std::size_t>(query)], best);
            };
            choose(sinks, of_row, put);
            // Lists of which all that counts was decided before.
            for_each_common(all_.asks(u), all_.asks(u), all_.words(), [&](std::size_t q) {
                const std::vector<Neighbor> before = sinks.take_decided(i, q);
                if (!before.empty()) put(q, before, 0);
            });
        }
    });
    for (const std::vector<std::int64_t>& count : counts) {
        for (std::size_t q = 0; q < questions_.size(); ++q) {
            decided[q].nearest.kept += count[2 * q];
            decided[q].nearest.kept_max = std::max(decided[q].nearest.kept_max, count[2 * q + 1]);
        }
    }
    sinks_[static_cast<std::size_t>(panel)].reset();
    return decided;
}

Census::Census(const RowSource& rows, std::span<const Question> questions, int k,
               const SearchOptions& options, std::span<const std::int64_t> place)
    : work_(std::make_unique<Work>(rows, questions, k, options, place)) {}
Census::~Census() = default;
Census::Census(Census&&) noexcept = default;

std::int64_t Census::panels() const {
    return work_->panels();
}
void Census::meet(std::int64_t i, std::int64_t j, std::int64_t next) {
    work_->meet(i, j, next);
}
std::string Census::kept(std::int64_t panel) {
    return work_->kept(panel);
}
std::string Census::copy_of_kept(std::int64_t panel) const {
    return work_->copy_of_kept(panel);
}
void Census::add(std::int64_t panel, std::string_view kept) {
    work_->add(panel, kept);
}
std::vector<Decided> Census::decide(std::int64_t panel) {
    return work_->decide(panel);
}
CensusCost Census::cost() const {
    return work_->cost();
}

std::vector<NeighborSets> census(const RowSource& rows, std::span<const Question> questions, int k,
                                 const SearchOptions& options) {
    Census whole(rows, questions, k, options);
    for (std::int64_t i = 0; i < whole.panels(); ++i) {
        for (std::int64_t j = i; j < whole.panels(); ++j)
            whole.meet(i, j, j + 1 < whole.panels() ? j + 1 : -1);
    }
    std::vector<NeighborSets> sets(questions.size());
    for (std::size_t q = 0; q < questions.size(); ++q) {
        sets[q].k = questions[q].k > 0 ? questions[q].k : k;
        sets[q].values.resize(questions[q].queries.size() * static_cast<std::size_t>(sets[q].k));
    }
    for (std::int64_t i = 0; i < whole.panels(); ++i) {
        const std::vector<Decided> decided = whole.decide(i);
        for (std::size_t q = 0; q < questions.size(); ++q) {
            const NeighborSets& part = decided[q].nearest;
            sets[q].kept += part.kept;
            sets[q].kept_max = std::max(sets[q].kept_max, part.kept_max);
            for (std::size_t n = 0; n < decided[q].query.size(); ++n)
                std::ranges::copy(part.of(static_cast<std::int64_t>(n)),
                                  sets[q].values.begin() + decided[q].query[n] * sets[q].k);
        }
    }
    return sets;
}

std::vector<Encounter> encounters_of(std::int64_t rows, std::span<const Question> questions,
                                     const SearchOptions& options, std::span<const std::int64_t> place) {
    const SearchOptions bounded = within_bounds(options);
    const CensusRows all(rows, questions, place, bounded.block_rows, bounded.panel_rows);
    const auto& panels = all.panels();
    std::vector<Encounter> encounters;
    for (std::size_t i = 0; i < panels.size(); ++i) {
        for (std::size_t j = i; j < panels.size(); ++j) {
            Encounter one{static_cast<std::int64_t>(i), static_cast<std::int64_t>(j), 0};
            for (const Corner& corner : corners_of(panels[i], panels[j]))
                one.products += static_cast<double>(panels[i][corner.row].count) *
                                static_cast<double>(panels[j][corner.col].count);
            if (one.products > 0) encounters.push_back(one);
        }
    }
    return encounters;
}

std::int64_t full_memory(std::int64_t rows, std::int64_t dimension, bool doubles,
                         std::span<const Question> questions, int k, const SearchOptions& options) {
    const SearchOptions bounded = within_bounds(options);
    const std::int64_t leading =
        bounded.directions < 0 ? directions_to_try(dimension) : std::min(dimension, bounded.directions);
    const Memory memory = memory_of(rows, dimension, doubles, leading, questions, k, bounded);
    return memory.fixed + memory.sinks + PanelRows::bytes(rows, dimension, leading, doubles);
}

std::int64_t least_memory(std::int64_t rows, std::int64_t dimension, bool doubles,
                          std::span<const Question> questions, int k, const SearchOptions& options) {
    const SearchOptions bounded = within_bounds(options);
    const std::int64_t leading =
        bounded.directions < 0 ? directions_to_try(dimension) : std::min(dimension, bounded.directions);
    const Memory memory = memory_of(rows, dimension, doubles, leading, questions, k, bounded);
    return memory.fixed + std::min(memory.sinks + memory.crowds, memory.packed) + 2 * memory.panel;
}

std::int64_t kept_memory(std::int64_t rows, std::span<const Question> questions, int k) {
    return memory_of(rows, 0, false, 0, questions, k, {}).all_kept;
}

std::int64_t rows_looked_at(std::int64_t rows) {
    return std::ssize(rows_to_look_at(rows));
}

std::int64_t directions_tried(std::int64_t dimension) {
    return directions_to_try(dimension);
}

double products_of(std::int64_t rows, std::span<const Question> questions) {
    std::vector<bool> candidate(static_cast<std::size_t>(rows)), query(candidate.size());
    for (const Question& question : questions) {
        const std::int64_t longest = longest_reach(question);
        for (std::int64_t i = 0; i < longest; ++i)
            candidate[static_cast<std::size_t>(question.list[static_cast<std::size_t>(i)].value)] = true;
        for (const ContextRow row : question.queries) query[static_cast<std::size_t>(row.value)] = true;
    }
    double candidates = 0, others = 0;
    for (std::size_t row = 0; row < candidate.size(); ++row) {
        candidates += candidate[row];
        others += query[row] && !candidate[row];
    }
    return candidates * (candidates / 2 + others);
}

}  // namespace candor::neighbors
