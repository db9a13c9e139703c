#pragma once

/// What this program is: version, revision, compiler, libraries.

#include <string>

#include "candor/campaign/run.hpp"

namespace candor::app {

campaign::Program program();

/// The text of `candor --version`: version, commit, dirty flag, compiler, BLAS, HDF5, MPI; a line each.
std::string version_text();

}  // namespace candor::app
