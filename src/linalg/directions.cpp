#include "candor/linalg/directions.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/sum.hpp"
#include "candor/linalg/gemm.hpp"

namespace candor::linalg {

namespace {

/// Makes the rows of `a` orthonormal from the first to the last and drops those that lie in the span of the
/// ones before: Cholesky's factor of a a^T, twice.
Matrix<double> orthonormal(Matrix<double> a) {
    for (int pass = 0; pass < 2; ++pass) {
        const std::int64_t n = a.rows(), d = a.cols();
        const auto stride = static_cast<int>(a.view().stride);
        Matrix<double> gram(n, n);
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, static_cast<int>(n), static_cast<int>(d), 1.0,
                    a.view().data, stride, 0.0, gram.view().data, static_cast<int>(gram.view().stride));
        std::vector<std::int64_t> kept;
        for (std::int64_t i = 0; i < n; ++i) {
            const double before = gram.row(i)[i];
            for (const std::int64_t j : kept) {
                double sum = gram.row(i)[j];
                for (const std::int64_t l : kept) {
                    if (l == j) break;
                    sum -= gram.row(i)[l] * gram.row(j)[l];
                }
                gram.row(i)[j] = sum / gram.row(j)[j];
                gram.row(i)[i] -= gram.row(i)[j] * gram.row(i)[j];
            }
            if (!(gram.row(i)[i] > 1e-10 * before)) continue;
            gram.row(i)[i] = std::sqrt(gram.row(i)[i]);
            kept.push_back(i);
        }
        const auto m = std::ssize(kept);
        Matrix<double> factor(m, m), out(m, d);
        for (std::int64_t i = 0; i < m; ++i) {
            for (std::int64_t j = 0; j <= i; ++j) factor.row(i)[j] = gram.row(kept[i])[kept[j]];
            std::ranges::copy(a.row(kept[i]), out.row(i).begin());
        }
        if (m > 0)
            cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, static_cast<int>(m),
                        static_cast<int>(d), 1.0, factor.view().data, static_cast<int>(factor.view().stride),
                        out.view().data, static_cast<int>(out.view().stride));
        a = std::move(out);
    }
    return a;
}

}  // namespace

Directions leading_directions(MatrixView<const float> sample, std::int64_t count, const Stream& stream) {
    CANDOR_REQUIRE(count >= 0 && count <= sample.cols,
                   std::to_string(count) + " directions of " + std::to_string(sample.cols));
    const std::int64_t n = sample.rows, d = sample.cols;
    // A few more are iterated than are asked for: the last ones of a subspace come out worst.
    const std::int64_t iterated = std::min(d, count + 8);
    Matrix<float> mixed(iterated, n), space(iterated, d);
    for (std::int64_t i = 0; i < iterated; ++i) {
        for (std::int64_t j = 0; j < n; ++j)
            mixed.row(i)[j] = static_cast<float>(stream.uniform(static_cast<std::uint64_t>(i * n + j)) - 0.5);
    }
    Matrix<double> basis;
    constexpr int iterations = 2;
    for (int iteration = 0; iteration < iterations; ++iteration) {
        if (iteration > 0) product(space.view(), sample, mixed.view());
        multiply(mixed.view(), sample, space.view());
        Matrix<double> wide(space.rows(), d);
        for (std::int64_t i = 0; i < space.rows(); ++i) std::ranges::copy(space.row(i), wide.row(i).begin());
        basis = orthonormal(std::move(wide));
        space = Matrix<float>(basis.rows(), d);
        mixed = Matrix<float>(basis.rows(), n);
        for (std::int64_t i = 0; i < basis.rows(); ++i) {
            for (std::int64_t j = 0; j < d; ++j) space.row(i)[j] = static_cast<float>(basis.row(i)[j]);
        }
    }
    // The longest directions within the space: the first rows after one more orthogonalisation in the order
    // of their lengths over the sample.
    product(space.view(), sample, mixed.view());
    std::vector<std::pair<double, std::int64_t>> lengths;
    for (std::int64_t i = 0; i < mixed.rows(); ++i) {
        const std::span<const float> row = std::as_const(mixed).row(i);
        lengths.emplace_back(-dot(row, row), i);
    }
    std::ranges::sort(lengths);

    Directions out;
    out.rows = Matrix<float>(std::min(count, std::ssize(lengths)), d);
    for (std::int64_t i = 0; i < out.rows.rows(); ++i)
        std::ranges::copy(space.row(lengths[static_cast<std::size_t>(i)].second), out.rows.row(i).begin());
    double square = 0;
    for (std::int64_t i = 0; i < out.rows.rows(); ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
            const double off = dot(std::as_const(out.rows).row(i), std::as_const(out.rows).row(j)) - (i == j);
            square += (i == j ? 1 : 2) * off * off;
        }
    }
    out.defect = std::sqrt(square) + 1e-12;
    return out;
}

}  // namespace candor::linalg
