#pragma once

/// A results file taken up again: the study it was made from, and that study's inputs, which must still be
/// what they were.

#include <string>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/campaign/run.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/study/study.hpp"

namespace candor::campaign {

/// What /run of a results file says of the study.
struct RecordedStudy {
    std::string results;  ///< the results file
    /// The effective study, --set included; paths resolved against the folder where its file is now.
    study::Study study;
    /// A line an input but the study file: digest, bytes, path; in the order of `describe_inputs`.
    std::vector<std::string> inputs;
};

/// Reads the record of `results`. Only the folder of the study file matters, for the paths in the study: it
/// is `study_file` where that is given, else the file that the run read, as it was named then or beside
/// `results`. Collective.
/// @throws DataError where `results` is no results file, and where the study file is not found.
RecordedStudy read_record_mpi(const parallel::Communicator& world, const std::string& results,
                              const std::string& study_file);

/// Inputs, audit and pools of the recorded study, as the run had them. Collective.
/// @throws DataError as prepare_mpi, and naming the first input that changed since.
Prepared reopen_mpi(const parallel::Communicator& world, const RecordedStudy& recorded, const Log& log);

}  // namespace candor::campaign
