#include "candor/neighbors/census.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>

#include "candor/base/error.hpp"
#include "candor/base/matrix.hpp"
#include "candor/base/threads.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/neighbors/decision.hpp"
#include "candor/neighbors/tile_scan.hpp"

namespace candor::neighbors {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t few_kept =
    64;  // entries that a row keeps before it looks which ones its cuts have passed

/// A set of questions, 64 a word.
using Bits = std::uint64_t;
constexpr std::int64_t word_bits = 64;

/// Calls `body(question)` for every question in the words that both rows of bits have.
template <class Body>
void for_each_common(std::span<const Bits> a, std::span<const Bits> b, Body body) {
    for (std::size_t w = 0; w < a.size(); ++w) {
        for (Bits bits = a[w] & b[w]; bits != 0; bits &= bits - 1)
            body(w * static_cast<std::size_t>(word_bits) + static_cast<std::size_t>(std::countr_zero(bits)));
    }
}

std::int64_t longest_reach(const Question& question) {
    std::int64_t longest = 0;
    for (const Reach& reach : question.reach) longest = std::max(longest, reach.end);
    return longest;
}

/// The rows that some question is about, in the order of the tiles, and what each is to each question.
class Union {
  public:
    Union(const RowSet& rows, std::span<const Question> questions) : questions_(questions) {
        words_ = (std::ssize(questions) + word_bits - 1) / word_bits;
        for (const Question& question : questions) longest_.push_back(longest_reach(question));
        const std::vector<Bits> member = member_bits(rows.rows()), asks = query_bits(rows.rows());
        order_rows(member, asks);
        place_.resize(static_cast<std::size_t>(rows.rows()), -1);
        for (std::size_t u = 0; u < rows_.size(); ++u) {
            place_[static_cast<std::size_t>(rows_[u].value)] = static_cast<std::int32_t>(u);
            const auto from = rows_[u].value * words_;
            member_.insert(member_.end(), member.begin() + from, member.begin() + from + words_);
            asks_.insert(asks_.end(), asks.begin() + from, asks.begin() + from + words_);
        }
        const std::size_t asked = questions.size();
        position_.assign(rows_.size() * asked, -1);
        query_.assign(rows_.size() * asked, -1);
        for (std::size_t q = 0; q < asked; ++q) {
            for (std::int64_t i = 0; i < longest_[q]; ++i)
                position_[place_of(questions[q].list[static_cast<std::size_t>(i)]) * asked + q] =
                    static_cast<std::int32_t>(i);
            for (std::size_t i = 0; i < questions[q].queries.size(); ++i)
                query_[place_of(questions[q].queries[i]) * asked + q] = static_cast<std::int32_t>(i);
        }
    }

    std::int64_t size() const { return std::ssize(rows_); }
    std::int64_t words() const { return words_; }
    ContextRow row(std::int64_t u) const { return rows_[static_cast<std::size_t>(u)]; }
    /// Questions on whose list row u stands, and those that it asks.
    std::span<const Bits> member(std::int64_t u) const { return words_of(member_, u); }
    std::span<const Bits> asks(std::int64_t u) const { return words_of(asks_, u); }
    /// Position of row u on the list of question q, and its place among the queries; -1: in neither.
    std::int32_t position(std::size_t q, std::int64_t u) const {
        return position_[static_cast<std::size_t>(u) * questions_.size() + q];
    }
    std::int32_t query(std::size_t q, std::int64_t u) const {
        return query_[static_cast<std::size_t>(u) * questions_.size() + q];
    }
    const Reach& reach(std::size_t q, std::int64_t u) const {
        return questions_[q].reach[static_cast<std::size_t>(query(q, u))];
    }

  private:
    std::span<const Bits> words_of(const std::vector<Bits>& all, std::int64_t u) const {
        return {all.data() + u * words_, static_cast<std::size_t>(words_)};
    }
    std::size_t place_of(ContextRow row) const {
        return static_cast<std::size_t>(place_[static_cast<std::size_t>(row.value)]);
    }
    void set(std::vector<Bits>& bits, ContextRow row, std::size_t q) const {
        bits[static_cast<std::size_t>(row.value * words_) + q / 64] |= Bits{1} << (q % 64);
    }
    std::vector<Bits> member_bits(std::int64_t rows) const {
        std::vector<Bits> bits(static_cast<std::size_t>(rows * words_));
        for (std::size_t q = 0; q < questions_.size(); ++q) {
            for (std::int64_t i = 0; i < longest_[q]; ++i)
                set(bits, questions_[q].list[static_cast<std::size_t>(i)], q);
        }
        return bits;
    }
    std::vector<Bits> query_bits(std::int64_t rows) const {
        std::vector<Bits> bits(static_cast<std::size_t>(rows * words_));
        for (std::size_t q = 0; q < questions_.size(); ++q) {
            for (const ContextRow row : questions_[q].queries) set(bits, row, q);
        }
        return bits;
    }

    /// Rows on the same lists stand together, the lists that halve the rows best deciding first: the columns
    /// of a tile are then on few lists, and what a row still takes of them is one number that excludes most.
    /// Rows on no list stand last, where they never meet each other.
    void order_rows(const std::vector<Bits>& member, const std::vector<Bits>& asks) {
        const auto n = static_cast<std::int64_t>(member.size()) / std::max<std::int64_t>(words_, 1);
        const auto any = [&](const std::vector<Bits>& bits, std::int64_t row) {
            return std::any_of(bits.begin() + row * words_, bits.begin() + (row + 1) * words_,
                               [](Bits word) { return word != 0; });
        };
        for (std::int64_t row = 0; row < n; ++row) {
            if (any(member, row) || any(asks, row)) rows_.emplace_back(row);
        }
        std::vector<std::size_t> deciding(questions_.size());
        std::iota(deciding.begin(), deciding.end(), std::size_t{0});
        std::ranges::stable_sort(
            deciding, {}, [&](std::size_t q) { return std::abs(2 * longest_[q] - std::ssize(rows_)); });
        std::vector<Bits>
            key;  // of each row in rows_: the deciding list is the highest bit of the first word
        for (const ContextRow row : rows_) {
            std::vector<Bits> words(static_cast<std::size_t>(words_));
            for (std::size_t at = 0; at < deciding.size(); ++at) {
                const std::size_t q = deciding[at];
                const Bits bit =
                    member[static_cast<std::size_t>(row.value * words_) + q / 64] >> (q % 64) & 1;
                words[at / 64] |= bit << (63 - at % 64);
            }
            key.insert(key.end(), words.begin(), words.end());
        }
        std::vector<std::size_t> order(rows_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
            const auto w = static_cast<std::size_t>(words_);
            return std::lexicographical_compare(key.begin() + static_cast<std::ptrdiff_t>(b * w),
                                                key.begin() + static_cast<std::ptrdiff_t>((b + 1) * w),
                                                key.begin() + static_cast<std::ptrdiff_t>(a * w),
                                                key.begin() + static_cast<std::ptrdiff_t>((a + 1) * w));
        });
        std::vector<ContextRow> sorted;
        for (const std::size_t at : order) sorted.push_back(rows_[at]);
        rows_ = std::move(sorted);
    }

    std::span<const Question> questions_;
    std::int64_t words_ = 0;
    std::vector<std::int64_t> longest_;  // reach of each question
    std::vector<ContextRow> rows_;
    std::vector<std::int32_t> place_;  // by ContextRow
    std::vector<Bits> member_, asks_;
    std::vector<std::int32_t> position_, query_;  // by row of the union, question
};

/// A float that is not above `value`.
float rounded_down(double value) {
    const auto near = static_cast<float>(value);
    return static_cast<double>(near) <= value ? near
                                              : std::nextafter(near, -std::numeric_limits<float>::infinity());
}

/// Rows first .. first + count of the union side by side, with what they still take of each list.
class Panel {
  public:
    struct Kept {
        double score;
        std::int32_t other;  // in the union
        std::int32_t question;
    };

    Panel(const RowSet& rows, const Union& all, std::int64_t questions, int k, std::int64_t first,
          std::int64_t count, double largest_radius)
        : first_(first),
          questions_(questions),
          k_(static_cast<std::size_t>(k)),
          all_(all),
          centred_(count, rows.dimension()),
          cut_(static_cast<std::size_t>(count * questions), -infinity),
          seen_(cut_.size()),
          best_(cut_.size() * k_, -infinity),
          lowest_(static_cast<std::size_t>(count)),
          tile_cut_(static_cast<std::size_t>(count)),
          tile_mask_(static_cast<std::size_t>(count * all.words())),
          kept_(static_cast<std::size_t>(count)),
          compact_at_(static_cast<std::size_t>(count), few_kept) {
        for (std::int64_t i = 0; i < count; ++i) {
            for_each_common(all.asks(first + i), all.asks(first + i), [&](std::size_t q) {
                const Reach& reach = all.reach(q, first + i);
                seen_[static_cast<std::size_t>(i * questions) + q] = {static_cast<std::int32_t>(reach.end),
                                                                      static_cast<std::int32_t>(reach.skip)};
            });
            kept_[static_cast<std::size_t>(i)].reserve(few_kept);
            const ContextRow row = all.row(first + i);
            std::ranges::copy(rows.centred().row(row.value), centred_.row(i).begin());
            offset_.push_back(rows.offset(row));
            rough_offset_.push_back(static_cast<float>(rows.offset(row)));
            band_.push_back(2 * rows.error(rows.radius(row), largest_radius));
        }
    }

    std::int64_t first() const { return first_; }
    std::int64_t size() const { return std::ssize(offset_); }
    MatrixView<const float> centred() const { return centred_.view(); }
    double offset(std::int64_t i) const { return offset_[static_cast<std::size_t>(i)]; }
    const float* rough_offsets(std::int64_t i) const { return rough_offset_.data() + i; }
    const float* tile_cuts(std::int64_t i) const { return tile_cut_.data() + i; }

    /// Lists on which some of the rows i .. i + count stand, and those that some ask.
    std::vector<Bits> lists_of(std::int64_t i, std::int64_t count) const {
        return any_of(i, count, [&](std::int64_t u) { return all_.member(u); });
    }
    std::vector<Bits> asked_by(std::int64_t i, std::int64_t count) const {
        return any_of(i, count, [&](std::int64_t u) { return all_.asks(u); });
    }

    /// Sets the cuts of rows i .. i + count against rows on `lists`. @returns whether any of them takes some.
    bool face(std::int64_t i, std::int64_t count, std::span<const Bits> lists) {
        bool any = false;
        for (std::int64_t r = i; r < i + count; ++r) {
            std::ranges::copy(lists, tile_mask_.begin() + r * all_.words());
            lower(r);
            any = any || lowest_[static_cast<std::size_t>(r)] < infinity;
        }
        return any;
    }

    /// Offers row `other` of the union to the lists that row i asks and that hold it.
    void take(std::int64_t i, std::int64_t other, double score) {
        if (score < lowest_[static_cast<std::size_t>(i)]) return;
        bool risen = false;
        for_each_common(all_.asks(first_ + i), all_.member(other), [&](std::size_t q) {
            const std::size_t at = static_cast<std::size_t>(i * questions_) + q;
            if (score < cut_[at]) return;
            const std::int32_t position = all_.position(q, other);
            if (position >= seen_[at].end || position == seen_[at].skip) return;
            const double before = cut_[at];
            keep(i, q, other, score);
            risen = risen || (cut_[at] != before && before == lowest_[static_cast<std::size_t>(i)]);
        });
        if (risen) lower(i);
    }

    /// What row i kept, without what its cuts have passed since.
    std::span<const Kept> kept(std::int64_t i) {
        compact(i);
        return kept_[static_cast<std::size_t>(i)];
    }

    /// Begins anew from decided neighbours: they alone are known to row i of list q.
    void settle(std::int64_t i, std::size_t q, std::span<const Neighbor> decided) {
        const std::size_t at = static_cast<std::size_t>(i * questions_) + q;
        for (std::size_t j = 0; j < k_; ++j) best_[at * k_ + j] = decided[j].cosine;
        cut_[at] = decided.back().cosine - band_[static_cast<std::size_t>(i)];
    }
    void forget(std::int64_t i) { kept_[static_cast<std::size_t>(i)].clear(); }

  private:
    template <class Of>
    std::vector<Bits> any_of(std::int64_t i, std::int64_t count, Of of) const {
        std::vector<Bits> any(static_cast<std::size_t>(all_.words()));
        for (std::int64_t u = first_ + i; u < first_ + i + count; ++u) {
            const std::span<const Bits> one = of(u);
            for (std::size_t w = 0; w < any.size(); ++w) any[w] |= one[w];
        }
        return any;
    }

    void keep(std::int64_t i, std::size_t q, std::int64_t other, double score) {
        const auto r = static_cast<std::size_t>(i);
        kept_[r].push_back({score, static_cast<std::int32_t>(other), static_cast<std::int32_t>(q)});
        const std::size_t at = static_cast<std::size_t>(i * questions_) + q;
        double* best = best_.data() + at * k_;
        if (score > best[k_ - 1]) {
            std::size_t j = k_ - 1;
            for (; j > 0 && score > best[j - 1]; --j) best[j] = best[j - 1];
            best[j] = score;
            cut_[at] = best[k_ - 1] - band_[r];
        }
        if (kept_[r].size() >= compact_at_[r]) {
            compact(i);
            compact_at_[r] = std::max<std::size_t>(few_kept, 2 * kept_[r].size());
        }
    }

    void compact(std::int64_t i) {
        const double* cut = cut_.data() + i * questions_;
        std::erase_if(kept_[static_cast<std::size_t>(i)],
                      [&](const Kept& one) { return one.score < cut[one.question]; });
    }

    /// Recomputes the lowest score that row i takes of the lists it faces.
    void lower(std::int64_t i) {
        double lowest = infinity;
        const std::span<const Bits> lists(tile_mask_.data() + i * all_.words(),
                                          static_cast<std::size_t>(all_.words()));
        for_each_common(all_.asks(first_ + i), lists, [&](std::size_t q) {
            lowest = std::min(lowest, cut_[static_cast<std::size_t>(i * questions_) + q]);
        });
        const auto r = static_cast<std::size_t>(i);
        lowest_[r] = lowest;
        // Offsets and their sum with a product are at most 2 in size and rounded to single precision twice.
        tile_cut_[r] = rounded_down(lowest - offset_[r] - 0x1p-21);
    }

    std::int64_t first_, questions_;
    std::size_t k_;
    const Union& all_;
    Matrix<float> centred_;
    std::vector<double> offset_, band_;
    std::vector<float> rough_offset_;
    std::vector<double> cut_;  // by row, question
    struct Seen {
        std::int32_t end = 0, skip = -1;
    };
    std::vector<Seen> seen_;    // reach by row, question
    std::vector<double> best_;  // by row, question: the k largest so far, falling
    std::vector<double> lowest_;
    std::vector<float> tile_cut_;
    std::vector<Bits> tile_mask_;
    std::vector<std::vector<Kept>> kept_;
    std::vector<std::size_t> compact_at_;
};

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
    for (; hits != 0; hits &= hits - 1) {
        const std::int64_t col = first + std::countr_zero(hits), j = meeting.col + col;
        const float product = tile.products[row * tile.stride + col];
        const double score = static_cast<double>(product) + meeting.rows.offset(i) + meeting.cols.offset(j);
        if (product + tile.col_offset[col] >= tile.row_cut[row])
            meeting.rows.take(i, meeting.cols.first() + j, score);
        if (meeting.both && product + tile.row_offset[row] >= tile.col_cut[col])
            meeting.cols.take(j, meeting.rows.first() + i, score);
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
          all_(rows, questions),
          no_cut_(static_cast<std::size_t>(block_), std::numeric_limits<float>::infinity()) {
        for (std::int64_t u = 0; u < all_.size(); ++u)
            largest_radius_ = std::max(largest_radius_, rows.radius(all_.row(u)));
        for (const Question& question : questions) {
            NeighborSets& set = sets_.emplace_back();
            set.k = k;
            set.values.assign(question.queries.size() * static_cast<std::size_t>(k), {-infinity, -1});
            decided_.emplace_back(question.queries.size());
        }
    }

    std::vector<NeighborSets> run() {
        for (std::int64_t first = 0; first < all_.size(); first += panel_) {
            Panel a = panel(first);
            meet(a, a);
            for (std::int64_t other = first + panel_; other < all_.size(); other += panel_) {
                Panel b = panel(other);
                meet(a, b);
                decide(b);
            }
            decide(a);
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
    std::span<Neighbor> chosen(std::size_t q, std::int64_t u) {
        const auto k = static_cast<std::size_t>(k_);
        return std::span(sets_[q].values).subspan(static_cast<std::size_t>(all_.query(q, u)) * k, k);
    }

    Panel panel(std::int64_t first) {
        const std::int64_t count = std::min(panel_, all_.size() - first);
        Panel made(rows_, all_, std::ssize(questions_), k_, first, count, largest_radius_);
        for (std::int64_t i = 0; i < count; ++i) settle(made, i);
        return made;
    }

    void settle(Panel& panel, std::int64_t i) {
        const std::span<const Bits> asks = all_.asks(panel.first() + i);
        for_each_common(asks, asks, [&](std::size_t q) { panel.settle(i, q, chosen(q, panel.first() + i)); });
    }

    /// Shows every row of `a` and every row of `b` to each other, once.
    void meet(Panel& a, Panel& b) {
        struct Corner {
            std::int64_t row, col;
        };
        std::vector<Corner> corners;
        for (std::int64_t row = 0; row < a.size(); row += block_) {
            for (std::int64_t col = &a == &b ? row : 0; col < b.size(); col += block_) {
                if (takes(a, row, b, col) || takes(b, col, a, row)) corners.push_back({row, col});
            }
        }
        std::vector<std::mutex> row_guards(static_cast<std::size_t>((a.size() + block_ - 1) / block_));
        std::vector<std::mutex> own_guards(
            &a == &b ? 0 : static_cast<std::size_t>((b.size() + block_ - 1) / block_));
        std::vector<std::mutex>& col_guards = &a == &b ? row_guards : own_guards;
        for_each_on_threads(threads_, std::ssize(corners), [&](std::int64_t at) {
            const auto [row, col] = corners[static_cast<std::size_t>(at)];
            const std::int64_t rows = std::min(block_, a.size() - row),
                               cols = std::min(block_, b.size() - col);
            thread_local Matrix<float> products;
            if (products.rows() < rows || products.cols() < cols) products = Matrix<float>(block_, block_);
            MatrixView<float> view = products.view();
            view.rows = rows;
            view.cols = cols;
            linalg::product(a.centred().block(row, rows), b.centred().block(col, cols), view);
            const auto guards = [&](std::int64_t i) { return static_cast<std::size_t>(i / block_); };
            if (&a == &b && row == col) {
                const std::lock_guard lock(row_guards[guards(row)]);
                scan(a, b, row, rows, col, cols, view);
            } else {
                const std::scoped_lock lock(row_guards[guards(row)], col_guards[guards(col)]);
                scan(a, b, row, rows, col, cols, view);
            }
        });
    }

    /// Whether a row of the block at `row` asks a list on which one of the block at `col` stands.
    bool takes(const Panel& a, std::int64_t row, const Panel& b, std::int64_t col) const {
        const std::vector<Bits> asks = a.asked_by(row, std::min(block_, a.size() - row));
        const std::vector<Bits> lists = b.lists_of(col, std::min(block_, b.size() - col));
        for (std::size_t w = 0; w < asks.size(); ++w) {
            if (asks[w] & lists[w]) return true;
        }
        return false;
    }

    void scan(Panel& a, Panel& b, std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols,
              MatrixView<const float> products) {
        const bool same = &a == &b && row == col;  // then rows and columns are the same, in both orders
        const bool any_row = a.face(row, rows, b.lists_of(col, cols));
        const bool any_col = !same && b.face(col, cols, a.lists_of(row, rows));
        if (!any_row && !any_col) return;
        Tile tile;
        tile.products = products.data;
        tile.stride = products.stride;
        tile.rows = rows;
        tile.cols = cols;
        tile.row_offset = a.rough_offsets(row);
        tile.col_offset = b.rough_offsets(col);
        tile.row_cut = a.tile_cuts(row);
        tile.col_cut = same ? no_cut_.data() : b.tile_cuts(col);
        Meeting meeting{a, b, row, col, &tile, !same};
        scan_tile(tile, take_hits, &meeting);
    }

    /// Decides in double what the rows of a panel have kept.
    void decide(Panel& panel) {
        constexpr std::int64_t some = 64;
        for_each_on_threads(threads_, (panel.size() + some - 1) / some, [&](std::int64_t part) {
            std::vector<Panel::Kept> kept;
            std::vector<Neighbor> merged;
            const std::int64_t last = std::min((part + 1) * some, panel.size());
            for (std::int64_t i = part * some; i < last; ++i) decide_row(panel, i, kept, merged);
        });
    }

    void decide_row(Panel& panel, std::int64_t i, std::vector<Panel::Kept>& kept,
                    std::vector<Neighbor>& merged) {
        const std::int64_t u = panel.first() + i;
        const auto proposed = panel.kept(i);
        kept.assign(proposed.begin(), proposed.end());
        if (kept.empty()) return;
        // One row may be kept for many lists: its cosine is computed once.
        std::ranges::sort(kept, {}, &Panel::Kept::other);
        for (std::size_t j = 0; j < kept.size(); ++j) {
            kept[j].score = j > 0 && kept[j].other == kept[j - 1].other
                                ? kept[j - 1].score
                                : rows_.cosine(all_.row(u), all_.row(kept[j].other));
        }
        std::ranges::stable_sort(kept, {}, &Panel::Kept::question);
        for (std::size_t from = 0; from < kept.size();) {
            const auto q = static_cast<std::size_t>(kept[from].question);
            const std::span<Neighbor> best = chosen(q, u);
            merged.clear();
            for (const Neighbor& one : best) {
                if (one.position >= 0) merged.push_back(one);
            }
            std::size_t to = from;
            for (; to < kept.size() && kept[to].question == kept[from].question; ++to)
                merged.push_back({kept[to].score, all_.position(q, kept[to].other)});
            decided_[q][static_cast<std::size_t>(all_.query(q, u))] += static_cast<std::int64_t>(to - from);
            const std::size_t count = std::min(merged.size(), best.size());
            std::partial_sort(merged.begin(), merged.begin() + static_cast<std::ptrdiff_t>(count),
                              merged.end(), comes_before);
            std::copy_n(merged.begin(), count, best.begin());
            panel.settle(i, q, best);
            from = to;
        }
        panel.forget(i);
    }

    const RowSet& rows_;
    std::span<const Question> questions_;
    int k_, threads_;
    std::int64_t panel_, block_;
    Union all_;
    std::vector<float> no_cut_;
    double largest_radius_ = 0;
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
        for (std::int64_t i = 0; i < longest_reach(question); ++i)
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
