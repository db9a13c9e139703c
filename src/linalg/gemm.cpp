#include "candor/linalg/gemm.hpp"

#include <cblas.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/sum.hpp"
#include "candor/base/text.hpp"

// OpenBLAS' own, which it exports and does not declare; another BLAS has them not.
extern "C" {
[[gnu::weak]] void* blas_memory_alloc(int unused);
[[gnu::weak]] void blas_memory_free(void* buffer);
}

namespace candor::linalg {

namespace {

/// By the routine `gemm` of the type.
template <class T, class Gemm>
void product_by(Gemm gemm, MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c) {
    CANDOR_REQUIRE(a.cols == b.cols && c.rows == a.rows && c.cols == b.rows,
                   std::to_string(a.rows) + " x " + std::to_string(a.cols) + " by " + std::to_string(b.rows) +
                       " x " + std::to_string(b.cols));
    if (c.rows == 0 || c.cols == 0) return;
    gemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(a.rows), static_cast<int>(b.rows),
         static_cast<int>(a.cols), T{1}, a.data, static_cast<int>(a.stride), b.data,
         static_cast<int>(b.stride), T{0}, c.data, static_cast<int>(c.stride));
}

template <class T, class Gemm>
void multiply_by(Gemm gemm, MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c) {
    CANDOR_REQUIRE(a.cols == b.rows && c.rows == a.rows && c.cols == b.cols,
                   std::to_string(a.rows) + " x " + std::to_string(a.cols) + " times " +
                       std::to_string(b.rows) + " x " + std::to_string(b.cols));
    if (c.rows == 0 || c.cols == 0) return;
    gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(a.rows), static_cast<int>(b.cols),
         static_cast<int>(a.cols), T{1}, a.data, static_cast<int>(a.stride), b.data,
         static_cast<int>(b.stride), T{0}, c.data, static_cast<int>(c.stride));
}

/// A buffer a call that runs (0.3.21, x86-64): OpenBLAS maps it when it is first needed, keeps it, and asks
/// again for ever where it gets none.
constexpr std::size_t buffer_bytes = (std::size_t{128} << 20) + 4096;

/// Lets OpenBLAS map the buffers of `threads` calls while there is room.
void map_buffers(int threads) {
    std::vector<void*> buffers;
    for (int t = 0; t < threads; ++t) {
        void* const room = mmap(nullptr, buffer_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED) {
            throw MachineError("BLAS",
                               "there is no address space for its buffers, " + std::to_string(threads) +
                                   " of " + std::to_string(buffer_bytes >> 20) + " MiB",
                               "raise the limit (ulimit -v), or use fewer --threads");
        }
        munmap(room, buffer_bytes);
        if (blas_memory_alloc != nullptr) buffers.push_back(blas_memory_alloc(0));
    }
    for (void* const buffer : buffers) blas_memory_free(buffer);
}

}  // namespace

void product(MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c) {
    product_by(cblas_sgemm, a, b, c);
}

void product(MatrixView<const double> a, MatrixView<const double> b, MatrixView<double> c) {
    product_by(cblas_dgemm, a, b, c);
}

void multiply(MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c) {
    multiply_by(cblas_sgemm, a, b, c);
}

void multiply(MatrixView<const double> a, MatrixView<const double> b, MatrixView<double> c) {
    multiply_by(cblas_dgemm, a, b, c);
}

void open_blas(int threads) {
    // Its own threads, which wait from the start of the program for work that never comes, take one each.
    map_buffers(threads + std::max(1, openblas_get_num_threads()) - 1);
    openblas_set_num_threads(1);
    // Odd shapes, so that the edges of a kernel's blocks are used too.
    for (const std::int64_t d : {1, 31, 257}) {
        const std::int64_t m = 67, n = 131;
        Matrix<float> a(m, d), b(n, d), across(d, n), c(m, n), same(m, n);
        for (std::int64_t i = 0; i < m; ++i) {
            for (std::int64_t j = 0; j < d; ++j)
                a.row(i)[j] = static_cast<float>((i * 131 + j * 37) % 101 - 50) / 64;
        }
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < d; ++j)
                across.row(j)[i] = b.row(i)[j] = static_cast<float>((i * 61 + j * 89) % 97 - 48) / 64;
        }
        product(a.view(), b.view(), c.view());
        multiply(a.view(), across.view(), same.view());
        for (std::int64_t i = 0; i < m; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
                const std::span<const float> x = a.view().row(i), y = b.view().row(j);
                const double bound = static_cast<double>(d) * 0x1p-24 * norm(x) * norm(y);
                const double exact = dot(x, y);
                if (std::abs(c.row(i)[j] - exact) <= bound && std::abs(same.row(i)[j] - exact) <= bound)
                    continue;
                throw MachineError("BLAS (" + blas_description() + ")",
                                   "computes wrong single-precision products on this processor",
                                   "choose another kernel, e.g. OPENBLAS_CORETYPE=Haswell, or another BLAS");
            }
        }
    }
}

std::string blas_description() {
    std::string text(trim(openblas_get_config()));
    // The kernel is reported apart, since one build chooses among many.
    if (const auto at = text.find(" " + blas_core()); at != std::string::npos)
        text.erase(at, blas_core().size() + 1);
    return text;
}

std::string blas_core() {
    return openblas_get_corename();
}

}  // namespace candor::linalg
