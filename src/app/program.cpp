#include "candor/app/program.hpp"

#include "candor/embed/encoder.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/parallel/session.hpp"
#include "candor/store/results_file.hpp"
#include "revision.hpp"

namespace candor::app {

campaign::Program program() {
#if defined(__clang__)
    const std::string compiler = std::string("clang ") + __clang_version__;
#else
    const std::string compiler = std::string("gcc ") + __VERSION__;
#endif
    return {CANDOR_VERSION, CANDOR_COMMIT, compiler, CANDOR_DIRTY != 0};
}

std::string version_text() {
    const campaign::Program here = program();
    return "candor " + here.version + "\ncommit " + here.commit + (here.dirty ? " (with changes)" : "") +
           "\ncompiler " + here.compiler + "\nblas " + linalg::blas_description() + ", kernel " +
           linalg::blas_core() + "\nhdf5 " + store::hdf5_version() + "\nmpi " + parallel::mpi_version() +
           "\nlibtorch " + embed::torch_version() + "\n";
}

}  // namespace candor::app
