#pragma once

/// Associations of discordance, distances from the anchor and contrasts (METHODS 11) as tables of the results
/// file. Rank 0 only; pure. All by the primary rule and with ties half (rate_mid), over the cells in figures.

#include <vector>

#include "candor/campaign/families.hpp"
#include "candor/campaign/head_table_mpi.hpp"
#include "candor/campaign/inference_mpi.hpp"
#include "candor/campaign/work.hpp"
#include "candor/store/table.hpp"
#include "candor/study/boxes.hpp"
#include "candor/study/study.hpp"

namespace candor::campaign {

struct AssociationTables {
    /// A row a question of instruments::associations, a task after the other.
    store::ResultTable associations;
    /// D(anchor) - D(encoder), paired in each resample: per task micro, then macro, then each finding, a row
    /// an encoder. Macro rows are in no family. No rows where a panel has no anchor.
    store::ResultTable distances;
    /// Per contrast a row an arm (mean over its cells, interval by Student's t over them), then a row a pair
    /// of arms, the first one's mean less the second one's (paired t-test over findings). The patient
    /// bootstrap of the same value stands beside.
    store::ResultTable contrasts;
    /// Per task "distance from the anchor" and "distance from the anchor, by finding", then "associations" of
    /// the whole study: correlations and slopes, then differences of arms.
    std::vector<TestFamily> families;
};

/// @param boxes      by dataset, as audit_erased_mpi reads them: sizes of the findings
/// @param retention  by work and encoder of its task, as retention_mpi gives it
/// @param aurocs     as head_table_mpi gives them
AssociationTables association_tables(const study::Study& study, const std::vector<TaskWork>& work,
                                     const Counted& counted, const std::vector<study::Boxes>& boxes,
                                     const std::vector<std::vector<double>>& retention,
                                     const TaskAurocs& aurocs);

}  // namespace candor::campaign
