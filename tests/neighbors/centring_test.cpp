#include "candor/neighbors/centring.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/error.hpp"
#include "made_rows.hpp"

using namespace candor;
using namespace candor::testing;
using neighbors::Centring;
using neighbors::StoredRows;

namespace {

template <class T>
long double exact_norm(std::span<const T> row) {
    long double square = 0;
    for (const T v : row) square += static_cast<long double>(v) * v;
    return std::sqrt(square);
}

template <class T>
long double exact_cosine(std::span<const T> a, std::span<const T> b) {
    long double product = 0;
    for (std::size_t i = 0; i < a.size(); ++i) product += static_cast<long double>(a[i]) * b[i];
    return product / (exact_norm(a) * exact_norm(b));
}

template <class T>
Matrix<T> copy_of(const Matrix<T>& matrix) {
    Matrix<T> out(matrix.rows(), matrix.cols());
    for (std::int64_t i = 0; i < matrix.rows(); ++i) std::ranges::copy(matrix.row(i), out.row(i).begin());
    return out;
}

/// Centres rows on the mean of a sample and holds what comes out against what is promised.
template <class T>
void check(const Matrix<T>& rows, Matrix<T> sample, const std::string& what) {
    const std::int64_t n = rows.rows(), d = rows.cols();
    std::vector<long double> mean(static_cast<std::size_t>(d));
    for (std::int64_t i = 0; i < sample.rows(); ++i) {
        const std::span<const T> row = std::as_const(sample).row(i);
        const long double length = exact_norm(row);
        for (std::size_t j = 0; j < mean.size(); ++j)
            mean[j] += row[j] / length / static_cast<long double>(sample.rows());
    }
    const Centring centring{StoredRows(std::move(sample))};
    Matrix<float> centred(n, d);
    std::vector<Centring::Row> facts;
    for (std::int64_t i = 0; i < n; ++i) {
        const std::span<const T> row = std::as_const(rows).row(i);
        facts.push_back(centring.centre(row, centred.row(i)));
        const long double length = exact_norm(row);
        // A norm is a sum of d / 16 products a lane, four folds and a root.
        BOOST_TEST(
            std::abs(facts.back().norm - length) <= (static_cast<double>(d) / 16 + 8) * 0x1p-53 * length,
            what);
        std::int64_t off = 0;
        for (std::size_t j = 0; j < mean.size(); ++j) {
            const long double exact = row[j] / length - mean[j];
            // Rounded once to single precision, after sums in double of numbers below 1.
            off += std::abs(centred.row(i)[j] - exact) >
                   0x1p-24 * std::abs(exact) + (static_cast<double>(d) + 16) * 0x1p-52;
        }
        BOOST_TEST(off == 0, what << ", row " << i);
        const long double radius = exact_norm(std::span<const float>(centred.row(i)));
        BOOST_TEST(facts.back().radius >= radius, what);
        BOOST_TEST(facts.back().radius <= radius * (1 + 1e-5), what);
    }
    std::int64_t far = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
            long double score = static_cast<long double>(facts[a].offset) + facts[b].offset;
            for (std::size_t c = 0; c < mean.size(); ++c)
                score += static_cast<long double>(centred.row(i)[c]) * centred.row(j)[c];
            far += std::abs(score - exact_cosine(rows.row(i), rows.row(j))) >
                   neighbors::product_error(d, facts[a].radius, facts[b].radius);
        }
    }
    BOOST_TEST(far == 0, what << ": scores");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(neighbors_centring)

// Lengths about 256, a block of the centring, too.
BOOST_AUTO_TEST_CASE(a_centred_row_and_its_offset_give_its_cosines) {
    for (const std::int64_t d : {1, 2, 17, 255, 256, 257, 600}) {
        const std::string what = "d = " + std::to_string(d);
        check(gaussian<float>(20, d), gaussian<float>(20, d), what + ", float");
        check(gaussian<double>(20, d), gaussian<double>(20, d), what + ", double");
        check(cone<float>(20, d, 1e-3), cone<float>(20, d, 1e-3), what + ", a cone");
        // Any centre is right: of one row, of rows from elsewhere.
        check(gaussian<float>(20, d), gaussian<float>(1, d), what + ", a sample of one");
        check(cone<float>(20, d, 1e-3), gaussian<float>(7, d), what + ", another sample");
    }
}

// Rows about a common direction are short once centred: that is what the centre is for.
BOOST_AUTO_TEST_CASE(rows_of_a_cone_are_short) {
    const Matrix<double> rows = cone<double>(50, 64, 1e-3);
    const Centring centring{StoredRows(copy_of(rows))};
    std::vector<float> out(64);
    for (std::int64_t i = 0; i < 50; ++i) BOOST_TEST(centring.centre(rows.row(i), out).radius < 2e-3);
    const Centring elsewhere{StoredRows(gaussian<double>(1, 64))};
    BOOST_TEST(elsewhere.centre(rows.row(0), out).radius > 0.1);
}

BOOST_AUTO_TEST_CASE(a_row_without_a_direction_is_a_fault_of_ours) {
    for (const double bad :
         {0.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        Matrix<double> rows = gaussian<double>(3, 5);
        std::ranges::fill(rows.row(1), bad);
        BOOST_CHECK_THROW(Centring{StoredRows(copy_of(rows))}, InternalError);
        const Centring centring{StoredRows(gaussian<double>(3, 5))};
        std::vector<float> out(5);
        BOOST_CHECK_NO_THROW(centring.centre(std::as_const(rows).row(0), out));
        BOOST_CHECK_THROW(centring.centre(std::as_const(rows).row(1), out), InternalError);
    }
}

BOOST_AUTO_TEST_CASE(rows_of_doubles_are_scaled_exactly_and_floats_are_left) {
    Matrix<double> rows = gaussian<double>(8, 9);
    for (std::int64_t i = 0; i < 8; ++i) {
        for (double& v : rows.row(i)) v = std::ldexp(v, static_cast<int>(i) * 250 - 1000);
    }
    StoredRows scaled(copy_of(rows));
    neighbors::scale_to_unit_range(scaled);
    const Matrix<double>& out = std::get<Matrix<double>>(scaled);
    for (std::int64_t i = 0; i < 8; ++i) {
        double largest = 0;
        for (const double v : out.row(i)) largest = std::max(largest, std::abs(v));
        BOOST_TEST(largest >= 1);
        BOOST_TEST(largest < 2);
        const int exponent = std::ilogb(rows.row(i)[0]) - std::ilogb(out.row(i)[0]);
        for (std::size_t j = 0; j < 9; ++j) BOOST_TEST(std::ldexp(out.row(i)[j], exponent) == rows.row(i)[j]);
    }
    // Zero and infinite rows stay what they are, to be refused by whoever takes their norm.
    Matrix<double> odd(2, 3);
    std::ranges::fill(odd.row(0), 0.0);
    std::ranges::fill(odd.row(1), std::numeric_limits<double>::infinity());
    StoredRows still(std::move(odd));
    neighbors::scale_to_unit_range(still);
    BOOST_TEST(std::get<Matrix<double>>(still).row(0)[1] == 0);
    BOOST_TEST(std::isinf(std::get<Matrix<double>>(still).row(1)[1]));

    const Matrix<float> floats = gaussian<float>(4, 5);
    StoredRows left(copy_of(floats));
    neighbors::scale_to_unit_range(left);
    for (std::int64_t i = 0; i < 4; ++i)
        BOOST_TEST(std::ranges::equal(std::get<Matrix<float>>(left).row(i), floats.row(i)));
}

BOOST_AUTO_TEST_SUITE_END()
