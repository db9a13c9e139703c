#pragma once

/// What `run --memory` leaves a search, and whether it is enough for a study.

#include <cstdint>
#include <vector>

#include "candor/campaign/audit.hpp"
#include "candor/campaign/work.hpp"
#include "candor/neighbors/search.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/study/study.hpp"

namespace candor::campaign {

/// Another process of the same study, or one of several ranks, may be some pages larger at the start than the
/// one that was looked at.
inline constexpr std::int64_t memory_margin = std::int64_t{16} << 20;

/// Work that is searched, and how.
struct SearchedWork {
    const study::Study& study;  ///< whose operator it is
    const std::vector<TaskWork>& work;
    const FeatureAudit& audit;  ///< of all encoders
    const neighbors::SearchOptions& options;
};

/// Bytes of the rank that takes most while it searches `searched` in the smallest room there is, counts it,
/// and holds `later` bytes beside what it found.
std::int64_t least_memory(const SearchedWork& searched, int ranks, std::int64_t later = 0);

/// Bytes that a search may take on rank `world.rank()`, where all of it may take `budget`: what is left
/// beside what is held now and will be, and no less than it cannot do without.
std::int64_t search_memory(const parallel::Communicator& world, const SearchedWork& searched,
                           std::int64_t budget);

/// @param least  least_memory of the study @throws UsageError where `budget` is not enough for it beside what
/// is held now; it names a size that is.
void require_memory(std::int64_t budget, std::int64_t least);

}  // namespace candor::campaign
