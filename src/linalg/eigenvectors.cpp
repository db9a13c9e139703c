#include "candor/linalg/eigenvectors.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "candor/base/error.hpp"

// As in singular_values.cpp: OpenBLAS has the routine within, and no header for it.
extern "C" void dsyevd_(const char* job, const char* triangle, const int* n, double* a, const int* lda,
                        double* values, double* work, const int* lwork, int* iwork, const int* liwork,
                        int* info, std::size_t job_length, std::size_t triangle_length);

namespace candor::linalg {

Eigenvectors eigenvectors(MatrixView<const double> a) {
    CANDOR_REQUIRE(a.rows == a.cols, std::to_string(a.rows) + " x " + std::to_string(a.cols));
    Eigenvectors out{std::vector<double>(static_cast<std::size_t>(a.rows)), Matrix<double>(a.rows, a.rows)};
    if (a.rows == 0) return out;
    for (std::int64_t i = 0; i < a.rows; ++i) {
        const std::span<const double> below = a.row(i).first(static_cast<std::size_t>(i) + 1);
        CANDOR_REQUIRE(std::ranges::all_of(below, [](double v) { return std::isfinite(v); }),
                       "row " + std::to_string(i) + " of a matrix is not finite");
        std::ranges::copy(below, out.rows.row(i).begin());
    }
    // What is the lower triangle by rows is the upper one by columns, and the columns of Fortran's vectors
    // are our rows.
    const int n = static_cast<int>(a.rows), stride = static_cast<int>(out.rows.view().stride);
    std::vector<double> work(1);
    std::vector<int> integers(1);
    int info = 0;
    const auto call = [&](int size, int integer_size) {
        dsyevd_("V", "U", &n, out.rows.view().data, &stride, out.values.data(), work.data(), &size,
                integers.data(), &integer_size, &info, 1, 1);
        CANDOR_REQUIRE(info >= 0, "argument " + std::to_string(-info) + " of dsyevd");
    };
    call(-1, -1);  // asks for the best sizes
    work.resize(static_cast<std::size_t>(work.front()));
    integers.resize(static_cast<std::size_t>(integers.front()));
    call(static_cast<int>(work.size()), static_cast<int>(integers.size()));
    if (info > 0)
        throw MachineError("LAPACK", "did not find the eigenvectors of a " + std::to_string(n) + " x " +
                                         std::to_string(n) + " matrix");
    return out;
}

}  // namespace candor::linalg
