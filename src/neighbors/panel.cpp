#include "candor/neighbors/panel.hpp"

#include <algorithm>
#include <cmath>

namespace candor::neighbors {

float rounded_down(double value) {
    const auto near = static_cast<float>(value);
    return static_cast<double>(near) <= value ? near
                                              : std::nextafter(near, -std::numeric_limits<float>::infinity());
}
float rounded_up(double value) {
    return -rounded_down(-value);
}

Panel::Panel(const RowSet& rows, const CensusRows& all, std::size_t questions, int k, std::int64_t first,
             std::int64_t count, const Scale& scale)
    : first_(first),
      questions_(questions),
      k_(static_cast<std::size_t>(k)),
      capacity_(2 * k_ + 22),
      all_(all),
      centred_(count, rows.dimension()),
      slot_(static_cast<std::size_t>(count) * questions, -1),
      tile_cut_(static_cast<std::size_t>(count)),
      faced_(static_cast<std::size_t>(count)) {
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
            sinks_.push_back(
                {-infinity, static_cast<std::int32_t>(reach.end), static_cast<std::int32_t>(reach.skip), 0});
        });
    }
    entries_.resize(sinks_.size() * capacity_);
    aside_.resize(sinks_.size());
    crowd_.resize(static_cast<std::size_t>(count));
}

bool Panel::face(std::int64_t i, std::int64_t count, const Block& other) {
    bool any = false;
    for (std::int64_t r = i; r < i + count; ++r) {
        faced_[static_cast<std::size_t>(r)] = &other;
        lower(r);
        any = any || tile_cut_[static_cast<std::size_t>(r)] < infinity;
    }
    return any;
}

void Panel::raise(std::int32_t slot, float band) {
    Sink& sink = sinks_[static_cast<std::size_t>(slot)];
    if (static_cast<std::size_t>(sink.count) < k_) return;
    Entry* entries = entries_of(slot);
    std::nth_element(entries, entries + k_ - 1, entries + sink.count,
                     [](const Entry& a, const Entry& b) { return a.score > b.score; });
    sink.cut = std::max(sink.cut, entries[k_ - 1].score - band);
}

void Panel::prune(std::int64_t i, std::int32_t slot) {
    raise(slot, band_[static_cast<std::size_t>(i)]);
    Sink& sink = sinks_[static_cast<std::size_t>(slot)];
    Entry* entries = entries_of(slot);
    Entry* rest = std::partition(entries + k_, entries + sink.count,
                                 [&](const Entry& entry) { return entry.score >= sink.cut; });
    if (rest - entries > static_cast<std::ptrdiff_t>(capacity_ / 2)) {
        // So many are as good as equal that they are put aside: the k best carry the cut.
        std::vector<Entry>& aside = aside_[static_cast<std::size_t>(slot)];
        aside.insert(aside.end(), entries + k_, rest);
        crowd_[static_cast<std::size_t>(i)] += rest - (entries + k_);
        rest = entries + k_;
    }
    sink.count = static_cast<std::int32_t>(rest - entries);
}

void Panel::lower(std::int64_t i) {
    float lowest = infinity;
    const Bits* lists = faced_[static_cast<std::size_t>(i)]->lists.data();
    for_each_common(all_.asks(first_ + i), lists, all_.words(), [&](std::size_t q) {
        const std::int32_t slot = slot_[static_cast<std::size_t>(i) * questions_ + q];
        lowest = std::min(lowest, sinks_[static_cast<std::size_t>(slot)].cut);
    });
    tile_cut_[static_cast<std::size_t>(i)] = lowest;
}

}  // namespace candor::neighbors
