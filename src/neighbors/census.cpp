#include "candor/neighbors/census.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <string>

#include "candor/base/error.hpp"
#include "candor/base/matrix.hpp"
#include "candor/base/threads.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/neighbors/census_rows.hpp"
#include "candor/neighbors/decision.hpp"
#include "candor/neighbors/panel.hpp"
#include "candor/neighbors/tile_scan.hpp"

namespace candor::neighbors {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Where a tile's hits go.
struct Meeting {
    Panel& rows;
    Panel& cols;
    std::int64_t row = 0, col = 0;  // of the tile's corner in the panels
    const Tile* tile = nullptr;
    bool both = true;  // the columns take rows too
};

void take_hits(void* context, std::int64_t row, std::int64_t first, std::uint64_t hits) {
    const Meeting& meeting = *static_cast<Meeting*>(context);
    const Tile& tile = *meeting.tile;
    const std::int64_t i = meeting.row + row;
    const float* products = tile.products + row * tile.stride;
    for (; hits != 0; hits &= hits - 1) {
        const std::int64_t col = first + std::countr_zero(hits), j = meeting.col + col;
        const float for_row = products[col] + tile.col_offset[col];
        const float for_col = products[col] + tile.row_offset[row];
        if (for_row >= tile.row_cut[row]) meeting.rows.take(i, meeting.cols.first() + j, for_row);
        if (meeting.both && for_col >= tile.col_cut[col])
            meeting.cols.take(j, meeting.rows.first() + i, for_col);
    }
}

class Census {
  public:
    Census(const RowSet& rows, std::span<const Question> questions, int k, const SearchOptions& options)
        : rows_(rows),
          questions_(questions),
          k_(k),
          threads_(options.threads),
          panel_(std::max<std::int64_t>(1, options.panel_rows)),
          block_(std::clamp<std::int64_t>(options.block_rows, 1, panel_)),
          all_(rows, questions, block_),
          no_cut_(static_cast<std::size_t>(block_), std::numeric_limits<float>::infinity()) {
        for (std::int64_t u = 0; u < all_.size(); ++u) {
            scale_.radius = std::max(scale_.radius, rows.radius(all_.row(u)));
            scale_.offset += rows.offset(all_.row(u)) / static_cast<double>(all_.size());
        }
        for (std::int64_t u = 0; u < all_.size(); ++u)
            scale_.spread = std::max(scale_.spread, std::abs(rows.offset(all_.row(u)) - scale_.offset));
        for (const Question& question : questions) {
            NeighborSets& set = sets_.emplace_back();
            set.k = k;
            set.values.assign(question.queries.size() * static_cast<std::size_t>(k), {-infinity, -1});
            decided_.emplace_back(question.queries.size());
        }
    }

    std::vector<NeighborSets> run() {
        const std::vector<std::span<const Block>> panels = panels_of_blocks();
        for (std::size_t i = 0; i < panels.size(); ++i) {
            const auto a = panel(panels[i]);
            meet(*a, panels[i], *a, panels[i]);
            for (std::size_t j = i + 1; j < panels.size(); ++j) {
                const auto b = panel(panels[j]);
                meet(*a, panels[i], *b, panels[j]);
                decide(*b);
            }
            decide(*a);
        }
        for (std::size_t q = 0; q < sets_.size(); ++q) {
            for (const std::int64_t count : decided_[q]) {
                sets_[q].kept += count;
                sets_[q].kept_max = std::max(sets_[q].kept_max, count);
            }
            for (std::size_t i = 0; i < questions_[q].queries.size(); ++i) {
                const auto chosen = sets_[q].of(static_cast<std::int64_t>(i));
                CANDOR_REQUIRE(chosen.back().position >= 0,
                               "query " + std::to_string(i) + " of question " + std::to_string(q));
                audit_choice(rows_, questions_[q].list, questions_[q].queries[i], questions_[q].reach[i],
                             chosen);
            }
        }
        return std::move(sets_);
    }

  private:
    /// One entry that a row kept for a question.
    struct Kept {
        std::int32_t other, question;
        double cosine;
    };

    std::span<Neighbor> chosen(std::size_t q, std::int64_t u) {
        const auto k = static_cast<std::size_t>(k_);
        return std::span(sets_[q].values).subspan(static_cast<std::size_t>(all_.query(q, u)) * k, k);
    }

    /// Neighbouring blocks, about as many rows as a panel holds.
    std::vector<std::span<const Block>> panels_of_blocks() const {
        std::vector<std::span<const Block>> panels;
        const std::span<const Block> blocks(all_.blocks());
        for (std::size_t from = 0; from < blocks.size();) {
            std::size_t to = from;
            std::int64_t rows = 0;
            while (to < blocks.size() && (to == from || rows + blocks[to].count <= panel_))
                rows += blocks[to++].count;
            panels.push_back(blocks.subspan(from, to - from));
            from = to;
        }
        return panels;
    }

    std::unique_ptr<Panel> panel(std::span<const Block> blocks) {
        const std::int64_t first = blocks.front().first;
        const std::int64_t count = blocks.back().first + blocks.back().count - first;
        auto made = std::make_unique<Panel>(rows_, all_, questions_.size(), k_, first, count, scale_);
        for (std::int64_t i = 0; i < count; ++i) {
            const Bits* asks = all_.asks(first + i);
            for_each_common(asks, asks, all_.words(),
                            [&](std::size_t q) { made->settle(i, q, chosen(q, first + i).back().cosine); });
        }
        return made;
    }

    /// Shows every row of `a` and every row of `b` to each other, once.
    void meet(Panel& a, std::span<const Block> a_blocks, Panel& b, std::span<const Block> b_blocks) {
        struct Corner {
            std::size_t row, col;  // blocks
        };
        std::vector<Corner> corners;
        for (std::size_t row = 0; row < a_blocks.size(); ++row) {
            for (std::size_t col = &a == &b ? row : 0; col < b_blocks.size(); ++col) {
                if (takes(a_blocks[row], b_blocks[col]) || takes(b_blocks[col], a_blocks[row]))
                    corners.push_back({row, col});
            }
        }
        std::vector<std::mutex> row_guards(a_blocks.size()), own_guards(&a == &b ? 0 : b_blocks.size());
        std::vector<std::mutex>& col_guards = &a == &b ? row_guards : own_guards;
        for_each_on_threads(threads_, std::ssize(corners), [&](std::int64_t at) {
            const Corner& corner = corners[static_cast<std::size_t>(at)];
            const Block &rows = a_blocks[corner.row], &cols = b_blocks[corner.col];
            thread_local Matrix<float> products;
            if (products.rows() < block_) products = Matrix<float>(block_, block_);
            MatrixView<float> view = products.view();
            view.rows = rows.count;
            view.cols = cols.count;
            linalg::product(a.centred().block(rows.first - a.first(), rows.count),
                            b.centred().block(cols.first - b.first(), cols.count), view);
            if (&a == &b && corner.row == corner.col) {
                const std::lock_guard lock(row_guards[corner.row]);
                scan(a, rows, b, cols, view);
            } else {
                const std::scoped_lock lock(row_guards[corner.row], col_guards[corner.col]);
                scan(a, rows, b, cols, view);
            }
        });
    }

    /// Whether a row of one block asks a list on which a row of the other stands.
    static bool takes(const Block& asking, const Block& standing) {
        for (std::size_t w = 0; w < asking.asks.size(); ++w) {
            if (asking.asks[w] & standing.lists[w]) return true;
        }
        return false;
    }

    void scan(Panel& a, const Block& rows, Panel& b, const Block& cols, MatrixView<const float> products) {
        const bool same = &a == &b && rows.first == cols.first;  // then both orders of a pair are in the tile
        const std::int64_t row = rows.first - a.first(), col = cols.first - b.first();
        const bool any_row = a.face(row, rows.count, cols);
        const bool any_col = !same && b.face(col, cols.count, rows);
        if (!any_row && !any_col) return;
        Tile tile;
        tile.products = products.data;
        tile.stride = products.stride;
        tile.rows = rows.count;
        tile.cols = cols.count;
        tile.row_offset = a.offsets(row);
        tile.col_offset = b.offsets(col);
        tile.row_cut = a.tile_cuts(row);
        tile.col_cut = same ? no_cut_.data() : b.tile_cuts(col);
        Meeting meeting{a, b, row, col, &tile, !same};
        scan_tile(tile, take_hits, &meeting);
        decide_crowded(a, rows);
        decide_crowded(b, cols);
    }

    void decide_crowded(Panel& panel, const Block& rows) {
        std::vector<Kept> kept;
        std::vector<Neighbor> merged;
        for (std::int64_t u = rows.first; u < rows.first + rows.count; ++u) {
            const std::int64_t i = u - panel.first();
            if (panel.is_crowded(i)) decide_row(panel, i, kept, merged);
        }
    }

    /// Decides in double what the rows of a panel have kept.
    void decide(Panel& panel) {
        constexpr std::int64_t some = 64;
        for_each_on_threads(threads_, (panel.size() + some - 1) / some, [&](std::int64_t part) {
            std::vector<Kept> kept;
            std::vector<Neighbor> merged;
            const std::int64_t last = std::min((part + 1) * some, panel.size());
            for (std::int64_t i = part * some; i < last; ++i) decide_row(panel, i, kept, merged);
        });
    }

    void decide_row(Panel& panel, std::int64_t i, std::vector<Kept>& kept, std::vector<Neighbor>& merged) {
        const std::int64_t u = panel.first() + i;
        kept.clear();
        panel.release(i, [&](std::size_t q, std::int32_t other) {
            kept.push_back({other, static_cast<std::int32_t>(q), 0});
        });
        // One row may be kept for many lists: its cosine is computed once.
        std::ranges::sort(kept, {}, &Kept::other);
        for (std::size_t j = 0; j < kept.size(); ++j) {
            kept[j].cosine = j > 0 && kept[j].other == kept[j - 1].other
                                 ? kept[j - 1].cosine
                                 : rows_.cosine(all_.row(u), all_.row(kept[j].other));
        }
        std::ranges::stable_sort(kept, {}, &Kept::question);
        for (std::size_t from = 0; from < kept.size();) {
            const auto q = static_cast<std::size_t>(kept[from].question);
            const std::span<Neighbor> best = chosen(q, u);
            merged.clear();
            for (const Neighbor& one : best) {
                if (one.position >= 0) merged.push_back(one);
            }
            std::size_t to = from;
            for (; to < kept.size() && kept[to].question == kept[from].question; ++to)
                merged.push_back({kept[to].cosine, all_.position(q, kept[to].other)});
            decided_[q][static_cast<std::size_t>(all_.query(q, u))] += static_cast<std::int64_t>(to - from);
            const std::size_t count = std::min(merged.size(), best.size());
            std::partial_sort(merged.begin(), merged.begin() + static_cast<std::ptrdiff_t>(count),
                              merged.end(), comes_before);
            std::copy_n(merged.begin(), count, best.begin());
            panel.settle(i, q, best.back().cosine);
            from = to;
        }
    }

    const RowSet& rows_;
    std::span<const Question> questions_;
    int k_, threads_;
    std::int64_t panel_, block_;
    CensusRows all_;
    std::vector<float> no_cut_;
    Scale scale_;
    std::vector<NeighborSets> sets_;
    std::vector<std::vector<std::int64_t>> decided_;  // by question and query
};

}  // namespace

std::vector<NeighborSets> census(const RowSet& rows, std::span<const Question> questions, int k,
                                 const SearchOptions& options) {
    return Census(rows, questions, k, options).run();
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
