#pragma once

/// Every input looked at before any product is computed: joins, norms, spoiled rows, duplicates (`candor
/// check`, and the first stage of `candor run`).

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/campaign/work.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/parallel/stop.hpp"
#include "candor/study/head_rows.hpp"
#include "candor/study/pool.hpp"

namespace candor::campaign {

/// What was seen of one feature file, over the rows that some task's draft pool may use.
struct FeatureReport {
    std::string encoder, dataset, type;
    InputFile file;
    std::int64_t rows = 0, dimension = 0;
    bool by_position = false;  ///< no ids: joined by row number
    std::int64_t missing = 0;  ///< rows of the table without features
    std::int64_t extra = 0;    ///< rows of the file that the table does not know
    std::int64_t bad = 0;      ///< pool rows with NaN, Inf or norm 0
    double norm_low = 0, norm_high = 0;
    std::vector<std::string> missing_ids, bad_ids;  ///< the first few, of pool rows
    std::int64_t first_bad_row = -1;                ///< of the file, that of bad_ids[0]
};

struct FeatureAudit {
    std::vector<FeatureReport> reports;        ///< by encoder, then dataset
    std::vector<study::FeatureFaults> faults;  ///< one a task, by draft row
    /// Faults in the rows that heads learn from, one a task and dataset of the task, by row of the draft.
    struct HeadFaults {
        study::FeatureFaults training, validation;
    };
    std::vector<std::vector<HeadFaults>> head_faults;
    /// Per encoder of the study, per dataset, a hash of each pool row's values by table row (0: not read);
    /// filled on the rank that read the encoder.
    std::map<std::size_t, std::map<std::size_t, std::vector<std::uint64_t>>> hashes;

    /// What the study's policies (on_missing, on_bad_row) do not allow, in order.
    std::vector<DataError> problems(const study::Study& study) const;

    /// Feature columns of each encoder of the study; 0 of one that no task uses.
    std::vector<std::int64_t> dimensions(const study::Study& study) const;
};

/// Reads every feature file a task uses once; encoders are shared over ranks. Collective; the same on every
/// rank but for `hashes`. Reports are of pool rows alone: a fault in a row that only heads learn from is no
/// problem of the study's, it leaves them that row fewer.
/// @param heads  by task, drafts of all its datasets in their order; empty: of no task
/// @throws DataError where a file cannot be used at all.
FeatureAudit audit_features_mpi(const parallel::Communicator& world, const Inputs& inputs,
                                const std::vector<study::Pool>& drafts,
                                const std::vector<std::vector<study::HeadRows>>& heads,
                                parallel::StopRequest& stop);

/// Rows whose features equal those of another row of their context, to the bit.
struct Duplicates {
    std::string task, encoder;
    std::int64_t rows = 0;    ///< pool rows that equal an earlier row of their context
    std::int64_t groups = 0;  ///< sets of equal rows
    /// Per finding of the task: sets in which all labelled rows agree, and sets that hold both labels.
    std::vector<std::int64_t> within_label, across_labels;
    std::vector<std::string> first_ids;  ///< of the first set, the first few
};

/// Collective; the same on every rank.
std::vector<Duplicates> find_duplicates_mpi(const parallel::Communicator& world, const Inputs& inputs,
                                            const FeatureAudit& audit, const std::vector<TaskWork>& work);

}  // namespace candor::campaign
