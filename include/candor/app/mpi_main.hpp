#pragma once

/// The frame of every command that runs over ranks.

#include <functional>

#include "candor/parallel/communicator.hpp"

namespace candor::app {

/// Opens MPI, calls `work` on every rank, closes MPI. A failure of any rank is printed once and ends all of
/// them with its code. @returns 0.
int mpi_main(const std::function<void(const parallel::Communicator&)>& work);

}  // namespace candor::app
