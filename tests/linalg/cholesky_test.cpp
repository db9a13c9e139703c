#include "candor/linalg/cholesky.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/linalg/gemm.hpp"

using namespace candor;

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr double poison = -777;

Matrix<double> filled(std::int64_t rows, std::int64_t cols, double value) {
    Matrix<double> out(rows, cols);
    for (std::int64_t i = 0; i < rows; ++i)
        for (double& v : out.row(i)) v = value;
    return out;
}

/// min(i, j) + 1: its factor is a lower triangle of ones.
Matrix<double> of_ones(std::int64_t d) {
    Matrix<double> a(d, d);
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j < d; ++j)
            a.row(i)[j] = j <= i ? static_cast<double>(std::min(i, j) + 1) : poison;
    }
    return a;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(linalg_cholesky)

// Whole numbers throughout, so that nothing is rounded; large enough for every block of the library.
BOOST_AUTO_TEST_CASE(a_factor_known_beforehand_is_found_exactly) {
    linalg::open_blas();
    for (const std::int64_t d : {1, 2, 7, 64, 301}) {
        Matrix<double> a = of_ones(d);
        BOOST_REQUIRE(linalg::cholesky(a.view()));
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < d; ++i)
            for (std::int64_t j = 0; j < d; ++j) wrong += a.row(i)[j] != (j <= i ? 1 : poison);
        BOOST_TEST(wrong == 0, "d = " << d);

        // L^-1 x is x_i - x_(i-1).
        Matrix<double> rows(3, d);
        for (std::int64_t i = 0; i < 3; ++i)
            for (std::int64_t j = 0; j < d; ++j) rows.row(i)[j] = static_cast<double>((i + 2) * j * j);
        linalg::solve_lower(a.view(), rows.view());
        for (std::int64_t i = 0; i < 3; ++i) {
            for (std::int64_t j = 0; j < d; ++j)
                wrong += rows.row(i)[j] != (j == 0 ? 0 : static_cast<double>((i + 2) * (2 * j - 1)));
        }
        BOOST_TEST(wrong == 0, "d = " << d);
    }
}

BOOST_AUTO_TEST_CASE(scatter_adds_up_below_the_diagonal_alone) {
    linalg::open_blas();
    const std::int64_t n = 37, d = 19;
    Matrix<double> rows(n, d), sum = filled(d, d, poison);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < d; ++j) rows.row(i)[j] = static_cast<double>((i * 7 + j * 5) % 11 - 5);
    for (std::int64_t i = 0; i < d; ++i)
        for (std::int64_t j = 0; j <= i; ++j) sum.row(i)[j] = 1000;
    linalg::add_scatter(rows.view(), sum.view());
    linalg::add_scatter(rows.view().block(0, 0), sum.view());
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j < d; ++j) {
            double expected = 1000;
            for (std::int64_t r = 0; r < n; ++r) expected += rows.row(r)[i] * rows.row(r)[j];
            BOOST_REQUIRE_EQUAL(sum.row(i)[j], j <= i ? expected : poison);
        }
    }
    // In strips, then taken away again: whole numbers, so exactly.
    Matrix<double> strips = filled(d, d, poison);
    for (std::int64_t i = 0; i < d; ++i)
        for (std::int64_t j = 0; j <= i; ++j) strips.row(i)[j] = 1000;
    for (const auto& [first, count] : {std::pair(0, 5), std::pair(5, 0), std::pair(5, 13), std::pair(18, 1)})
        linalg::add_scatter_rows(rows.view(), strips.view(), first, count);
    for (std::int64_t i = 0; i < d; ++i)
        BOOST_TEST((std::ranges::equal(strips.row(i), sum.row(i))), "row " << i);
    linalg::add_scatter(rows.view(), sum.view(), -1);
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j < d; ++j) BOOST_REQUIRE_EQUAL(sum.row(i)[j], j <= i ? 1000 : poison);
    }
}

// Of Hilbert's matrix of 6 (condition 1.5e7) the factor gives the matrix back: |L L^T - A| <= (d + 1) eps |A|
// holds for every positive definite A (Higham 2002, theorem 10.3).
BOOST_AUTO_TEST_CASE(the_factor_gives_the_matrix_back) {
    linalg::open_blas();
    const std::int64_t d = 6;
    Matrix<double> a(d, d);
    const auto hilbert = [](std::int64_t i, std::int64_t j) { return 1.0 / static_cast<double>(i + j + 1); };
    for (std::int64_t i = 0; i < d; ++i)
        for (std::int64_t j = 0; j < d; ++j) a.row(i)[j] = hilbert(i, j);
    BOOST_REQUIRE(linalg::cholesky(a.view()));
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
            double sum = 0;
            for (std::int64_t l = 0; l <= j; ++l) sum += a.row(i)[l] * a.row(j)[l];
            BOOST_CHECK_SMALL(sum - hilbert(i, j), (d + 1) * eps * std::sqrt(hilbert(i, i) * hilbert(j, j)));
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_positive_definite_is_told) {
    linalg::open_blas();
    Matrix<double> flat = filled(3, 3, 1), nan = of_ones(3), zero = filled(1, 1, 0), none(0, 0);
    BOOST_TEST(!linalg::cholesky(flat.view()));
    BOOST_TEST(!linalg::cholesky(zero.view()));
    BOOST_TEST(linalg::cholesky(none.view()));
    for (const std::int64_t at : {0, 1, 2}) {
        nan = of_ones(3);
        nan.row(at)[0] = std::nan("");
        BOOST_TEST(!linalg::cholesky(nan.view()));
    }
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_fit_are_refused) {
    Matrix<double> wide(2, 3), square(3, 3), two(2, 2);
    BOOST_CHECK_THROW((void)linalg::cholesky(wide.view()), InternalError);
    BOOST_CHECK_THROW(linalg::add_scatter(wide.view(), two.view()), InternalError);
    BOOST_CHECK_THROW(linalg::add_scatter_rows(two.view(), two.view(), 1, 2), InternalError);
    BOOST_CHECK_THROW(linalg::add_scatter_rows(wide.view(), two.view(), 0, 2), InternalError);
    BOOST_CHECK_THROW(linalg::solve_lower(two.view(), wide.view()), InternalError);
    BOOST_CHECK_THROW(linalg::solve_lower(wide.view(), square.view()), InternalError);
}

BOOST_AUTO_TEST_SUITE_END()
