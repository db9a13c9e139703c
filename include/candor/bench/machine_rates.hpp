#pragma once

/// What candor's pieces of work take on this machine, for the forecasts of `candor plan`.

#include "candor/base/log.hpp"
#include "candor/campaign/machine_rates.hpp"
#include "candor/parallel/communicator.hpp"

namespace candor::bench {

/// Carries out the pieces of a small made study, as a run does, on one thread, each for some tenths of a
/// second: some seconds in all. Its files lie in the system's folder for temporary files until then.
/// @param start processor seconds of the process until now, which are those of a rank's start.
/// @pre one rank. @throws MachineError where the files cannot be written.
campaign::MachineRates measure_rates(const parallel::Communicator& world, double start, const Log& log);

}  // namespace candor::bench
