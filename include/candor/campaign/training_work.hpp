#pragma once

/// The operator among the rows that heads are trained on: what an encoder's discordance says before any test
/// row is looked at, for the selection rule "lowest D" (METHODS 10).

#include <vector>

#include "candor/campaign/found.hpp"
#include "candor/campaign/head_work.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/campaign/work.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/study/study.hpp"

namespace candor::campaign {

/// The study whose operator this is: the primary rule alone, one draw, positives alone asked.
study::Study training_study(const study::Study& study);

/// By work, the training rows of all datasets of the task as a pool, with its cells; no cells in a task
/// without linear heads or with one encoder, where nothing is to be selected.
/// @param inputs  of the study as it is. @param study  training_study of it
std::vector<TaskWork> training_work(const Inputs& inputs, const study::Study& study,
                                    const std::vector<TaskWork>& work, const HeadRowsOfWork& heads);

/// D among the training rows, ties half, by work, encoder and finding; NaN where no cell is scored.
using TrainingRates = std::vector<std::vector<std::vector<double>>>;

/// @param found  every cell of the training work once, over the ranks. Collective; the same on every rank.
TrainingRates training_rates_mpi(const parallel::Communicator& world, const study::Study& study,
                                 const std::vector<TaskWork>& training, const std::vector<Found>& found);

}  // namespace candor::campaign
