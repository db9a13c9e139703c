#pragma once

/// Blind sets over ranks (METHODS 6): the overlap of every pair of encoders under three nulls, and the
/// consensus of the panel.

#include <cstdint>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/families.hpp"
#include "candor/campaign/search_mpi.hpp"
#include "candor/campaign/work.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/table.hpp"

namespace candor::campaign {

/// On rank 0; empty elsewhere. Levels: each finding of a task that has positives, then the task, whose
/// positives are those of its findings one after the other. Cells against a pooled reference stay out.
struct BlindSetResults {
    /// Three rows a level and pair of encoders, null "pooled", "stratified", "relabel" (undefined without
    /// permutations and at the task level, whose findings are permuted apart). q and reject are of the
    /// family; the task level is in no family: q is NaN there, reject 0.
    store::ResultTable overlap;
    /// Three rows a task. Shares and means are over the defined tests of its findings.
    store::ResultTable overlap_summary;
    /// A row a level: positives that more than half of the encoders are blind to, with the interval by
    /// patients, and the share that encoders which fail independently of each other would give.
    store::ResultTable consensus;
    /// Three a task, one a null: its tests at the finding level, in the order of `overlap`.
    std::vector<TestFamily> families;
    /// By position among the TaskWorks, then by case: how many encoders are blind to it (cells against a
    /// pooled reference too); -1 for a negative.
    std::vector<std::vector<std::int64_t>> blind_encoders;
};

/// `owned` as `deliver_mpi` and then `permute` leave it. A positive is blind where its DM under the primary
/// rule's draw 0 is above 0. Collective.
/// @throws InternalError where `owned` of all ranks is not every positive of every encoder, once.
BlindSetResults blind_sets_mpi(const parallel::Communicator& world, const study::Study& study,
                               const std::vector<TaskWork>& work, const std::vector<Found>& owned,
                               int threads, const Log& log);

}  // namespace candor::campaign
