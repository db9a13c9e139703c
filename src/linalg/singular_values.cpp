#include "candor/linalg/singular_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "candor/base/error.hpp"

// OpenBLAS has LAPACK within, but Debian's package of it has no header for that part. The Fortran routine is
// called as such, so that the program has one BLAS in it: Debian's LAPACKE would bring a second one, with
// threads of its own.
extern "C" void dgesdd_(const char* job, const int* m, const int* n, double* a, const int* lda, double* s,
                        double* u, const int* ldu, double* vt, const int* ldvt, double* work,
                        const int* lwork, int* iwork, int* info, std::size_t job_length);

namespace candor::linalg {

std::vector<double> singular_values(MatrixView<const float> a) {
    const int rows = static_cast<int>(a.rows), cols = static_cast<int>(a.cols), least = std::min(rows, cols);
    if (least == 0) return {};
    // Fortran stores columns, so it sees the transpose, whose singular values are the same.
    std::vector<double> copy;
    copy.reserve(static_cast<std::size_t>(a.rows * a.cols));
    for (std::int64_t i = 0; i < a.rows; ++i) {
        for (const float value : a.row(i)) {
            CANDOR_REQUIRE(std::isfinite(value), "row " + std::to_string(i) + " of a matrix is not finite");
            copy.push_back(value);
        }
    }
    std::vector<double> values(static_cast<std::size_t>(least)), work(1);
    std::vector<int> integers(8 * values.size());
    double no_vectors = 0;
    const int one = 1;
    int info = 0;
    const auto call = [&](int size) {
        dgesdd_("N", &cols, &rows, copy.data(), &cols, values.data(), &no_vectors, &one, &no_vectors, &one,
                work.data(), &size, integers.data(), &info, 1);
    };
    call(-1);  // asks for the best size of `work`
    CANDOR_REQUIRE(info == 0, "argument " + std::to_string(-info) + " of dgesdd");
    work.resize(static_cast<std::size_t>(work.front()));
    call(static_cast<int>(work.size()));
    CANDOR_REQUIRE(info >= 0, "argument " + std::to_string(-info) + " of dgesdd");
    if (info > 0)
        throw MachineError("LAPACK", "did not find the singular values of a " + std::to_string(rows) + " x " +
                                         std::to_string(cols) + " matrix");
    return values;
}

}  // namespace candor::linalg
