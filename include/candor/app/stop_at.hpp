#pragma once

/// When a command that goes on where it was should stop by itself.

#include <boost/program_options.hpp>
#include <chrono>
#include <optional>
#include <string>

namespace candor::app {

using StopTime = std::optional<std::chrono::system_clock::time_point>;

/// In good time before Slurm ends the job, where it says when that is. A job that is there still was given
/// more time since it began, or is none of Slurm's any more: its signals will tell.
StopTime before_slurm_ends();

/// The value of --time-limit, counted from now. @throws UsageError when the command line is read.
boost::program_options::typed_value<std::string>* time_limit_value(StopTime& into);

}  // namespace candor::app
