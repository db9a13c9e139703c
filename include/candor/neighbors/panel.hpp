#pragma once

/// A panel of a census: some of its rows side by side, ready for products, with what each still takes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/neighbors/census_rows.hpp"
#include "candor/neighbors/row_set.hpp"

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

/// Rows first .. first + count of a census side by side, with what they still take of each list.
///
/// Scores here are relative: a row's own offset, which all its scores share, is left out, and offsets count
/// from their mean. They are then as small as the centred rows, and single precision costs a score no more
/// than the product did.
class Panel {
  public:
    struct Entry {
        float score;
        std::int32_t other;  // row of the census
    };

    Panel(const RowSet& rows, const CensusRows& all, std::size_t questions, int k, std::int64_t first,
          std::int64_t count, const Scale& scale);

    std::int64_t first() const { return first_; }
    std::int64_t size() const { return std::ssize(offset_); }
    MatrixView<const float> centred() const { return centred_.view(); }
    const float* offsets(std::int64_t i) const { return offset_.data() + i; }
    const float* tile_cuts(std::int64_t i) const { return tile_cut_.data() + i; }

    /// Sets the cuts of rows i .. i + count against those of a block, which must stay where it is until they
    /// face another. @returns whether any of them takes some.
    bool face(std::int64_t i, std::int64_t count, const Block& other);

    /// Offers row `other` of the census to the lists that row i asks and that hold it.
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
                prune(i, slot);
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
            std::vector<Entry>& aside = aside_[static_cast<std::size_t>(slot)];
            for (const Entry& entry : aside) {
                if (entry.score >= sink.cut) body(q, entry.other);
            }
            aside.clear();
        });
        crowd_[static_cast<std::size_t>(i)] = 0;
    }

    /// Whether row i has put aside so much, its scores being as good as equal, that it should be decided now:
    /// what is kept stays small however many rows are alike.
    bool is_crowded(std::int64_t i) const { return crowd_[static_cast<std::size_t>(i)] > most_aside; }

    /// Tells row i that its k-th neighbour of list q has this cosine.
    void settle(std::int64_t i, std::size_t q, double cosine) {
        Sink& sink = sinks_[static_cast<std::size_t>(slot_[static_cast<std::size_t>(i) * questions_ + q])];
        const auto r = static_cast<std::size_t>(i);
        sink.cut = std::max(sink.cut, rounded_down(cosine - own_offset_[r] - static_cast<double>(band_[r])));
    }

  private:
    static constexpr std::int64_t most_aside = 4096;
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

    /// Raises a sink's cut to what its k best entries allow; they come first.
    void raise(std::int32_t slot, float band);

    /// Makes room in a full sink.
    void prune(std::int64_t i, std::int32_t slot);

    /// Recomputes the lowest score that row i takes of the lists it faces.
    void lower(std::int64_t i);

    std::int64_t first_;
    std::size_t questions_, k_, capacity_;
    const CensusRows& all_;
    Matrix<float> centred_;
    std::vector<double> own_offset_;  // a cosine is a relative score and this
    std::vector<float> offset_, band_;
    std::vector<std::int32_t> slot_;  // by row, question: which sink; -1: it does not ask
    std::vector<Sink> sinks_;
    std::vector<Entry> entries_;             // by sink
    std::vector<std::vector<Entry>> aside_;  // by sink
    std::vector<std::int64_t> crowd_;        // by row: how many entries are put aside
    std::vector<float> tile_cut_;
    std::vector<const Block*> faced_;  // by row
};

}  // namespace candor::neighbors
