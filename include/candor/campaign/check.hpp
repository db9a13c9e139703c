#pragma once

/// `candor check`: everything that a run would look at or leave out, as tables, and what would make a result
/// wrong.

#include <string>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/table.hpp"

namespace candor::campaign {

struct CheckReport {
    /// pools, labels, splits, features, erased, evidence, duplicates, cells, exclusions, in this order.
    std::vector<store::ResultTable> tables;
    /// What would end a run with exit code 3, a line each; empty: the study is sound.
    std::vector<std::string> problems;
    /// What a user should know although it does not stop a run.
    std::vector<std::string> notes;
};

/// Collective; the report is the same on every rank. @throws UsageError, DataError where an input cannot be
/// read at all.
CheckReport check_mpi(const parallel::Communicator& world, const std::string& study_file,
                      const std::vector<std::string>& overrides, const Log& log);

}  // namespace candor::campaign
