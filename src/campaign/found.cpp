#include "candor/campaign/found.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace candor::campaign {

SearchCost& SearchCost::operator+=(const SearchCost& other) {
    searches += other.searches;
    kept += other.kept;
    kept_max = std::max(kept_max, other.kept_max);
    return *this;
}

void put(ByteWriter& out, const FoundPart& part) {
    for (const std::size_t n : {part.found.work, part.found.encoder, part.found.cell}) out.put(n);
    out.put(std::span<const std::int64_t>(part.query));
    out.put(std::span<const instruments::Discordance>(part.found.primary));
    out.put(static_cast<std::int64_t>(part.found.sign.size()));
    for (const std::vector<std::int8_t>& signs : part.found.sign)
        out.put(std::span<const std::int8_t>(signs));
    out.put(std::span<const std::int64_t>(part.participant));
    for (const auto* lists : {&part.found.near, &part.found.sides}) {
        out.put(std::ssize(*lists));
        for (const instruments::NearList& list : *lists) {
            out.put(std::span<const std::int32_t>(list.row));
            out.put(std::span<const double>(list.cosine));
            out.put(list.whole);
        }
    }
    const CellWorlds& worlds = part.found.worlds;
    out.put(worlds.observed);
    out.put(std::span<const instruments::Counts>(worlds.permuted));
    out.put(std::span<const instruments::Counts>(worlds.subsampled));
    out.put(std::span<const std::uint64_t>(worlds.blind));
    out.put(worlds.words);
}

FoundPart get_found_part(ByteReader& in) {
    FoundPart part;
    for (std::size_t* n : {&part.found.work, &part.found.encoder, &part.found.cell})
        *n = in.get<std::size_t>();
    part.query = in.get_many<std::int64_t>();
    part.found.primary = in.get_many<instruments::Discordance>();
    part.found.sign.resize(static_cast<std::size_t>(in.get<std::int64_t>()));
    for (std::vector<std::int8_t>& signs : part.found.sign) signs = in.get_many<std::int8_t>();
    part.participant = in.get_many<std::int64_t>();
    for (auto* lists : {&part.found.near, &part.found.sides}) {
        lists->resize(static_cast<std::size_t>(in.get<std::ptrdiff_t>()));
        for (instruments::NearList& list : *lists) {
            list.row = in.get_many<std::int32_t>();
            list.cosine = in.get_many<double>();
            list.whole = in.get<bool>();
        }
    }
    CellWorlds& worlds = part.found.worlds;
    worlds.observed = in.get<instruments::Counts>();
    worlds.permuted = in.get_many<instruments::Counts>();
    worlds.subsampled = in.get_many<instruments::Counts>();
    worlds.blind = in.get_many<std::uint64_t>();
    worlds.words = in.get<std::int64_t>();
    return part;
}

}  // namespace candor::campaign
