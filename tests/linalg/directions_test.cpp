#include "candor/linalg/directions.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/sum.hpp"
#include "candor/linalg/gemm.hpp"
#include "neighbors/made_rows.hpp"

using namespace candor;
using namespace candor::testing;
using linalg::Directions;

namespace {

using Square = std::vector<std::vector<double>>;

/// Sum over rows of their outer products.
Square moments_of(const Matrix<float>& rows) {
    const auto d = static_cast<std::size_t>(rows.cols());
    Square sum(d, std::vector<double>(d));
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
        const std::span<const float> row = rows.row(i);
        for (std::size_t a = 0; a < d; ++a) {
            for (std::size_t b = 0; b < d; ++b) sum[a][b] += static_cast<double>(row[a]) * row[b];
        }
    }
    return sum;
}

/// Eigenvalues of a symmetric matrix, largest first, by Jacobi's rotations.
std::vector<double> eigenvalues(Square a) {
    const std::size_t n = a.size();
    for (int sweep = 0; sweep < 30; ++sweep) {
        for (std::size_t p = 0; p < n; ++p) {
            for (std::size_t q = p + 1; q < n; ++q) {
                if (a[p][q] == 0) continue;
                const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
                const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::hypot(theta, 1));
                const double c = 1 / std::hypot(t, 1), s = t * c;
                for (std::size_t k = 0; k < n; ++k) {
                    const double kp = a[k][p], kq = a[k][q];
                    a[k][p] = c * kp - s * kq;
                    a[k][q] = s * kp + c * kq;
                }
                for (std::size_t k = 0; k < n; ++k) {
                    const double pk = a[p][k], qk = a[q][k];
                    a[p][k] = c * pk - s * qk;
                    a[q][k] = s * pk + c * qk;
                }
            }
        }
    }
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(a[i][i]);
    std::ranges::sort(values, std::greater<>());
    return values;
}

/// Squares of the lengths of `rows` along each direction, summed.
std::vector<double> captured(const Matrix<float>& rows, const Matrix<float>& directions) {
    std::vector<double> sums;
    for (std::int64_t i = 0; i < directions.rows(); ++i) {
        sums.push_back(0);
        for (std::int64_t j = 0; j < rows.rows(); ++j) {
            const double along = dot(directions.row(i), rows.row(j));
            sums.back() += along * along;
        }
    }
    return sums;
}

double sum_of(const std::vector<double>& values, std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < std::min(count, std::ssize(values)); ++i)
        sum += values[static_cast<std::size_t>(i)];
    return sum;
}

/// That rows rows^T is I as nearly as said: no vector is stretched by more than the defect.
void check_orthonormal(const Directions& directions, const std::string& what) {
    const std::int64_t n = directions.rows.rows();
    Square off(static_cast<std::size_t>(n), std::vector<double>(static_cast<std::size_t>(n)));
    for (std::size_t i = 0; i < off.size(); ++i) {
        for (std::size_t j = 0; j < off.size(); ++j)
            off[i][j] = dot(directions.rows.row(static_cast<std::int64_t>(i)),
                            directions.rows.row(static_cast<std::int64_t>(j))) -
                        (i == j);
    }
    const std::vector<double> values = eigenvalues(off);
    if (n > 0)
        BOOST_TEST(std::max(std::abs(values.front()), std::abs(values.back())) <= directions.defect, what);
    // Rounding each number of unit rows to single precision moves a product by 2^-24 at most, n^2 of them.
    BOOST_TEST(directions.defect <= static_cast<double>(n + 1) * 0x1p-23, what);
}

Matrix<float> copy_of(const Matrix<float>& matrix) {
    Matrix<float> out(matrix.rows(), matrix.cols());
    for (std::int64_t i = 0; i < matrix.rows(); ++i) std::ranges::copy(matrix.row(i), out.row(i).begin());
    return out;
}

/// Rows whose lengths along hidden directions, an arbitrary basis, are `scale(0)`, `scale(1)`, ...
Matrix<float> spectrum(std::int64_t rows, std::int64_t d, const std::function<double(std::int64_t)>& scale) {
    Matrix<float> out = gaussian<float>(rows, d);
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < d; ++j) out.row(i)[j] *= static_cast<float>(scale(j));
    }
    // Reflections on two vectors: of the axes no trace is left.
    const Matrix<float> mirrors = gaussian<float>(2, d);
    for (std::int64_t m = 0; m < 2; ++m) {
        const std::span<const float> mirror = mirrors.row(m);
        for (std::int64_t i = 0; i < rows; ++i) {
            const double along = 2 * dot(std::as_const(out).row(i), mirror) / dot(mirror, mirror);
            for (std::size_t j = 0; j < mirror.size(); ++j)
                out.row(i)[j] -= static_cast<float>(along * mirror[j]);
        }
    }
    return out;
}

const Stream stream(4, "directions", 0);

}  // namespace

BOOST_AUTO_TEST_SUITE(linalg_directions)

BOOST_AUTO_TEST_CASE(the_longest_directions_hold_as_much_of_the_sample_as_the_best_ones) {
    linalg::open_blas();
    const std::int64_t d = 48;
    const std::vector<std::pair<std::string, std::function<double(std::int64_t)>>> samples{
        {"six strong", [](std::int64_t j) { return j < 6 ? 1 : 0.05; }},
        {"one strong", [](std::int64_t j) { return j == 5 ? 10 : 1; }},
        {"falling by a tenth", [](std::int64_t j) { return std::pow(0.9, j); }},
        {"falling as 1 / j", [](std::int64_t j) { return 1.0 / (1 + static_cast<double>(j)); }}};
    for (const auto& [name, scale] : samples) {
        const Matrix<float> rows = spectrum(300, d, scale);
        const std::vector<double> best = eigenvalues(moments_of(rows));
        for (const std::int64_t count : {1, 2, 6, 16, 40, 48}) {
            const Directions found = linalg::leading_directions(rows.view(), count, stream);
            const std::string what = name + ", " + std::to_string(count);
            BOOST_TEST(found.rows.rows() == count, what);
            BOOST_TEST(found.rows.cols() == d, what);
            check_orthonormal(found, what);
            const std::vector<double> lengths = captured(rows, found.rows);
            // Two iterations do not tell the very longest from those nearly as long, where one or two are
            // asked for of many.
            BOOST_TEST(sum_of(lengths, count) >= (count < 6 ? 0.75 : 0.95) * sum_of(best, count), what);
            BOOST_TEST(sum_of(lengths, count) <= (1 + 1e-5) * sum_of(best, count), what);
            // The longest first, to single precision.
            for (std::size_t i = 1; i < lengths.size(); ++i)
                BOOST_TEST(lengths[i] <= lengths[i - 1] * (1 + 1e-4), what);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_sample_of_few_directions_has_no_more) {
    linalg::open_blas();
    const std::int64_t d = 30;
    const Matrix<float> axes = gaussian<float>(3, d);
    Matrix<float> rows(80, d);
    for (std::int64_t i = 0; i < 80; ++i) {
        for (std::size_t j = 0; j < 30; ++j)
            rows.row(i)[j] = static_cast<float>(i % 7 - 3) * axes.row(0)[j] +
                             static_cast<float>(i % 5 - 2) * axes.row(1)[j] +
                             static_cast<float>(i % 3 - 1) * axes.row(2)[j];
    }
    for (const std::int64_t count : {1, 2, 3, 10, 30}) {
        const Directions found = linalg::leading_directions(rows.view(), count, stream);
        BOOST_TEST(found.rows.rows() == std::min<std::int64_t>(count, 3));
        check_orthonormal(found, std::to_string(count));
        const std::vector<double> best = eigenvalues(moments_of(rows));
        BOOST_TEST(sum_of(captured(rows, found.rows), count) >= 0.75 * sum_of(best, count));
        // All of it where there is room.
        if (count >= 3) BOOST_TEST(sum_of(captured(rows, found.rows), 3) >= (1 - 1e-5) * sum_of(best, 3));
    }
    // Fewer rows than directions asked for; one row; equal rows.
    BOOST_TEST(linalg::leading_directions(gaussian<float>(4, d).view(), 20, stream).rows.rows() == 4);
    const Matrix<float> one = gaussian<float>(1, d);
    Matrix<float> alike(9, d);
    for (std::int64_t i = 0; i < 9; ++i) std::ranges::copy(one.row(0), alike.row(i).begin());
    for (const Matrix<float>* sample : std::initializer_list<const Matrix<float>*>{&one, &alike}) {
        const Directions found = linalg::leading_directions(sample->view(), 5, stream);
        BOOST_REQUIRE(found.rows.rows() == 1);
        BOOST_TEST(std::abs(std::abs(dot(found.rows.row(0), one.row(0))) / norm(one.row(0)) - 1) < 1e-6);
    }
}

BOOST_AUTO_TEST_CASE(a_sample_of_nothing_has_no_direction) {
    linalg::open_blas();
    Matrix<float> zero(20, 10);
    for (std::int64_t i = 0; i < 20; ++i) std::ranges::fill(zero.row(i), 0.0F);
    BOOST_TEST(linalg::leading_directions(zero.view(), 4, stream).rows.rows() == 0);
    BOOST_TEST(linalg::leading_directions(gaussian<float>(20, 10).view(), 0, stream).rows.rows() == 0);
    BOOST_TEST(linalg::leading_directions(Matrix<float>(0, 10).view(), 4, stream).rows.rows() == 0);
    BOOST_CHECK_THROW(linalg::leading_directions(zero.view(), 11, stream), InternalError);
}

BOOST_AUTO_TEST_CASE(one_dimension_and_tiny_and_huge_rows) {
    linalg::open_blas();
    const Directions one = linalg::leading_directions(gaussian<float>(9, 1).view(), 1, stream);
    BOOST_REQUIRE(one.rows.rows() == 1);
    BOOST_TEST(std::abs(std::abs(one.rows.row(0)[0]) - 1) < 1e-6);
    const Matrix<float> rows = spectrum(50, 12, [](std::int64_t j) { return j < 3 ? 1 : 0.1; });
    for (const float size : {1e-6F, 1e6F}) {
        Matrix<float> scaled = copy_of(rows);
        for (std::int64_t i = 0; i < 50; ++i) {
            for (float& v : scaled.row(i)) v *= size;
        }
        const Directions found = linalg::leading_directions(scaled.view(), 3, stream);
        BOOST_TEST(found.rows.rows() == 3);
        check_orthonormal(found, std::to_string(size));
        BOOST_TEST(sum_of(captured(rows, found.rows), 3) >= 0.95 * sum_of(eigenvalues(moments_of(rows)), 3));
    }
}

BOOST_AUTO_TEST_CASE(the_same_sample_and_stream_give_the_same_bits) {
    linalg::open_blas();
    const Matrix<float> rows = spectrum(200, 40, [](std::int64_t j) { return std::pow(0.8, j); });
    const Directions a = linalg::leading_directions(rows.view(), 9, stream);
    const Directions b = linalg::leading_directions(copy_of(rows).view(), 9, stream);
    BOOST_TEST(a.defect == b.defect);
    for (std::int64_t i = 0; i < 9; ++i) BOOST_TEST(std::ranges::equal(a.rows.row(i), b.rows.row(i)));
}

BOOST_AUTO_TEST_SUITE_END()
