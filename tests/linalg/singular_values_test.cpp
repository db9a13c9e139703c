#include "candor/linalg/singular_values.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/base/sum.hpp"

using namespace candor;

BOOST_AUTO_TEST_SUITE(linalg_singular_values)

BOOST_AUTO_TEST_CASE(a_scaled_permutation_has_its_scales_in_descending_order) {
    const std::vector<float> scales = {3, -7, 0, 0.5F, 1024};
    Matrix<float> a(5, 9);
    for (std::int64_t i = 0; i < 5; ++i) {
        std::ranges::fill(a.row(i), 0.0F);
        a.row(i)[static_cast<std::size_t>((2 * i + 3) % 9)] = scales[static_cast<std::size_t>(i)];
    }
    const std::vector<double> values = linalg::singular_values(a.view());
    const std::vector<double> expected = {1024, 7, 3, 0.5, 0};
    BOOST_REQUIRE_EQUAL(values.size(), expected.size());
    // A few units in the last place of the largest.
    for (std::size_t i = 0; i < values.size(); ++i)
        BOOST_TEST(std::abs(values[i] - expected[i]) <= 1024 * 0x1p-50);
}

// With equal entries c the only value above 0 is c sqrt(m n), tall or wide; the view's stride is not its
// width.
BOOST_AUTO_TEST_CASE(rank_one_of_any_shape) {
    for (const auto& [m, n] :
         {std::pair{1, 1}, std::pair{1, 40}, std::pair{40, 1}, std::pair{256, 33}, std::pair{33, 256}}) {
        Matrix<float> a(m, n);
        for (std::int64_t i = 0; i < m; ++i) std::ranges::fill(a.row(i), 0.75F);
        const std::vector<double> values = linalg::singular_values(a.view());
        BOOST_REQUIRE_EQUAL(values.size(), static_cast<std::size_t>(std::min(m, n)));
        const double expected = 0.75 * std::sqrt(static_cast<double>(m) * n);
        BOOST_TEST(std::abs(values[0] - expected) <= 1e-14 * expected, m << " x " << n);
        for (std::size_t i = 1; i < values.size(); ++i) BOOST_TEST(values[i] <= 1e-13 * expected);
    }
}

// Their squares add up to the squared entries, and the largest is at least |A x| / |x| for every x.
BOOST_AUTO_TEST_CASE(random_matrices_keep_their_norm_and_no_vector_is_stretched_further) {
    const Stream stream(4, "singular values", 0);
    Matrix<float> a(96, 250);
    std::uint64_t next = 0;
    double squares = 0;
    for (std::int64_t i = 0; i < a.rows(); ++i) {
        for (float& v : a.row(i)) v = static_cast<float>(stream.uniform(next++) - 0.5);
        squares += dot(std::as_const(a).row(i), std::as_const(a).row(i));
    }
    const std::vector<double> values = linalg::singular_values(a.view());
    double sum = 0;
    for (const double v : values) sum += v * v;
    BOOST_TEST(std::abs(sum - squares) <= 1e-12 * squares);
    std::vector<float> x(250, 1);
    for (int trial = 0; trial < 50; ++trial) {
        // Towards the direction that is stretched most, where the bound is tight.
        std::vector<double> y(250);
        double stretched = 0;
        for (std::int64_t i = 0; i < a.rows(); ++i) {
            const double along = dot(std::as_const(a).row(i), std::span<const float>(x));
            stretched += along * along;
            for (std::size_t j = 0; j < y.size(); ++j) y[j] += along * a.row(i)[j];
        }
        const double length = norm(std::span<const float>(x));
        BOOST_TEST(std::sqrt(stretched) / length <= values[0] * (1 + 1e-14));
        const double scale = norm(std::span<const double>(y));
        for (std::size_t j = 0; j < y.size(); ++j) x[j] = static_cast<float>(y[j] / scale);
        if (trial == 49) BOOST_TEST(std::sqrt(stretched) / length >= values[0] * (1 - 1e-3));
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_is_refused) {
    Matrix<float> a(3, 3);
    for (std::int64_t i = 0; i < 3; ++i) std::ranges::fill(a.row(i), 1.0F);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        a.row(1)[2] = bad;
        BOOST_CHECK_EXCEPTION(
            linalg::singular_values(a.view()), InternalError, [](const InternalError& error) {
                return std::string(error.what()).find("row 1 of a matrix is not finite") != std::string::npos;
            });
    }
    BOOST_TEST(linalg::singular_values(Matrix<float>(0, 4).view()).empty());
}

BOOST_AUTO_TEST_SUITE_END()
