#pragma once

/// The results file, written by all ranks: tables from rank 0, each case by the rank that searched it.

#include <cstdint>
#include <string>
#include <vector>

#include "candor/campaign/heads_mpi.hpp"
#include "candor/campaign/run.hpp"
#include "candor/campaign/scored_heads_mpi.hpp"
#include "candor/campaign/search_mpi.hpp"
#include "candor/campaign/stages.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/table.hpp"

namespace candor::campaign {

/// What /run tells beside the study: how it was carried out.
struct RunRecord {
    std::string start;   ///< UTC, ISO 8601
    std::string inputs;  ///< a line an input file: digest, bytes, path
    Program program;
    int threads = 0;
    std::int64_t block_rows = 0;
    std::int64_t memory = 0;  ///< of a rank, as asked for; 0: no limit
    bool ablations = false;
    SearchCost cost;  ///< this rank's
};

/// What is recorded beside the searches; rank 0's, other ranks pass none.
struct RecordedResults {
    std::vector<store::ResultTable> tables;
    std::vector<std::vector<std::int64_t>> blind_encoders;  ///< by work, then by case
};

/// Now, as 2026-01-31T12:00:00Z.
std::string utc_now();

/// The input files, a line each: XXH3-128 digest, bytes, path; in the order in which they were read.
std::string describe_inputs(const Prepared& prepared);

/// What heads say of single rows, of this rank.
struct RecordedHeads {
    std::vector<TrainedHead> trained;  ///< as train_heads_mpi leaves it
    std::vector<ScoredHeads> scored;   ///< as score_heads_mpi does
};

/// Writes `output`. Collective.
/// @param clock  in its last stage, whose end /run/stages tells: all but /run is written by then.
/// @param found  what this rank searched.
void record_mpi(const parallel::Communicator& world, const std::string& output, const Prepared& prepared,
                const RecordedResults& results, const std::vector<Found>& found, const RecordedHeads& heads,
                const RunRecord& record, StageClock& clock, const Log& log);

}  // namespace candor::campaign
