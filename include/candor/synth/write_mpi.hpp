#pragma once

/// A synthetic study written by all ranks together, a file by one rank.

#include "candor/base/log.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/synth/plan.hpp"

namespace candor::synth {

/// Writes the study into `options.folder`: tables, boxes, features, erased features, planted.csv,
/// planted-retention.csv and, last of all and by a rename, study.toml. Where the folder holds an unfinished
/// study of the same options, what is finished of it is kept. The bytes are the same at any number of ranks
/// and threads. Collective.
/// @throws UsageError where the folder is no folder, or holds anything else; MachineError where the disk has
/// less room
///         than the study takes, or a file cannot be written.
void write_study_mpi(const parallel::Communicator& world, const SynthOptions& options, const Log& log);

}  // namespace candor::synth
