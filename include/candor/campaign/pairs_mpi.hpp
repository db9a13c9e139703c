#pragma once

/// `candor pairs`: which pairs of images an encoder confuses that another one tells apart.

#include <string>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/campaign/work.hpp"
#include "candor/neighbors/pair_search.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/table.hpp"

namespace candor::campaign {

/// What is asked for. The lists of pairs are made a (finding, context) of a task at a time, over all labelled
/// rows of the task's pool there, and merged; `search.top` holds for each and for the whole,
/// `search.per_positive` within a (finding, context).
struct PairsQuestion {
    std::string close, far;             ///< ids of two encoders
    std::string task;                   ///< empty: every task that has both encoders
    std::vector<std::string> findings;  ///< empty: all
    std::vector<std::string> contexts;  ///< empty: all
    neighbors::PairOptions search;
};

/// Ids in `question` held against the study. @throws UsageError naming the option, with the nearest known
/// name; where both encoders are one; where no task asked for has both.
void require_known(const study::Study& study, const PairsQuestion& question);

/// The pairs of prepared work, on rank 0 (without rows elsewhere), in their order: score descending, then
/// task, finding and context in the study's order, then both rows' key order. Columns: rank, task, finding,
/// context, positive_image, positive_dataset, positive_patient, negative_image, negative_dataset,
/// negative_patient, same_patient, cosine_close, cosine_far, z_close, z_far, score. What gives no pairs is
/// said to `log`. Collective; the same table at any rank count.
/// @throws UsageError as require_known, and for an unknown context.
store::ResultTable list_pairs_mpi(const parallel::Communicator& world, const Inputs& inputs,
                                  const std::vector<TaskWork>& work, const PairsQuestion& question,
                                  const Log& log);

/// The same for the study of results file `results` (see read_record_mpi for `study_file`, which may be
/// empty), whose inputs must be what they were. @throws DataError as reopen_mpi.
store::ResultTable pairs_mpi(const parallel::Communicator& world, const std::string& results,
                             const std::string& study_file, const PairsQuestion& question, const Log& log);

}  // namespace candor::campaign
