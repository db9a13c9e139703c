#include "candor/linalg/eigenvectors.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/sum.hpp"
#include "candor/linalg/gemm.hpp"

using namespace candor;

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr double poison = std::numeric_limits<double>::quiet_NaN();  // above the diagonal: not to be read

/// 2 on the diagonal, -1 beside it.
Matrix<double> second_differences(std::int64_t d) {
    Matrix<double> a(d, d);
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j < d; ++j) a.row(i)[j] = j > i ? poison : j == i ? 2 : j == i - 1 ? -1 : 0;
    }
    return a;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(linalg_eigenvectors)

// The matrix of second differences has the values 2 - 2 cos(k pi / (d + 1)) and vectors of sines. A value may
// be off by d ulps of the largest, 4; a vector by that over its gap, which is at least 3 (pi / (d + 1))^2.
BOOST_AUTO_TEST_CASE(values_and_vectors_known_beforehand) {
    linalg::open_blas();
    for (const std::int64_t d : {1, 2, 7, 64, 150}) {
        const Matrix<double> a = second_differences(d);
        const linalg::Eigenvectors found = linalg::eigenvectors(a.view());
        BOOST_REQUIRE_EQUAL(std::ssize(found.values), d);
        const double step = std::numbers::pi / static_cast<double>(d + 1),
                     off = 4 * static_cast<double>(d) * eps;
        for (std::int64_t k = 1; k <= d; ++k) {
            const double angle = step * static_cast<double>(k);
            BOOST_TEST(std::abs(found.values[static_cast<std::size_t>(k - 1)] - (2 - 2 * std::cos(angle))) <=
                       off);
            std::vector<double> sines;
            for (std::int64_t i = 1; i <= d; ++i)
                sines.push_back(std::sqrt(2 / static_cast<double>(d + 1)) *
                                std::sin(angle * static_cast<double>(i)));
            const std::span<const double> vector = found.rows.row(k - 1);
            BOOST_TEST(std::abs(norm(vector) - 1) <= static_cast<double>(d) * eps);
            const double sign = dot(vector, sines) < 0 ? -1 : 1;
            for (std::size_t i = 0; i < sines.size(); ++i)
                BOOST_TEST(std::abs(sign * vector[i] - sines[i]) <= off / (3 * step * step) + 8 * eps,
                           "d = " << d << ", vector " << k << ", number " << i);
        }
    }
}

BOOST_AUTO_TEST_CASE(bad_matrices_are_refused) {
    BOOST_CHECK_THROW((void)linalg::eigenvectors(Matrix<double>(2, 3).view()), InternalError);
    Matrix<double> spoilt = second_differences(3);
    spoilt.row(2)[1] = poison;
    BOOST_CHECK_THROW((void)linalg::eigenvectors(spoilt.view()), InternalError);
    BOOST_TEST(linalg::eigenvectors(Matrix<double>(0, 0).view()).values.empty());
}

BOOST_AUTO_TEST_SUITE_END()
