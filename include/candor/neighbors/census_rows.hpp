#pragma once

/// What a census is about: the rows that take part, in the order of its tiles.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/reach.hpp"
#include "candor/neighbors/census.hpp"

namespace candor::neighbors {

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

/// Entries of its list that some query of a question sees.
std::int64_t longest_reach(const Question& question);

/// Rows first .. first + count, one side of a tile.
struct Block {
    std::int64_t first = 0, count = 0;
    std::vector<Bits> lists{}, asks{};  ///< on which some of the rows stand, and that some ask
};

/// The rows that some question is about, in the order of the tiles, and what each is to each question.
class CensusRows {
  public:
    /// @param rows  rows of the context.
    /// @param place where each row is read from, e.g. its row of a file: a panel is of rows near each other;
    ///              empty: their own order.
    /// @param block most rows of a block.
    /// @param panel most rows of a panel.
    CensusRows(std::int64_t rows, std::span<const Question> questions, std::span<const std::int64_t> place,
               std::int64_t block, std::int64_t panel);

    std::int64_t size() const { return std::ssize(rows_); }
    std::int64_t words() const { return words_; }
    /// Blocks by panel.
    const std::vector<std::vector<Block>>& panels() const { return panels_; }
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
    /// Neighbours that question q wants.
    int wanted(std::size_t q, int k) const { return questions_[q].k > 0 ? questions_[q].k : k; }
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
    std::vector<Bits> member_bits(std::int64_t rows) const;
    std::vector<Bits> query_bits(std::int64_t rows) const;

    /// The rows that take part, in the order of their places.
    void find_rows(const std::vector<Bits>& member, const std::vector<Bits>& asks,
                   std::span<const std::int64_t> place);

    /// Within a panel rows on the same lists stand together, the lists that halve the rows best deciding
    /// first: the columns of a tile are then on few lists, and what a row still takes of them is one number
    /// that excludes most. Rows on no list stand last, where they never meet each other.
    void order_panel(std::size_t first, std::size_t count, const std::vector<Bits>& member);

    bool stands(const std::vector<Bits>& member, ContextRow row, std::size_t q) const {
        return member[static_cast<std::size_t>(row.value * words_) + q / 64] >> (q % 64) & 1;
    }

    /// A new block begins also where the two lists that decide first change: a tile that is a little of
    /// another list would show its rows that list before they know what they need of it, and be taken whole.
    void cut_into_blocks(std::size_t first, std::size_t count, const std::vector<Bits>& member,
                         std::int64_t most);
    void sum_up(Block& block) const;

    std::span<const Question> questions_;
    std::int64_t words_ = 0;
    std::vector<std::size_t> deciding_;  // questions in the order in which their lists sort the rows
    std::vector<std::vector<Block>> panels_;
    std::vector<std::int64_t> longest_;  // reach of each question
    std::vector<ContextRow> rows_;
    std::vector<std::int32_t> place_;  // by ContextRow
    std::vector<Bits> member_, asks_;
    std::vector<std::int32_t> position_, query_;  // by row of the census, question
};

}  // namespace candor::neighbors
