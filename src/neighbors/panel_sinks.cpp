#include "candor/neighbors/panel_sinks.hpp"

#include <cmath>
#include <utility>

#include "candor/base/bytes.hpp"
#include "candor/base/error.hpp"
#include "candor/neighbors/decision.hpp"

namespace candor::neighbors {

float rounded_down(double value) {
    const auto near = static_cast<float>(value);
    return static_cast<double>(near) <= value ? near
                                              : std::nextafter(near, -std::numeric_limits<float>::infinity());
}
float rounded_up(double value) {
    return -rounded_down(-value);
}

std::int64_t PanelSinks::bytes(std::int64_t n, std::int64_t lists, std::int64_t wanted,
                               std::size_t questions) {
    const std::int64_t entries =
        (wanted + wanted / 2 + lists * near) * static_cast<std::int64_t>(sizeof(Entry));
    const auto words = (static_cast<std::int64_t>(questions) + word_bits - 1) / word_bits;
    const auto slots = static_cast<std::int64_t>(questions * sizeof(std::int32_t)) +
                       words * word_bits * static_cast<std::int64_t>(sizeof(float));
    return entries + lists * static_cast<std::int64_t>(sizeof(Sink)) + n * (slots + 48);
}

std::int64_t PanelSinks::crowd_bytes(std::int64_t n, std::int64_t lists, std::int64_t wanted) {
    // A list that is decided is a node of a map; what a row puts aside doubles where it grows.
    constexpr std::int64_t allocation = 16, node = 48 + 8 + 24 + 2 * allocation;
    constexpr auto aside =
        static_cast<std::int64_t>(sizeof(Crowd)) + 2 * allocation +
        2 * most_aside * static_cast<std::int64_t>(sizeof(decltype(Crowd::aside)::value_type));
    return wanted * static_cast<std::int64_t>(sizeof(Neighbor)) + lists * node + n * aside;
}

std::int64_t PanelSinks::packed_bytes(std::int64_t n, std::int64_t lists, std::int64_t wanted) {
    // Of a crowd, a list's k nearest may be there twice: decided, and others that are as good as equal.
    constexpr auto of_entry = static_cast<std::int64_t>(sizeof(Entry) + sizeof(Neighbor));
    constexpr auto of_list =
        static_cast<std::int64_t>(near * sizeof(Entry) + sizeof(float) + sizeof(std::int32_t) + 16);
    return wanted * of_entry + wanted / 2 * static_cast<std::int64_t>(sizeof(Entry)) + lists * of_list +
           n * most_aside * static_cast<std::int64_t>(sizeof(std::size_t) + sizeof(Entry));
}

PanelSinks::PanelSinks(const CensusRows& all, std::size_t questions, int k, std::int64_t first,
                       const PanelRows& rows, const Scale& scale)
    : first_(first),
      questions_(questions),
      all_(all),
      radius_(rows.radius),
      slot_(static_cast<std::size_t>(rows.size()) * questions, -1),
      cut_(static_cast<std::size_t>(rows.size() * all.words() * word_bits), infinity),
      crowd_(static_cast<std::size_t>(rows.size())),
      tile_cut_(static_cast<std::size_t>(rows.size())),
      faced_(static_cast<std::size_t>(rows.size())) {
    const std::int64_t dimension = rows.centred.cols();
    std::size_t entries = 0;
    for (std::int64_t i = 0; i < rows.size(); ++i) {
        const double offset = rows.offset[static_cast<std::size_t>(i)], radius = this->radius(i);
        own_offset_.push_back(offset + scale.offset);
        offset_.push_back(static_cast<float>(offset - scale.offset));
        // Twice the error of a score: the product's, and that of its sum with an offset and of the cuts.
        band_.push_back(rounded_up(2 * product_error(dimension, radius, scale.radius) +
                                   0x1p-20 * (radius * scale.radius + scale.spread)));
        for_each_common(all.asks(first + i), all.asks(first + i), all.words(), [&](std::size_t q) {
            slot_[static_cast<std::size_t>(i) * questions + q] = static_cast<std::int32_t>(sinks_.size());
            const Reach& reach = all.reach(q, first + i);
            const int wanted = all.wanted(q, k);
            cut_of(i, q) = -infinity;
            sinks_.push_back({static_cast<std::int32_t>(reach.end), static_cast<std::int32_t>(reach.skip), 0,
                              wanted, static_cast<std::uint32_t>(entries)});
            entries += static_cast<std::size_t>(room_for(wanted));
        });
    }
    CANDOR_REQUIRE(entries <= std::numeric_limits<std::uint32_t>::max(),
                   std::to_string(entries) + " entries");
    entries_.resize(entries);
}

bool PanelSinks::face(std::int64_t i, std::int64_t count, const Block& other) {
    bool any = false;
    for (std::int64_t r = i; r < i + count; ++r) {
        faced_[static_cast<std::size_t>(r)] = &other;
        lower(r);
        any = any || tile_cut_[static_cast<std::size_t>(r)] < infinity;
    }
    return any;
}

void PanelSinks::lower(std::int64_t i) {
    float lowest = infinity;
    const Bits* lists = faced_[static_cast<std::size_t>(i)]->lists.data();
    for_each_common(all_.asks(first_ + i), lists, all_.words(),
                    [&](std::size_t q) { lowest = std::min(lowest, cut_of(i, q)); });
    tile_cut_[static_cast<std::size_t>(i)] = lowest;
}

void PanelSinks::keep_near(std::int64_t i, std::size_t q, Entry entry) {
    Sink& sink = sinks_[slot_of(i, q)];
    Entry* const entries = entries_of(sink);
    if (sink.count == sink.room()) {
        sink.count = sink.k + keep_from(entries + sink.k, sink.count - sink.k, cut_of(i, q));
    }
    if (sink.count < sink.room()) {
        entries[sink.count++] = entry;
    } else {
        crowd(i).aside.emplace_back(q, entry);
    }
}

std::int32_t PanelSinks::keep_from(Entry* entries, std::int32_t count, float cut) {
    std::int32_t kept = 0;
    for (std::int32_t e = 0; e < count; ++e) {
        const Entry one = entries[e];
        entries[kept] = one;
        kept += static_cast<std::int32_t>(one.score >= cut);
    }
    return kept;
}

PanelSinks::Chosen PanelSinks::choose(Entry* entries, std::int32_t count, std::int32_t k, float band) {
    if (count < k) return {count, -infinity};
    std::nth_element(entries, entries + k - 1, entries + count,
                     [](const Entry& a, const Entry& b) { return a.score > b.score; });
    const float cut = entries[k - 1].score - band;
    return {k + keep_from(entries + k, count - k, cut), cut};
}

float PanelSinks::cut_about(const Entry* entries, std::int32_t count, std::int32_t k) {
    float low = entries[0].score, high = low;
    for (std::int32_t e = 1; e < count; ++e) {
        low = std::min(low, entries[e].score);
        high = std::max(high, entries[e].score);
    }
    constexpr int steps = 8;
    for (int step = 0; step < steps; ++step) {
        const float middle = low + (high - low) / 2;
        std::int32_t above = 0;
        for (std::int32_t e = 0; e < count; ++e)
            above += static_cast<std::int32_t>(entries[e].score >= middle);
        (above >= k ? low : high) = middle;
        if (above >= k && above <= k + k / 8) break;
    }
    return low;
}

bool PanelSinks::make_room(std::int64_t i, std::size_t q) {
    Sink& sink = sinks_[slot_of(i, q)];
    Entry* const entries = entries_of(sink);
    const float band = band_[static_cast<std::size_t>(i)];
    // Halving finds a cut that leaves a few too many in a fraction of the time that the k-th itself takes.
    Chosen chosen{0, cut_about(entries, sink.count, sink.k) - band};
    chosen.count = keep_from(entries, sink.count, chosen.cut);
    const std::int32_t most = sink.k + sink.k / 4;
    if (chosen.count > most) {
        // Where many are as good as equal, choosing again and again would free nothing.
        chosen = choose(entries, chosen.count, sink.k, band);
        for (std::int32_t e = most; e < chosen.count; ++e) crowd(i).aside.emplace_back(q, entries[e]);
    }
    sink.count = std::min(most, chosen.count);
    return raise(i, q, chosen.cut);
}

std::vector<PanelSinks::Entry> PanelSinks::take_all(std::int64_t i, std::size_t q) {
    Sink& sink = sinks_[slot_of(i, q)];
    std::vector<Entry> all(entries_of(sink), entries_of(sink) + sink.count);
    sink.count = 0;
    if (Crowd* crowd = crowd_[static_cast<std::size_t>(i)].get(); crowd != nullptr) {
        for (const auto& [at, entry] : crowd->aside) {
            if (at == q) all.push_back(entry);
        }
        std::erase_if(crowd->aside, [&](const auto& one) { return one.first == q; });
    }
    if (!sink.in_order()) {
        const Chosen chosen = choose(all.data(), static_cast<std::int32_t>(all.size()), sink.k,
                                     band_[static_cast<std::size_t>(i)]);
        all.resize(static_cast<std::size_t>(chosen.count));
        raise(i, q, chosen.cut);
    }
    return all;
}

std::vector<Neighbor> PanelSinks::take_decided(std::int64_t i, std::size_t q) {
    Crowd* const crowd = crowd_[static_cast<std::size_t>(i)].get();
    if (crowd == nullptr) return {};
    const auto at = crowd->decided.find(q);
    if (at == crowd->decided.end()) return {};
    std::vector<Neighbor> moved = std::move(at->second);
    crowd->decided.erase(at);
    return moved;
}

std::string PanelSinks::pack() const {
    std::vector<float> cuts;
    std::vector<std::int32_t> counts;
    std::vector<Entry> entries;
    for (std::int64_t i = 0; i < size(); ++i) {
        for_each_common(all_.asks(first_ + i), all_.asks(first_ + i), all_.words(), [&](std::size_t q) {
            const Sink& sink = sinks_[slot_of(i, q)];
            const auto first = std::ssize(entries);
            entries.insert(entries.end(), entries_of(sink), entries_of(sink) + sink.count);
            Chosen chosen{sink.count, -infinity};
            if (!sink.in_order())
                chosen =
                    choose(entries.data() + first, sink.count, sink.k, band_[static_cast<std::size_t>(i)]);
            entries.resize(static_cast<std::size_t>(first + chosen.count));
            counts.push_back(chosen.count);
            cuts.push_back(
                std::max(chosen.cut, cut_[static_cast<std::size_t>(i * all_.words() * word_bits) + q]));
        });
    }
    ByteWriter out;
    out.put(std::span<const float>(cuts));
    out.put(std::span<const std::int32_t>(counts));
    out.put(std::span<const Entry>(entries));
    for (std::int64_t i = 0; i < size(); ++i) {
        const Crowd* const crowd = crowd_[static_cast<std::size_t>(i)].get();
        if (crowd == nullptr) continue;
        out.put(i);
        out.put(std::ssize(crowd->aside));
        for (const auto& [q, entry] : crowd->aside) {
            out.put(q);
            out.put(entry);
        }
        out.put(static_cast<std::int64_t>(crowd->decided.size()));
        for (const auto& [q, decided] : crowd->decided) {
            out.put(q);
            out.put(std::span<const Neighbor>(decided));
        }
    }
    return out.take();
}

void PanelSinks::add(std::string_view packed) {
    ByteReader in(packed);
    const auto cuts = in.get_many<float>();
    const auto counts = in.get_many<std::int32_t>();
    const auto entries = in.get_many<Entry>();
    CANDOR_REQUIRE(cuts.size() == sinks_.size() && counts.size() == sinks_.size(),
                   std::to_string(cuts.size()) + " sinks for " + std::to_string(sinks_.size()));
    std::size_t next = 0;
    for (std::int64_t i = 0; i < size(); ++i) {
        for_each_common(all_.asks(first_ + i), all_.asks(first_ + i), all_.words(), [&](std::size_t q) {
            const std::size_t slot = slot_of(i, q);
            // What one of the two has passed, both have.
            raise(i, q, cuts[slot]);
            for (std::int32_t e = 0; e < counts[slot]; ++e, ++next) {
                if (entries[next].score >= cut_of(i, q)) offer(i, q, entries[next]);
            }
        });
    }
    while (!in.done()) {
        const auto i = in.get<std::int64_t>();
        const auto aside = in.get<std::int64_t>();
        for (std::int64_t e = 0; e < aside; ++e) {
            const auto q = in.get<std::size_t>();
            const auto entry = in.get<Entry>();
            if (entry.score >= cut_of(i, q)) offer(i, q, entry);
        }
        const auto decided = in.get<std::int64_t>();
        for (std::int64_t one = 0; one < decided; ++one) {
            const auto q = in.get<std::size_t>();
            std::vector<Neighbor>& mine = crowd(i).decided[q];
            const auto theirs = in.get_many<Neighbor>();
            mine.insert(mine.end(), theirs.begin(), theirs.end());
            std::ranges::sort(mine, comes_before);
            const auto k = static_cast<std::size_t>(sinks_[slot_of(i, q)].k);
            if (mine.size() > k) mine.resize(k);
        }
    }
}

}  // namespace candor::neighbors
