#pragma once

/// `candor run`: a study from its files to its results file, over all ranks.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/audit.hpp"
#include "candor/campaign/erased_audit_mpi.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/campaign/work.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/parallel/stop.hpp"
#include "candor/study/head_rows.hpp"

namespace candor::campaign {

/// What the results file says of the program that wrote it.
struct Program {
    std::string version, commit, compiler;
    bool dirty = false;
};

/// Version, commit and whether it was changed since: programs of one name read each other's journals.
std::string name_of(const Program& program);

struct RunOptions {
    std::string study_file;
    std::string output;
    std::vector<std::string> overrides;  ///< section.key=value
    bool overwrite = false;
    bool ablations = false;         ///< also without context match, and under every candidate rule
    int threads = 0;                ///< a rank; 0: as many as available
    std::int64_t block_rows = 512;  ///< of a Gram tile
    std::int64_t memory = 0;        ///< most bytes of a rank; 0: as many as it likes
    /// When to stop and keep what is finished, if ever.
    std::optional<parallel::StopRequest::Clock::time_point> stop_at{};
    Program program;
};

/// Everything known before the first product: inputs, what the features look like, and the work.
struct Prepared {
    Inputs inputs;
    FeatureAudit audit;
    ErasedAudit erased;
    std::vector<TaskWork> work;
    std::vector<std::vector<study::HeadRows>> heads;  ///< by task, by Task::datasets
};

/// Audits all features, erased ones too, and draws the pools. Collective. @throws DataError for the first
/// thing that the study's policies do not allow.
Prepared prepare_mpi(const parallel::Communicator& world, Inputs inputs, parallel::StopRequest& stop,
                     const Log& log);

/// Runs a study. Collective. An output that already holds the results of this study and these inputs is left
/// as it is; what an earlier run that was ended has finished of them is in `<output>.journal`, and is not
/// done again.
/// @throws parallel::Stopped on a signal and before `stop_at`: the same call then goes on.
/// @throws UsageError where the output exists and holds anything else, unless `overwrite`.
void run_mpi(const parallel::Communicator& world, const RunOptions& options, const Log& log);

}  // namespace candor::campaign
