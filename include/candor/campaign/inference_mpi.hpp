#pragma once

/// From what the searches found to statistics with intervals (METHODS 3.1 to 5): each (encoder, finding) is
/// counted on one rank, its whole-number tallies are brought to rank 0, and levels are sums of them.

#include <cstdint>
#include <functional>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/campaign/search_mpi.hpp"
#include "candor/campaign/work.hpp"
#include "candor/instruments/summary.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/parallel/stop.hpp"
#include "candor/stats/interval.hpp"

namespace candor::campaign {

/// Rank that counts each (work, encoder, finding); computed alike everywhere.
std::function<int(std::size_t, std::size_t, std::size_t)> counting_owners(const study::Study& study,
                                                                          const std::vector<TaskWork>& work,
                                                                          int ranks);

/// A cell under one encoder and one candidate rule.
struct CellResult {
    std::size_t work = 0, encoder = 0, cell = 0, rule = 0;  ///< rule: position in TaskWork::rules
    instruments::LevelSummary summary;
    stats::Quartiles cap{}, cap1{};  ///< over the discordant cases of the primary rule, draw 0; NaN for none
};

/// A finding under one encoder and one rule: the sum of its cells.
struct FindingResult {
    std::size_t work = 0, encoder = 0, finding = 0, rule = 0;
    instruments::Tally tally;
    /// Positives with DM > 0 and with DM == 0 in draw 0.
    std::int64_t discordant = 0, ties = 0;
};

/// All results, in the order of their keys, on rank 0; empty elsewhere.
struct Counted {
    std::vector<CellResult> cells;
    std::vector<FindingResult> findings;
};

/// `owned` as `deliver_mpi` and then `permute` leave it. Collective.
Counted count_mpi(const parallel::Communicator& world, const study::Study& study,
                  const std::vector<TaskWork>& work, const std::vector<Found>& owned, int threads,
                  parallel::StopRequest& stop, const Log& log);

}  // namespace candor::campaign
