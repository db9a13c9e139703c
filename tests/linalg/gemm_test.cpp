#include "candor/linalg/gemm.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <string>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/base/sum.hpp"
#include "candor/base/threads.hpp"

using namespace candor;

namespace {

Matrix<float> random_rows(std::int64_t rows, std::int64_t cols, std::uint64_t item) {
    const Stream stream(6, "gemm", item);
    Matrix<float> out(rows, cols);
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < cols; ++j) {
            out.row(i)[j] =
                static_cast<float>(2 * stream.uniform(static_cast<std::uint64_t>(i * cols + j)) - 1);
        }
    }
    return out;
}

/// Largest |c - a b^T| as a share of its bound d 2^-24 |a||b| (Jeannerod and Rump 2013: any order, FMA or
/// not).
double worst_share(const Matrix<float>& a, const Matrix<float>& b, const Matrix<float>& c) {
    double worst = 0;
    for (std::int64_t i = 0; i < a.rows(); ++i) {
        for (std::int64_t j = 0; j < b.rows(); ++j) {
            const double bound = static_cast<double>(a.cols()) * 0x1p-24 * norm(a.row(i)) * norm(b.row(j));
            worst = std::max(worst, std::abs(c.row(i)[j] - dot(a.row(i), b.row(j))) / bound);
        }
    }
    return worst;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(linalg_gemm)

BOOST_AUTO_TEST_CASE(the_blas_opens_and_says_what_it_is) {
    BOOST_CHECK_NO_THROW(linalg::open_blas());
    BOOST_TEST(linalg::blas_description().find("OpenBLAS") != std::string::npos);
    BOOST_TEST(linalg::blas_description().find('\n') == std::string::npos);
    BOOST_TEST(!linalg::blas_core().empty());
    BOOST_TEST(linalg::blas_description().find(linalg::blas_core()) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(products_of_odd_shapes_are_within_their_bound) {
    std::uint64_t item = 0;
    for (const std::int64_t d : {1, 2, 15, 17, 64, 129, 1000}) {
        for (const std::int64_t m : {1, 3, 16, 37}) {
            for (const std::int64_t n : {1, 5, 65}) {
                const Matrix<float> a = random_rows(m, d, item++), b = random_rows(n, d, item++);
                Matrix<float> c(m, n);
                linalg::product(a.view(), b.view(), c.view());
                BOOST_TEST(worst_share(a, b, c) <= 1, m << " x " << d << " x " << n);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(whole_numbers_are_multiplied_exactly_and_nothing_beside_the_tile_is_touched) {
    const std::int64_t m = 11, n = 13, d = 9;
    Matrix<float> a(m, d), b(n, d), c(m + 2, n + 5);
    for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < d; ++j) a.row(i)[j] = static_cast<float>(i - 2 * j);
    }
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < d; ++j) b.row(i)[j] = static_cast<float>(3 * i + j);
    }
    constexpr float poison = -12345;
    for (std::int64_t i = 0; i < c.rows(); ++i) std::ranges::fill(c.row(i), poison);
    // A view into the middle: rows 1 .. m, columns 0 .. n - 1 of a wider matrix.
    const MatrixView<float> tile{c.row(1).data(), m, n, c.view().stride};
    linalg::product(a.view(), b.view(), tile);
    for (std::int64_t i = 0; i < c.rows(); ++i) {
        for (std::int64_t j = 0; j < c.cols(); ++j) {
            const bool inside = i >= 1 && i <= m && j < n;
            const double expected =
                inside ? dot(std::as_const(a).row(i - 1), std::as_const(b).row(j)) : poison;
            BOOST_REQUIRE_EQUAL(c.row(i)[j], static_cast<float>(expected));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_times_b_is_within_its_bound_too) {
    std::uint64_t item = 500;
    for (const std::int64_t n : {1, 16, 129, 256}) {
        for (const std::int64_t m : {1, 16, 37}) {
            for (const std::int64_t d : {1, 5, 65}) {
                const Matrix<float> a = random_rows(m, n, item++), b = random_rows(d, n, item++);
                Matrix<float> across(n, d), c(m, d);
                for (std::int64_t i = 0; i < n; ++i) {
                    for (std::int64_t j = 0; j < d; ++j) across.row(i)[j] = b.row(j)[i];
                }
                linalg::multiply(a.view(), across.view(), c.view());
                BOOST_TEST(worst_share(a, b, c) <= 1, m << " x " << n << " x " << d);
                // In double: the products of floats are exact and their sums are a few ulps from `dot`.
                Matrix<double> wide_a(m, n), wide_b(n, d), wide_c(m, d);
                for (std::int64_t i = 0; i < m; ++i) std::ranges::copy(a.row(i), wide_a.row(i).begin());
                for (std::int64_t i = 0; i < n; ++i) std::ranges::copy(across.row(i), wide_b.row(i).begin());
                linalg::multiply(wide_a.view(), wide_b.view(), wide_c.view());
                for (std::int64_t i = 0; i < m; ++i) {
                    for (std::int64_t j = 0; j < d; ++j)
                        BOOST_TEST(std::abs(wide_c.row(i)[j] - dot(a.row(i), b.row(j))) <=
                                   static_cast<double>(n) * 0x1p-52 * norm(a.row(i)) * norm(b.row(j)));
                }
            }
        }
    }
    Matrix<float> c(3, 5);
    const Matrix<float> a(3, 4), b(3, 5);
    BOOST_CHECK_EXCEPTION(
        linalg::multiply(a.view(), b.view(), c.view()), InternalError, [](const InternalError& error) {
            return std::string(error.what()).find("(3 x 4 times 3 x 5)") != std::string::npos;
        });
}

BOOST_AUTO_TEST_CASE(empty_products_and_shapes_that_disagree) {
    const Matrix<float> a(0, 4), b(3, 4), narrow(3, 5);
    Matrix<float> none(0, 3), c(3, 3);
    BOOST_CHECK_NO_THROW(linalg::product(a.view(), b.view(), none.view()));
    BOOST_CHECK_EXCEPTION(linalg::product(b.view(), narrow.view(), c.view()), InternalError,
                          [](const InternalError& error) {
                              return std::string(error.what()).find("(3 x 4 by 3 x 5)") != std::string::npos;
                          });
    BOOST_CHECK_THROW(linalg::product(b.view(), b.view(), none.view()), InternalError);
}

BOOST_AUTO_TEST_CASE(threads_call_side_by_side) {
    linalg::open_blas();
    const Matrix<float> a = random_rows(64, 300, 900), b = random_rows(96, 300, 901);
    Matrix<float> alone(64, 96);
    linalg::product(a.view(), b.view(), alone.view());
    std::vector<int> differ(40);
    for_each_on_threads(4, 40, [&](std::int64_t i) {
        Matrix<float> c(64, 96);
        linalg::product(a.view(), b.view(), c.view());
        for (std::int64_t row = 0; row < 64; ++row) {
            differ[static_cast<std::size_t>(i)] += !std::ranges::equal(c.row(row), alone.row(row));
        }
    });
    for (const int rows : differ) BOOST_TEST(rows == 0);
}

BOOST_AUTO_TEST_SUITE_END()
