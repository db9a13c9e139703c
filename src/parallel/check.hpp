#pragma once

/// The one place where a return value of MPI is looked at.

#include <mpi.h>

#include <string>

#include "candor/base/error.hpp"

namespace candor::parallel {

inline void check(int status, const char* call) {
    if (status == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(status, text, &length);
    throw MachineError("MPI", std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

}  // namespace candor::parallel
