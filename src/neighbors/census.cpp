#include "candor/neighbors/census.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
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

/// A set of questions, 64 a word.
using Bits = std::uint64_t;
constexpr std::int64_t word_bits = 64;

/// Calls `body(question)` for every question that both rows of `words` words have. (Plain pointers: a span
/// passed on the stack stalls the loop that is called once a hit.)
template <class Body>
[[gnu::always_inline]] inline void for_each_common(const Bits* a, const Bits* b, std::int64_t words,
                                                   Body body) {
    for (std::int64_t w = 0; w < words; ++w) {
        for (Bits bits = a[w] & b[w]; bits != 0; bits &= bits - 1)
            body(static_cast<std::size_t>(w * word_bits + std::countr_zero(bits)));
    }
}

std::int64_t longest_reach(const Question& question) {
    std::int64_t longest = 0;
    for (const Reach& reach : question.reach) longest = std::max(longest, reach.end);
    return longest;
}

/// Rows first .. first + count, one side of a tile.
struct Block {
    std::int64_t first = 0, count = 0;
};

/// The rows that some question is about, in the order of the tiles, and what each is to each question.
class Union {
  public:
    /// @param block most rows of a block.
    Union(const RowSet& rows, std::span<const Question> questions, std::int64_t block)
        : questions_(questions) {
        words_ = (std::ssize(questions) + word_bits - 1) / word_bits;
        for (const Question& question : questions) longest_.push_back(longest_reach(question));
        const std::vector<Bits> member = member_bits(rows.rows()), asks = query_bits(rows.rows());
        order_rows(member, asks);
        place_.resize(static_cast<std::size_t>(rows.rows()), -1);
        cut_into_blocks(member, block);
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
    const std::vector<Block>& blocks() const { return blocks_; }
    ContextRow row(std::int64_t u) const { return rows_[static_cast<std::size_t>(u)]; }
    /// Questions on whose list row u stands, and those that it asks.
    const Bits* member(std::int64_t u) const { return member_.data() + u * words_; }
    const Bits* asks(std::int64_t u) const { return asks_.data() + u * words_; }
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
        deciding_.resize(questions_.size());
        std::iota(deciding_.begin(), deciding_.end(), std::size_t{0});
        std::ranges::stable_sort(
            deciding_, {}, [&](std::size_t q) { return std::abs(2 * longest_[q] - std::ssize(rows_)); });
        std::vector<Bits> key;  // of each row: what decides first is the highest bit of the first word
        for (const ContextRow row : rows_) {
            std::vector<Bits> words(static_cast<std::size_t>(words_));
            for (std::size_t at = 0; at < deciding_.size(); ++at) {
                if (stands(member, row, deciding_[at])) words[at / 64] |= Bits{1} << (63 - at % 64);
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

    bool stands(const std::vector<Bits>& member, ContextRow row, std::size_t q) const {
        return member[static_cast<std::size_t>(row.value * words_) + q / 64] >> (q % 64) & 1;
    }

    /// A new block begins also where the two lists that decide first change: a tile that is a little of
    /// another list would show its rows that list before they know what they need of it, and be taken whole.
    void cut_into_blocks(const std::vector<Bits>& member, std::int64_t most) {
        const std::size_t first_ones = std::min<std::size_t>(2, deciding_.size());
        for (std::size_t u = 0; u < rows_.size(); ++u) {
            bool begins = blocks_.empty() || blocks_.back().count == most;
            for (std::size_t at = 0; !begins && at < first_ones; ++at)
                begins =
                    stands(member, rows_[u], deciding_[at]) != stands(member, rows_[u - 1], deciding_[at]);
            if (begins) blocks_.push_back({static_cast<std::int64_t>(u), 0});
            ++blocks_.back().count;
        }
    }

    std::span<const Question> questions_;
    std::int64_t words_ = 0;
    std::vector<std::size_t> deciding_;  // questions in the order in which their lists sort the rows
    std::vector<Block> blocks_;
    std::vector<std::int64_t> longest_;  // reach of each question
    std::vector<ContextRow> rows_;
    std::vector<std::int32_t> place_;  // by ContextRow
    std::vector<Bits> member_, asks_;
    std::vector<std::int32_t> position_, query_;  // by row of the union, question
};

/// A float that is not above `value`, and one that is not below.
float rounded_down(double value) {
    const auto near = static_cast<float>(value);
    return static_cast<double>(near) <= value ? near
                                              : std::nextafter(near, -std::numeric_limits<float>::infinity());
}
float rounded_up(double value) {
    return -rounded_down(-value);
}

/// How large the rows of a union are.
struct Scale {
    double radius = 0;  // the largest
    double offset = 0;  // the mean
    double spread = 0;  // the largest distance of an offset from it
};

/// Rows first .. first + count of the union side by side, with what they still take of each list.
///
/// Scores here are relative: a row's own offset, which all its scores share, is left out, and offsets count
/// from their mean. They are then as small as the centred rows, and single precision costs a score no more
/// than the product did.
class Panel {
  public:
    struct Entry {
        float score;
        std::int32_t other;  // in the union
    };

    Panel(const RowSet& rows, const Union& all, std::size_t questions, int k, std::int64_t first,
          std::int64_t count, const Scale& scale)
        : first_(first),
          questions_(questions),
          k_(static_cast<std::size_t>(k)),
          capacity_(2 * k_ + 22),
          all_(all),
          scale_(scale),
          centred_(count, rows.dimension()),
          slot_(static_cast<std::size_t>(count) * questions, -1),
          tile_cut_(static_cast<std::size_t>(count)),
          tile_mask_(static_cast<std::size_t>(count * all.words())) {
        for (std::int64_t i = 0; i < count; ++i) {
            const ContextRow row = all.row(first + i);
            std::ranges::copy(rows.centred().row(row.value), centred_.row(i).begin());
            own_offset_.push_back(rows.offset(row) + scale.offset);
            offset_.push_back(static_cast<float>(rows.offset(row) - scale.offset));
            // Twice the error of a score: the product's, and that of its sum with an offset and of the cuts.
            band_.push_back(rounded_up(2 * rows.error(rows.radius(row), scale.radius) +
                                       0x1p-20 * (rows.radius(row) * scale.radius + scale.spread)));
            for_each_common(all.asks(first + i), all.asks(first + i), all.words(), [&](std::size_t q) {
                slot_[static_cast<std::size_t>(i) * questions + q] = static_cast<std::int32_t>(sinks_.size());
                const Reach& reach = all.reach(q, first + i);
                sinks_.push_back({-infinity, static_cast<std::int32_t>(reach.end),
                                  static_cast<std::int32_t>(reach.skip), 0});
            });
        }
        entries_.resize(sinks_.size() * capacity_);
    }

    std::int64_t first() const { return first_; }
    std::int64_t size() const { return std::ssize(offset_); }
    MatrixView<const float> centred() const { return centred_.view(); }
    const float* offsets(std::int64_t i) const { return offset_.data() + i; }
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
            any = any || tile_cut_[static_cast<std::size_t>(r)] < infinity;
        }
        return any;
    }

    /// Offers row `other` of the union to the lists that row i asks and that hold it.
    void take(std::int64_t i, std::int64_t other, float score) {
        bool risen = false;
        for_each_common(all_.asks(first_ + i), all_.member(other), all_.words(), [&](std::size_t q) {
            const std::int32_t slot = slot_[static_cast<std::size_t>(i) * questions_ + q];
            Sink& sink = sinks_[static_cast<std::size_t>(slot)];
            if (score < sink.cut) return;
            const std::int32_t position = all_.position(q, other);
            if (position >= sink.end || position == sink.skip) return;
            Entry* entries = entries_of(slot);
            entries[sink.count++] = {score, static_cast<std::int32_t>(other)};
            if (static_cast<std::size_t>(sink.count) == capacity_) {
                prune(slot, band_[static_cast<std::size_t>(i)]);
                risen = true;
            }
        });
        if (risen) lower(i);
    }

    /// Calls `body(question, other)` for what row i kept and its cuts have not passed since, and forgets it.
    template <class Body>
    void release(std::int64_t i, Body body) {
        for_each_common(all_.asks(first_ + i), all_.asks(first_ + i), all_.words(), [&](std::size_t q) {
            const std::int32_t slot = slot_[static_cast<std::size_t>(i) * questions_ + q];
            Sink& sink = sinks_[static_cast<std::size_t>(slot)];
            raise(slot, band_[static_cast<std::size_t>(i)]);
            const Entry* entries = entries_of(slot);
            for (std::int32_t e = 0; e < sink.count; ++e) {
                if (entries[e].score >= sink.cut) body(q, entries[e].other);
            }
            sink.count = 0;
            if (const auto more = spilt_.find(slot); more != spilt_.end()) {
                for (const Entry& entry : more->second) {
                    if (entry.score >= sink.cut) body(q, entry.other);
                }
                more->second.clear();
            }
        });
    }

    /// Tells row i that its k-th neighbour of list q has this cosine.
    void settle(std::int64_t i, std::size_t q, double cosine) {
        Sink& sink = sinks_[static_cast<std::size_t>(slot_[static_cast<std::size_t>(i) * questions_ + q])];
        const auto r = static_cast<std::size_t>(i);
        sink.cut = std::max(sink.cut, rounded_down(cosine - own_offset_[r] - static_cast<double>(band_[r])));
    }

  private:
    static constexpr float infinity = std::numeric_limits<float>::infinity();

    /// What a row takes of one list.
    struct Sink {
        float cut;
        std::int32_t end, skip;  // reach
        std::int32_t count;
    };

    Entry* entries_of(std::int32_t slot) {
        return entries_.data() + static_cast<std::size_t>(slot) * capacity_;
    }

    template <class Of>
    std::vector<Bits> any_of(std::int64_t i, std::int64_t count, Of of) const {
        std::vector<Bits> any(static_cast<std::size_t>(all_.words()));
        for (std::int64_t u = first_ + i; u < first_ + i + count; ++u) {
            const Bits* one = of(u);
            for (std::size_t w = 0; w < any.size(); ++w) any[w] |= one[w];
        }
        return any;
    }

    /// Raises a sink's cut to what its k best entries allow; they come first.
    void raise(std::int32_t slot, float band) {
        Sink& sink = sinks_[static_cast<std::size_t>(slot)];
        if (static_cast<std::size_t>(sink.count) < k_) return;
        Entry* entries = entries_of(slot);
        std::nth_element(entries, entries + k_ - 1, entries + sink.count,
                         [](const Entry& a, const Entry& b) { return a.score > b.score; });
        sink.cut = std::max(sink.cut, entries[k_ - 1].score - band);
    }

    /// Makes room in a full sink.
    void prune(std::int32_t slot, float band) {
        raise(slot, band);
        Sink& sink = sinks_[static_cast<std::size_t>(slot)];
        Entry* entries = entries_of(slot);
        const auto rest = std::partition(entries + k_, entries + sink.count,
                                         [&](const Entry& entry) { return entry.score >= sink.cut; });
        sink.count = static_cast<std::int32_t>(rest - entries);
        if (static_cast<std::size_t>(sink.count) <= capacity_ / 2) return;
        // So many are as good as equal that they are put aside: the k best carry the cut.
        std::vector<Entry>& spilt = spilt_of(slot);
        spilt.insert(spilt.end(), entries + k_, entries + sink.count);
        sink.count = static_cast<std::int32_t>(k_);
    }

    std::vector<Entry>& spilt_of(std::int32_t slot) {
        const std::lock_guard lock(spilling_);
        return spilt_[slot];
    }

    /// Recomputes the lowest score that row i takes of the lists it faces.
    void lower(std::int64_t i) {
        float lowest = infinity;
        const Bits* lists = tile_mask_.data() + i * all_.words();
        for_each_common(all_.asks(first_ + i), lists, all_.words(), [&](std::size_t q) {
            const std::int32_t slot = slot_[static_cast<std::size_t>(i) * questions_ + q];
            lowest = std::min(lowest, sinks_[static_cast<std::size_t>(slot)].cut);
        });
        tile_cut_[static_cast<std::size_t>(i)] = lowest;
    }

    std::int64_t first_;
    std::size_t questions_, k_, capacity_;
    const Union& all_;
    const Scale& scale_;
    Matrix<float> centred_;
    std::vector<double> own_offset_;  // a cosine is a relative score and this
    std::vector<float> offset_, band_;
    std::vector<std::int32_t> slot_;  // by row, question: which sink; -1: it does not ask
    std::vector<Sink> sinks_;
    std::vector<Entry> entries_;  // by sink
    std::map<std::int32_t, std::vector<Entry>> spilt_;
    std::mutex spilling_;  // of the map; a sink belongs to whoever holds its row
    std::vector<float> tile_cut_;
    std::vector<Bits> tile_mask_;
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
                if (takes(a, a_blocks[row], b, b_blocks[col]) || takes(b, b_blocks[col], a, a_blocks[row]))
                    corners.push_back({row, col});
            }
        }
        std::vector<std::mutex> row_guards(a_blocks.size()), own_guards(&a == &b ? 0 : b_blocks.size());
        std::vector<std::mutex>& col_guards = &a == &b ? row_guards : own_guards;
        for_each_on_threads(threads_, std::ssize(corners), [&](std::int64_t at) {
            const Corner& corner = corners[static_cast<std::size_t>(at)];
            const Block rows{a_blocks[corner.row].first - a.first(), a_blocks[corner.row].count};
            const Block cols{b_blocks[corner.col].first - b.first(), b_blocks[corner.col].count};
            thread_local Matrix<float> products;
            if (products.rows() < block_) products = Matrix<float>(block_, block_);
            MatrixView<float> view = products.view();
            view.rows = rows.count;
            view.cols = cols.count;
            linalg::product(a.centred().block(rows.first, rows.count),
                            b.centred().block(cols.first, cols.count), view);
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
    static bool takes(const Panel& a, const Block& asking, const Panel& b, const Block& standing) {
        const std::vector<Bits> asks = a.asked_by(asking.first - a.first(), asking.count);
        const std::vector<Bits> lists = b.lists_of(standing.first - b.first(), standing.count);
        for (std::size_t w = 0; w < asks.size(); ++w) {
            if (asks[w] & lists[w]) return true;
        }
        return false;
    }

    /// @param rows, cols blocks by their place in the panels.
    void scan(Panel& a, const Block& rows, Panel& b, const Block& cols, MatrixView<const float> products) {
        const bool same = &a == &b && rows.first == cols.first;  // then both orders of a pair are in the tile
        const bool any_row = a.face(rows.first, rows.count, b.lists_of(cols.first, cols.count));
        const bool any_col = !same && b.face(cols.first, cols.count, a.lists_of(rows.first, rows.count));
        if (!any_row && !any_col) return;
        Tile tile;
        tile.products = products.data;
        tile.stride = products.stride;
        tile.rows = rows.count;
        tile.cols = cols.count;
        tile.row_offset = a.offsets(rows.first);
        tile.col_offset = b.offsets(cols.first);
        tile.row_cut = a.tile_cuts(rows.first);
        tile.col_cut = same ? no_cut_.data() : b.tile_cuts(cols.first);
        Meeting meeting{a, b, rows.first, cols.first, &tile, !same};
        scan_tile(tile, take_hits, &meeting);
    }

    /// One entry that a row kept for a question.
    struct Kept {
        std::int32_t other, question;
        double cosine;
    };

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
    Union all_;
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
