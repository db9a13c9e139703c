#include "candor/linalg/cholesky.hpp"

#include <cblas.h>
// OpenBLAS carries LAPACK's dpotrf in a version of its own and declares it here: no further library for it.
#include <f77blas.h>

#include <cmath>
#include <string>

#include "candor/base/error.hpp"

namespace candor::linalg {

namespace {

template <class T>
std::string shape(const MatrixView<T>& a) {
    return std::to_string(a.rows) + " x " + std::to_string(a.cols);
}

}  // namespace

void add_scatter(MatrixView<const double> rows, MatrixView<double> sum, double factor) {
    CANDOR_REQUIRE(sum.rows == sum.cols && rows.cols == sum.cols, shape(rows) + " into " + shape(sum));
    if (rows.rows == 0 || rows.cols == 0) return;
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, static_cast<int>(rows.cols),
                static_cast<int>(rows.rows), factor, rows.data, static_cast<int>(rows.stride), 1.0, sum.data,
                static_cast<int>(sum.stride));
}

void add_scatter_rows(MatrixView<const double> rows, MatrixView<double> sum, std::int64_t first,
                      std::int64_t count) {
    CANDOR_REQUIRE(sum.rows == sum.cols && rows.cols == sum.cols && first >= 0 && count >= 0 &&
                       first + count <= sum.rows,
                   shape(rows) + " into rows " + std::to_string(first) + " to " +
                       std::to_string(first + count) + " of " + shape(sum));
    if (rows.rows == 0 || count == 0) return;
    const MatrixView<const double> columns{rows.data + first, rows.rows, count, rows.stride};
    double* const begin = sum.data + first * sum.stride;
    if (first > 0)
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, static_cast<int>(count), static_cast<int>(first),
                    static_cast<int>(rows.rows), 1.0, columns.data, static_cast<int>(columns.stride),
                    rows.data, static_cast<int>(rows.stride), 1.0, begin, static_cast<int>(sum.stride));
    add_scatter(columns, {begin + first, count, count, sum.stride});
}

bool cholesky(MatrixView<double> a) {
    CANDOR_REQUIRE(a.rows == a.cols, shape(a));
    if (a.rows == 0) return true;
    // What is the lower triangle by rows is the upper one by columns, of which LAPACK makes U with a = U^T U.
    char triangle = 'U';
    blasint n = static_cast<blasint>(a.rows), stride = static_cast<blasint>(a.stride), info = 0;
    BLASFUNC(dpotrf)(&triangle, &n, a.data, &stride, &info);
    CANDOR_REQUIRE(info >= 0, "argument " + std::to_string(-info) + " of dpotrf");
    if (info > 0) return false;
    for (std::int64_t i = 0; i < a.rows; ++i) {
        if (!std::isfinite(a.row(i)[static_cast<std::size_t>(i)])) return false;
    }
    return true;
}

void solve_lower(MatrixView<const double> factor, MatrixView<double> rows) {
    CANDOR_REQUIRE(factor.rows == factor.cols && rows.cols == factor.cols,
                   shape(factor) + " for " + shape(rows));
    if (rows.rows == 0 || rows.cols == 0) return;
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, static_cast<int>(rows.rows),
                static_cast<int>(rows.cols), 1.0, factor.data, static_cast<int>(factor.stride), rows.data,
                static_cast<int>(rows.stride));
}

}  // namespace candor::linalg
