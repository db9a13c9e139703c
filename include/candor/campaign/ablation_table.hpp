#pragma once

/// What the corrections of the operator are worth (METHODS 3, 12.7): the matched rate beside the rate without
/// context match, and every candidate rule beside the primary one, with what they respond to: rarity and
/// repeated patients.

#include <vector>

#include "candor/campaign/inference_mpi.hpp"
#include "candor/campaign/work.hpp"
#include "candor/store/table.hpp"

namespace candor::campaign {

/// ablations: a row an (encoder, finding) and an encoder's task (positives pooled over findings). Rank 0
/// only.
/// @param counted  of `work`, under all four rules
/// @param merged   what merge_contexts makes of each work, and what was counted of it
store::ResultTable ablation_table(const study::Study& study, const std::vector<TaskWork>& work,
                                  const Counted& counted, const std::vector<TaskWork>& merged,
                                  const Counted& merged_counted);

}  // namespace candor::campaign
