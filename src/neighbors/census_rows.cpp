#include "candor/neighbors/census_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace candor::neighbors {

std::int64_t longest_reach(const Question& question) {
    std::int64_t longest = 0;
    for (const Reach& reach : question.reach) longest = std::max(longest, reach.end);
    return longest;
}

CensusRows::CensusRows(std::int64_t rows, std::span<const Question> questions,
                       std::span<const std::int64_t> place, std::int64_t block, std::int64_t panel)
    : questions_(questions) {
    words_ = (std::ssize(questions) + word_bits - 1) / word_bits;
    for (const Question& question : questions) longest_.push_back(longest_reach(question));
    const std::vector<Bits> member = member_bits(rows), asks = query_bits(rows);
    find_rows(member, asks, place);
    deciding_.resize(questions_.size());
    std::iota(deciding_.begin(), deciding_.end(), std::size_t{0});
    std::ranges::stable_sort(deciding_, {},
                             [&](std::size_t q) { return std::abs(2 * longest_[q] - std::ssize(rows_)); });
    // Some panels even of few rows, so that ranks have something to share; all as large as each other.
    constexpr std::int64_t some = 8, fewest = 512;
    const std::int64_t largest = std::min(panel, std::max(fewest, (size() + some - 1) / some));
    const std::int64_t panels = (size() + largest - 1) / largest;
    for (std::int64_t p = 0; p < panels; ++p) {
        const std::int64_t first = p * size() / panels, end = (p + 1) * size() / panels;
        order_panel(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first), member);
        cut_into_blocks(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first), member,
                        block);
    }
    place_.resize(static_cast<std::size_t>(rows), -1);
    for (std::size_t u = 0; u < rows_.size(); ++u) {
        place_[static_cast<std::size_t>(rows_[u].value)] = static_cast<std::int32_t>(u);
        const auto from = rows_[u].value * words_;
        member_.insert(member_.end(), member.begin() + from, member.begin() + from + words_);
        asks_.insert(asks_.end(), asks.begin() + from, asks.begin() + from + words_);
    }
    for (std::vector<Block>& blocks : panels_) {
        for (Block& one : blocks) sum_up(one);
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

void CensusRows::sum_up(Block& block) const {
    block.lists.resize(static_cast<std::size_t>(words_));
    block.asks.resize(static_cast<std::size_t>(words_));
    for (std::int64_t u = block.first; u < block.first + block.count; ++u) {
        for (std::size_t w = 0; w < block.lists.size(); ++w) {
            block.lists[w] |= member(u)[w];
            block.asks[w] |= asks(u)[w];
        }
    }
}

std::vector<Bits> CensusRows::member_bits(std::int64_t rows) const {
    std::vector<Bits> bits(static_cast<std::size_t>(rows * words_));
    for (std::size_t q = 0; q < questions_.size(); ++q) {
        for (std::int64_t i = 0; i < longest_[q]; ++i)
            set(bits, questions_[q].list[static_cast<std::size_t>(i)], q);
    }
    return bits;
}

std::vector<Bits> CensusRows::query_bits(std::int64_t rows) const {
    std::vector<Bits> bits(static_cast<std::size_t>(rows * words_));
    for (std::size_t q = 0; q < questions_.size(); ++q) {
        for (const ContextRow row : questions_[q].queries) set(bits, row, q);
    }
    return bits;
}

void CensusRows::find_rows(const std::vector<Bits>& member, const std::vector<Bits>& asks,
                           std::span<const std::int64_t> place) {
    const auto n = static_cast<std::int64_t>(member.size()) / std::max<std::int64_t>(words_, 1);
    const auto any = [&](const std::vector<Bits>& bits, std::int64_t row) {
        return std::any_of(bits.begin() + row * words_, bits.begin() + (row + 1) * words_,
                           [](Bits word) { return word != 0; });
    };
    for (std::int64_t row = 0; row < n; ++row) {
        if (any(member, row) || any(asks, row)) rows_.emplace_back(row);
    }
    if (place.empty()) return;
    std::ranges::stable_sort(rows_, {},
                             [&](ContextRow row) { return place[static_cast<std::size_t>(row.value)]; });
}

void CensusRows::order_panel(std::size_t first, std::size_t count, const std::vector<Bits>& member) {
    const std::span<ContextRow> rows = std::span(rows_).subspan(first, count);
    std::vector<Bits> key;  // of each row: what decides first is the highest bit of the first word
    for (const ContextRow row : rows) {
        std::vector<Bits> words(static_cast<std::size_t>(words_));
        for (std::size_t at = 0; at < deciding_.size(); ++at) {
            if (stands(member, row, deciding_[at])) words[at / 64] |= Bits{1} << (63 - at % 64);
        }
        key.insert(key.end(), words.begin(), words.end());
    }
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        const auto w = static_cast<std::size_t>(words_);
        return std::lexicographical_compare(key.begin() + static_cast<std::ptrdiff_t>(b * w),
                                            key.begin() + static_cast<std::ptrdiff_t>((b + 1) * w),
                                            key.begin() + static_cast<std::ptrdiff_t>(a * w),
                                            key.begin() + static_cast<std::ptrdiff_t>((a + 1) * w));
    });
    std::vector<ContextRow> sorted;
    for (const std::size_t at : order) sorted.push_back(rows[at]);
    std::ranges::copy(sorted, rows.begin());
}

void CensusRows::cut_into_blocks(std::size_t first, std::size_t count, const std::vector<Bits>& member,
                                 std::int64_t most) {
    std::vector<Block>& blocks = panels_.emplace_back();
    const std::size_t first_ones = std::min<std::size_t>(2, deciding_.size());
    for (std::size_t u = first; u < first + count; ++u) {
        bool begins = blocks.empty() || blocks.back().count == most;
        for (std::size_t at = 0; !begins && at < first_ones; ++at)
            begins = stands(member, rows_[u], deciding_[at]) != stands(member, rows_[u - 1], deciding_[at]);
        if (begins) blocks.push_back({static_cast<std::int64_t>(u), 0});
        ++blocks.back().count;
    }
}

}  // namespace candor::neighbors
