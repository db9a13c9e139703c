#include "candor/neighbors/leading_part.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/random.hpp"
#include "candor/base/sum.hpp"
#include "candor/linalg/gemm.hpp"
#include "made_rows.hpp"

using namespace candor;
using namespace candor::testing;
using neighbors::LeadingPart;

namespace {

template <class T>
long double exact_dot(std::span<const T> a, std::span<const T> b) {
    long double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<long double>(a[i]) * b[i];
    return sum;
}

linalg::Directions directions_of(std::int64_t dimension, std::int64_t count) {
    return linalg::leading_directions(gaussian<float>(3 * dimension, dimension).view(), count,
                                      Stream(5, "directions", 0));
}

/// An orthonormal basis of what the directions span, in extended precision.
std::vector<std::vector<long double>> basis_of(const Matrix<float>& directions) {
    std::vector<std::vector<long double>> basis;
    for (std::int64_t i = 0; i < directions.rows(); ++i) {
        std::vector<long double> row(directions.row(i).begin(), directions.row(i).end());
        for (int pass = 0; pass < 2; ++pass) {
            for (const auto& other : basis) {
                const long double along =
                    exact_dot(std::span<const long double>(row), std::span<const long double>(other));
                for (std::size_t j = 0; j < row.size(); ++j) row[j] -= along * other[j];
            }
        }
        const std::span<const long double> view(row);
        const long double length = std::sqrt(exact_dot(view, view));
        for (long double& v : row) v /= length;
        basis.push_back(row);
    }
    return basis;
}

/// Length of what a basis leaves of a row.
long double rest_of(std::span<const float> row, const std::vector<std::vector<long double>>& basis) {
    std::vector<long double> left(row.begin(), row.end());
    for (const auto& one : basis) {
        const long double along =
            exact_dot(std::span<const long double>(left), std::span<const long double>(one));
        for (std::size_t j = 0; j < left.size(); ++j) left[j] -= along * one[j];
    }
    const std::span<const long double> view(left);
    return std::sqrt(exact_dot(view, view));
}

struct Split {
    Matrix<float> rows, leading;
    std::vector<double> radius;
    std::vector<float> rest;
};

Split split(const LeadingPart& part, Matrix<float> rows) {
    Split out{std::move(rows), {}, {}, {}};
    const std::int64_t n = out.rows.rows();
    out.leading = Matrix<float>(n, part.size());
    out.rest.resize(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i)
        out.radius.push_back(norm(std::as_const(out.rows).row(i)) * (1 + 1e-6));  // as Centring rounds it up
    part.split(out.rows.view(), out.radius, out.leading.view(), out.rest);
    return out;
}

/// Single-precision products of two rows, summed forwards, backwards and fused.
std::vector<float> products_of(std::span<const float> a, std::span<const float> b) {
    float forward = 0, backward = 0, fused = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        forward += a[i] * b[i];
        backward += a[a.size() - 1 - i] * b[a.size() - 1 - i];
        fused = std::fma(a[i], b[i], fused);
    }
    return {forward, backward, fused};
}

/// Holds every pair's bound against its product. @returns how far above the products the bounds lie at most,
/// as a share of the radii.
double check(const LeadingPart& part, const Matrix<float>& directions, Matrix<float> rows,
             const std::string& what) {
    linalg::open_blas();
    const auto basis = basis_of(directions);
    const Split made = split(part, std::move(rows));
    const std::int64_t n = made.rows.rows();
    double widest = 0;
    std::int64_t below = 0, short_rests = 0;
    Matrix<float> along(n, n);
    linalg::product(made.leading.view(), made.leading.view(), along.view());
    for (std::int64_t i = 0; i < n; ++i) {
        const auto r = static_cast<std::size_t>(i);
        const auto a = std::as_const(made.rows).row(i);
        short_rests += made.rest[r] < rest_of(a, basis);
        for (std::int64_t j = 0; j < n; ++j) {
            const auto c = static_cast<std::size_t>(j);
            const auto b = std::as_const(made.rows).row(j);
            const double slack = part.slack(made.radius[r], made.radius[c]);
            // As a census makes it, by itself and fused, and the slack beside it.
            const float bounds[] = {along.row(i)[c] + made.rest[r] * made.rest[c],
                                    std::fma(made.rest[r], made.rest[c], along.row(i)[c])};
            std::vector<float> products = products_of(a, b);
            for (const float bound : bounds) {
                for (const float product : products) below += product > bound + slack;
                below += exact_dot(a, b) > static_cast<long double>(bound) + slack;
                const double radii = made.radius[r] * made.radius[c];
                if (radii > 0)
                    widest = std::max(widest, static_cast<double>(bound + slack - exact_dot(a, b)) / radii);
            }
        }
    }
    BOOST_TEST(below == 0, what);
    BOOST_TEST(short_rests == 0, what);
    return widest;
}

Matrix<float> copy_of(const Matrix<float>& matrix) {
    Matrix<float> out(matrix.rows(), matrix.cols());
    for (std::int64_t i = 0; i < matrix.rows(); ++i) std::ranges::copy(matrix.row(i), out.row(i).begin());
    return out;
}

/// Rows of the span of the directions, and a little of everything else.
Matrix<float> within(const Matrix<float>& directions, std::int64_t rows, double besides) {
    Normal normal("within");
    Matrix<float> out(rows, directions.cols());
    for (std::int64_t i = 0; i < rows; ++i) {
        std::vector<double> sum(out.row(i).size());
        for (std::int64_t r = 0; r < directions.rows(); ++r) {
            const double along = normal();
            for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += along * directions.row(r)[j];
        }
        for (std::size_t j = 0; j < sum.size(); ++j)
            out.row(i)[j] = static_cast<float>(sum[j] + besides * normal());
    }
    return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(neighbors_leading_part)

BOOST_AUTO_TEST_CASE(no_bound_is_below_its_product) {
    for (const auto& [d, r] :
         {std::pair<std::int64_t, std::int64_t>{40, 5}, {3, 1}, {1, 1}, {130, 17}, {24, 23}}) {
        linalg::Directions directions = directions_of(d, r);
        const Matrix<float> kept = copy_of(directions.rows);
        const LeadingPart part(std::move(directions), d);
        BOOST_TEST(part.size() == r);
        const std::string what = std::to_string(r) + " of " + std::to_string(d);
        check(part, kept, gaussian<float>(50, d), what + ", random rows");
        check(part, kept, within(kept, 40, 0), what + ", rows in the span");
        check(part, kept, within(kept, 40, 1e-3), what + ", rows near the span");
        Matrix<float> sizes = gaussian<float>(40, d);
        for (std::int64_t i = 0; i < 40; ++i) {
            for (float& v : sizes.row(i)) v *= std::ldexp(1.0F, static_cast<int>(i % 5) * 8 - 24);
        }
        check(part, kept, std::move(sizes), what + ", rows of many sizes");
    }
}

// In the span the rest is what rounding leaves: with e the error of a part and delta the directions' defect,
// s <= |a| sqrt(2 e + delta + 3e-6), 3e-6 for the radius that is rounded up by 1e-6.
BOOST_AUTO_TEST_CASE(rows_in_the_span_have_no_rest_and_their_bound_is_the_product) {
    linalg::open_blas();
    const std::int64_t d = 40, r = 5;
    linalg::Directions directions = directions_of(d, r);
    const Matrix<float> kept = copy_of(directions.rows);
    const double most = 2 * d * 0x1p-24 * std::sqrt(r) * 1.01 + directions.defect + 3e-6;
    const LeadingPart part(std::move(directions), d);
    const Split made = split(part, within(kept, 40, 0));
    for (std::size_t i = 0; i < made.rest.size(); ++i)
        BOOST_TEST(made.rest[i] <= made.radius[i] * std::sqrt(most));
    BOOST_TEST(check(part, kept, within(kept, 40, 0), "in the span") <= most + part.slack(1, 1) + 1e-6);
    BOOST_TEST(most < 1e-4);

    // All directions: nothing is left of any row.
    linalg::Directions all = directions_of(24, 24);
    const Matrix<float> whole = copy_of(all.rows);
    const double least = 2 * 24 * 0x1p-24 * std::sqrt(24) * 1.01 + all.defect + 3e-6;
    const LeadingPart complete(std::move(all), 24);
    BOOST_TEST(complete.size() == 24);
    BOOST_TEST(check(complete, whole, gaussian<float>(50, 24), "all directions") <=
               least + complete.slack(1, 1) + 1e-6);
}

// Equal rows, opposite to or beside the span: the bound is met, so it can be no lower.
BOOST_AUTO_TEST_CASE(the_bound_is_met_where_the_rests_point_one_way) {
    linalg::open_blas();
    const std::int64_t d = 60;
    linalg::Directions directions = directions_of(d, 7);
    const Matrix<float> kept = copy_of(directions.rows);
    const LeadingPart part(std::move(directions), d);
    const Matrix<float> one = gaussian<float>(1, d);
    Matrix<float> rows(20, d);
    for (std::int64_t i = 0; i < 20; ++i) std::ranges::copy(one.row(0), rows.row(i).begin());
    BOOST_TEST(check(part, kept, std::move(rows), "equal rows") < 1e-4);
}

BOOST_AUTO_TEST_CASE(rows_of_no_length_have_a_bound_of_nothing) {
    linalg::open_blas();
    linalg::Directions directions = directions_of(16, 3);
    const Matrix<float> kept = copy_of(directions.rows);
    const LeadingPart part(std::move(directions), 16);
    Matrix<float> rows = gaussian<float>(4, 16);
    std::ranges::fill(rows.row(1), 0.0F);
    std::ranges::fill(rows.row(2), 0.0F);
    const Split made = split(part, copy_of(rows));
    BOOST_TEST(made.rest[1] >= 0);
    BOOST_TEST(made.rest[1] < 0x1p-100);
    check(part, kept, std::move(rows), "zero rows");
}

BOOST_AUTO_TEST_SUITE_END()
