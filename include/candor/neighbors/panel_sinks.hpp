#pragma once

/// What the rows of a panel still take and have kept, for each list that they ask.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "candor/neighbors/census_rows.hpp"
#include "candor/neighbors/panel_rows.hpp"
#include "candor/neighbors/search.hpp"
#include "candor/neighbors/tile_scan.hpp"

namespace candor::neighbors {

/// A float that is not above `value`, and one that is not below.
float rounded_down(double value);
float rounded_up(double value);

/// How large the rows of a census are.
struct Scale {
    double radius = 0;  ///< the largest
    double offset = 0;  ///< the mean
    double spread = 0;  ///< the largest distance of an offset from it
};

/// Rows first .. first + count of a census, as those who ask.
///
/// Scores here are relative: a row's own offset, which all its scores share, is left out, and offsets count
/// from their mean. They are then as small as the centred rows, and single precision costs a score no more
/// than the product did.
class PanelSinks {
  public:
    struct Entry {
        float score;
        std::int32_t other;  // row of the census
    };

    /// @param k neighbours of a question that does not say how many it wants.
    PanelSinks(const CensusRows& all, std::size_t questions, int k, std::int64_t first, const PanelRows& rows,
               const Scale& scale);
    /// Bytes that sinks for n rows that ask `lists` lists in all take, which want `wanted` neighbours
    /// together.
    static std::int64_t bytes(std::int64_t n, std::int64_t lists, std::int64_t wanted, std::size_t questions);
    /// Bytes that they take more where every row has a crowd, and those of all of it packed.
    static std::int64_t crowd_bytes(std::int64_t n, std::int64_t lists, std::int64_t wanted);
    static std::int64_t packed_bytes(std::int64_t n, std::int64_t lists, std::int64_t wanted);

    std::int64_t first() const { return first_; }
    std::int64_t size() const { return std::ssize(offset_); }
    const float* offsets(std::int64_t i) const { return offset_.data() + i; }
    /// |a'| of row i, rounded up.
    double radius(std::int64_t i) const { return radius_[static_cast<std::size_t>(i)]; }
    const float* tile_cuts(std::int64_t i) const { return tile_cut_.data() + i; }

    /// Sets the cuts of rows i .. i + count against those of a block, which must stay where it is until they
    /// face another. @returns whether any of them takes some.
    bool face(std::int64_t i, std::int64_t count, const Block& other);

    /// Whether some list that row i asks and that holds row `other`, in its reach or not, takes a score like
    /// this.
    bool wants(std::int64_t i, std::int64_t other, float score) const {
        const Bits* const asks = all_.asks(first_ + i);
        const Bits* const holds = all_.member(other);
        for (std::int64_t w = 0; w < all_.words(); ++w) {
            const Bits bits = asks[w] & holds[w];
            if (bits != 0 && (bits & cuts_reached(cuts_of(i, w), score)) != 0) return true;
        }
        return false;
    }

    /// Offers row `other` of the census to the lists that row i asks and that hold it.
    /// @pre row i faces a block (`face`).
    void take(std::int64_t i, std::int64_t other, float score) {
        bool risen = false;
        const Bits* const asks = all_.asks(first_ + i);
        const Bits* const holds = all_.member(other);
        for (std::int64_t w = 0; w < all_.words(); ++w) {
            Bits bits = asks[w] & holds[w];
            if (bits != 0) bits &= cuts_reached(cuts_of(i, w), score);
            for (; bits != 0; bits &= bits - 1) {
                const auto q = static_cast<std::size_t>(w * word_bits + std::countr_zero(bits));
                const Sink& sink = sinks_[slot_of(i, q)];
                const std::int32_t position = all_.position(q, other);
                if (position >= sink.end || position == sink.skip) continue;
                risen |= offer(i, q, {score, static_cast<std::int32_t>(other)});
            }
        }
        if (risen) lower(i);
    }

    /// Calls `body(question, other)` for what row i has kept of rows first .. first + count of the census and
    /// its cuts have not passed since, and forgets it.
    template <class Body>
    void release(std::int64_t i, std::int64_t first, std::int64_t count, Body body) {
        for_each_common(all_.asks(first_ + i), all_.asks(first_ + i), all_.words(), [&](std::size_t q) {
            std::vector<Entry> stay;
            for (const Entry& entry : take_all(i, q)) {
                if (entry.score < cut_of(i, q)) continue;
                if (entry.other < first || entry.other >= first + count) {
                    stay.push_back(entry);
                } else {
                    body(q, entry.other);
                }
            }
            for (const Entry& entry : stay) offer(i, q, entry);
        });
    }

    /// Whether row i has put aside so much, its scores being as good as equal, that it should be decided now:
    /// what is kept stays small however many rows are alike.
    bool is_crowded(std::int64_t i) const {
        const Crowd* crowd = crowd_[static_cast<std::size_t>(i)].get();
        return crowd != nullptr && std::ssize(crowd->aside) > most_aside;
    }

    /// The nearest of list q that row i has decided already, at most k, in order: none but of crowded rows.
    std::vector<Neighbor>& decided(std::int64_t i, std::size_t q) { return crowd(i).decided[q]; }
    /// The same, moved out.
    std::vector<Neighbor> take_decided(std::int64_t i, std::size_t q);

    /// Tells row i that its k-th neighbour of list q has this cosine or a greater one.
    void settle(std::int64_t i, std::size_t q, double cosine) {
        const auto r = static_cast<std::size_t>(i);
        raise(i, q, rounded_down(cosine - own_offset_[r] - static_cast<double>(band_[r])));
    }

    /// All of it as bytes, for the time that the panel is away or for another rank.
    std::string pack() const;
    /// Adds what was packed from sinks of the same panel that met other rows.
    void add(std::string_view packed);

  private:
    static constexpr std::int64_t most_aside = 64;
    static constexpr std::int32_t near = 3;  // entries beside the k best that a sink has room for
    static constexpr std::int32_t most_in_order = 16;
    static constexpr float infinity = std::numeric_limits<float>::infinity();

    /// What a row takes of one list: of a short one the k best so far, in order, then some that are as good
    /// as equal to the k-th; of a long one any that reached the cut, of which the best are chosen whenever
    /// its room is full.
    struct Sink {
        std::int32_t end, skip;  // reach
        std::int32_t count, k;
        std::uint32_t first;  // of its entries

        bool in_order() const { return k <= most_in_order; }
        std::int32_t room() const { return room_for(k); }
    };
    static std::int32_t room_for(std::int32_t k) { return k <= most_in_order ? k + near : k + k / 2; }

    std::size_t slot_of(std::int64_t i, std::size_t q) const {
        return static_cast<std::size_t>(slot_[static_cast<std::size_t>(i) * questions_ + q]);
    }
    Entry* entries_of(const Sink& sink) { return entries_.data() + sink.first; }
    const Entry* entries_of(const Sink& sink) const { return entries_.data() + sink.first; }

    /// The lowest score that row i takes of each question of a word; +infinity: it does not ask.
    const float* cuts_of(std::int64_t i, std::int64_t word) const {
        return cut_.data() + (i * all_.words() + word) * word_bits;
    }
    float& cut_of(std::int64_t i, std::size_t q) {
        return cut_[static_cast<std::size_t>(i * all_.words() * word_bits) + q];
    }
    /// @returns whether the cut has risen.
    bool raise(std::int64_t i, std::size_t q, float cut) {
        float& now = cut_of(i, q);
        const bool risen = cut > now;
        if (risen) now = cut;
        return risen;
    }

    /// Keeps an entry whose score reaches the cut. @returns whether the cut has risen.
    bool offer(std::int64_t i, std::size_t q, Entry entry) {
        Sink& sink = sinks_[slot_of(i, q)];
        Entry* const entries = entries_of(sink);
        if (!sink.in_order()) {
            entries[sink.count++] = entry;
            return sink.count == sink.room() && make_room(i, q);
        }
        const std::int32_t k = sink.k, best = std::min(sink.count, k);
        if (best == k && entry.score <= entries[k - 1].score) {
            keep_near(i, q, entry);
            return false;
        }
        const Entry last = entries[k - 1];
        std::int32_t at = best < k ? best : k - 1;
        for (; at > 0 && entries[at - 1].score < entry.score; --at) entries[at] = entries[at - 1];
        entries[at] = entry;
        if (best < k) {
            ++sink.count;
            if (best + 1 < k) return false;
        }
        const bool risen = raise(i, q, entries[k - 1].score - band_[static_cast<std::size_t>(i)]);
        if (best == k && last.score >= cut_of(i, q)) keep_near(i, q, last);
        return risen;
    }

    /// Keeps an entry that is as good as equal to the k-th.
    void keep_near(std::int64_t i, std::size_t q, Entry entry);

    /// The k best of `count` entries come first, then those not below the cut that the k-th sets.
    struct Chosen {
        std::int32_t count;  // that are left
        float cut;           // -infinity: there are fewer than k
    };
    static Chosen choose(Entry* entries, std::int32_t count, std::int32_t k, float band);
    /// A score that at least k of the entries reach, and hardly more where they are not as good as equal.
    static float cut_about(const Entry* entries, std::int32_t count, std::int32_t k);
    /// Moves the entries that reach a cut to the front. @returns how many they are.
    static std::int32_t keep_from(Entry* entries, std::int32_t count, float cut);
    /// Chooses of a long list. @returns whether the cut has risen.
    bool make_room(std::int64_t i, std::size_t q);

    /// Moves all entries of a sink out.
    std::vector<Entry> take_all(std::int64_t i, std::size_t q);

    /// What few rows need: those with many neighbours at as good as one distance.
    struct Crowd {
        std::vector<std::pair<std::size_t, Entry>> aside;      // with their questions
        std::map<std::size_t, std::vector<Neighbor>> decided;  // by question
    };
    Crowd& crowd(std::int64_t i) {
        std::unique_ptr<Crowd>& at = crowd_[static_cast<std::size_t>(i)];
        if (at == nullptr) at = std::make_unique<Crowd>();
        return *at;
    }

    /// Recomputes the lowest score that row i takes of the lists it faces.
    void lower(std::int64_t i);

    std::int64_t first_;
    std::size_t questions_;
    const CensusRows& all_;
    std::vector<double> own_offset_, radius_;  // a cosine is a relative score and the own offset
    std::vector<float> offset_, band_;
    std::vector<std::int32_t> slot_;  // by row, question: which sink; -1: it does not ask
    std::vector<Sink> sinks_;
    std::vector<float> cut_;                     // by row, question, whole words
    std::vector<Entry> entries_;                 // by sink
    std::vector<std::unique_ptr<Crowd>> crowd_;  // by row
    std::vector<float> tile_cut_;
    std::vector<const Block*> faced_;  // by row
};

}  // namespace candor::neighbors
