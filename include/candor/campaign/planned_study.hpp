#pragma once

/// A study as far as its file, its tables and the headers of its feature files tell: what `candor plan` knows
/// before any feature is read.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/head_work.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/campaign/work.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/feature_file.hpp"

namespace candor::campaign {

struct PlannedStudy {
    Inputs inputs;
    /// As a run prepares it where no feature is missing or spoilt.
    std::vector<TaskWork> work;
    HeadRowsOfWork heads;
    /// The search among the rows that heads are trained on, of `training_work`.
    study::Study training_study;
    std::vector<TaskWork> training;
    /// Headers by encoder and dataset of the study: features, and erased features.
    std::map<std::pair<std::size_t, std::size_t>, store::FeatureHeader> features, erased;
    std::vector<std::int64_t> dimensions;  ///< feature columns by encoder; 0: no task uses it
    /// Processor seconds that reading the tables and drawing the pools took here: every rank does the same.
    double tables_seconds = 0, pools_seconds = 0;

    /// Bytes of a feature of any dataset of the task under an encoder, the widest.
    std::int64_t width(const study::Task& task, std::size_t encoder) const;
};

/// Collective. @throws UsageError, DataError as a run does for what it reads: a table or a header that is
/// missing or cannot be used, files of different dimension, a study of which nothing is scored.
PlannedStudy plan_study_mpi(const parallel::Communicator& world, const std::string& study_file,
                            const std::vector<std::string>& overrides, const Log& log);

}  // namespace candor::campaign
