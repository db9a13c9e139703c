#include "candor/neighbors/row_set.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/sum.hpp"
#include "candor/linalg/gemm.hpp"
#include "made_rows.hpp"

using namespace candor;
using namespace candor::testing;
using neighbors::RowSet;

namespace {

constexpr double unit = 0x1p-53;

ContextRow at(std::int64_t i) {
    return ContextRow(i);
}

template <class T>
Matrix<T> copy_of(const Matrix<T>& matrix) {
    Matrix<T> out(matrix.rows(), matrix.cols());
    for (std::int64_t i = 0; i < matrix.rows(); ++i) std::ranges::copy(matrix.row(i), out.row(i).begin());
    return out;
}

/// Cosine in extended precision, whose unit 2^-64 is nothing beside what is tested.
template <class T>
long double exact_cosine(std::span<const T> a, std::span<const T> b) {
    long double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const long double x = a[i], y = b[i];
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    return ab / (std::sqrt(aa) * std::sqrt(bb));
}

/// A dot of d products is off by (d/16 + 5) units at most (each of 16 lanes adds d/16 numbers, four folds,
/// one rounding a product), a norm by half of that and 1; a cosine by all of it and its product, quotient.
double cosine_tolerance(std::int64_t d) {
    return (static_cast<double>(d) / 8 + 16) * unit;
}

/// Single-precision inner products of two rows in several orders, with and without FMA.
std::vector<float> summed_in_many_orders(std::span<const float> a, std::span<const float> b) {
    float forward = 0, backward = 0, fused = 0;
    std::vector<float> tree(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        forward += a[i] * b[i];
        backward += a[a.size() - 1 - i] * b[a.size() - 1 - i];
        fused = std::fma(a[i], b[i], fused);
        tree[i] = a[i] * b[i];
    }
    while (tree.size() > 1) {
        std::vector<float> half((tree.size() + 1) / 2);
        for (std::size_t i = 0; i < half.size(); ++i) {
            half[i] = 2 * i + 1 < tree.size() ? tree[2 * i] + tree[2 * i + 1] : tree[2 * i];
        }
        tree = std::move(half);
    }
    // Products sorted so that every addition rounds a growing sum: the worst order for one lane.
    std::vector<float> products(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) products[i] = a[i] * b[i];
    std::ranges::sort(products, std::greater<>());
    float falling = 0;
    for (const float p : products) falling += p;
    return {forward, backward, fused, tree.front(), falling};
}

struct Seen {
    double share = 0;     // largest error of a score as a share of its bound
    double decision = 0;  // largest error of a cosine as a share of its tolerance
};

/// Scores of all pairs of `matrix`, by the BLAS and by hand in many orders, against cosines.
template <class T>
Seen look_at(const Matrix<T>& matrix) {
    const RowSet rows(copy_of(matrix));
    const std::int64_t n = rows.rows();
    Matrix<float> tile(n, n);
    linalg::product(rows.centred(), rows.centred(), tile.view());
    Seen seen;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            const double decided = rows.cosine(at(i), at(j));
            const long double exact = exact_cosine(matrix.row(i), matrix.row(j));
            seen.decision = std::max(seen.decision, static_cast<double>(std::abs(exact - decided)) /
                                                        cosine_tolerance(rows.dimension()));
            const double bound = rows.error(rows.radius(at(i)), rows.radius(at(j)));
            std::vector<float> products = summed_in_many_orders(rows.centred().row(i), rows.centred().row(j));
            products.push_back(tile.row(i)[static_cast<std::size_t>(j)]);
            for (const float product : products) {
                const double score = static_cast<double>(product) + rows.offset(at(j)) + rows.offset(at(i));
                seen.share = std::max({seen.share, std::abs(score - decided) / bound,
                                       static_cast<double>(std::abs(score - exact)) / bound});
            }
        }
    }
    BOOST_TEST_MESSAGE("d = " << rows.dimension() << ": scores " << seen.share << " of the bound, decisions "
                              << seen.decision << " of the tolerance");
    return seen;
}

template <class T>
void check_bound(const Matrix<T>& matrix, const char* what) {
    const Seen seen = look_at(matrix);
    BOOST_TEST(seen.share <= 1, what << ": " << seen.share);
    BOOST_TEST(seen.decision <= 1, what << ": " << seen.decision);
    BOOST_TEST(seen.share > 1e-5, what << ": a bound that is never approached tests nothing");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(neighbors_row_set)

BOOST_AUTO_TEST_CASE(cosines_of_rows_by_hand) {
    const RowSet rows(matrix_of<float>({{3, 4}, {4, 3}, {-3, -4}, {6, 8}, {0, 5}}));
    BOOST_TEST(rows.rows() == 5);
    BOOST_TEST(rows.dimension() == 2);
    // Norms 5, 10 and squares are whole numbers: one rounding, that of the quotient.
    BOOST_TEST(rows.cosine(at(0), at(1)) == 24.0 / 25);
    BOOST_TEST(rows.cosine(at(0), at(2)) == -1);
    BOOST_TEST(rows.cosine(at(0), at(3)) == 1);
    BOOST_TEST(rows.cosine(at(3), at(4)) == 40.0 / 50);
}

// Faults 3: what a float16 file held arrives as float, and every sum is in double.
BOOST_AUTO_TEST_CASE(large_half_precision_rows_are_normalised_without_overflow) {
    Matrix<float> hundreds(2, 768);
    std::ranges::fill(hundreds.row(0), 100.0F);
    std::ranges::fill(hundreds.row(1), -100.0F);  // opposite, so that the mean direction is 0
    const RowSet rows(std::move(hundreds));
    BOOST_TEST(rows.cosine(at(0), at(0)) == 1, boost::test_tools::tolerance(4 * unit));
    BOOST_TEST(rows.cosine(at(0), at(1)) == -1, boost::test_tools::tolerance(4 * unit));
    for (const float component : rows.centred().row(0)) BOOST_TEST(std::abs(component - 0.03608439) < 5e-9);

    const RowSet two(matrix_of<float>({{300, 300, 0, 0}, {300, 0, 0, 0}}));
    BOOST_TEST(std::abs(two.cosine(at(0), at(1)) - 0.70710678) < 5e-9);
}

BOOST_AUTO_TEST_CASE(rows_of_any_scale_have_the_cosines_of_their_directions) {
    // Factors that are powers of two change no digit; others round each entry once.
    Matrix<double> plain = gaussian<double>(4, 50), scaled = copy_of(plain);
    const double factor[4] = {0x1p-1000, 0x1p660, 1e200, 1e-200};
    for (std::int64_t i = 0; i < 4; ++i) {
        for (double& v : scaled.row(i)) v *= factor[i];
    }
    const RowSet a(std::move(plain)), b(std::move(scaled));
    BOOST_TEST(a.cosine(at(0), at(1)) == b.cosine(at(0), at(1)));
    for (std::int64_t i = 0; i < 4; ++i) {
        BOOST_TEST(std::isfinite(b.offset(at(i))));
        for (std::int64_t j = 0; j < 4; ++j) {
            BOOST_TEST(std::abs(a.cosine(at(i), at(j)) - b.cosine(at(i), at(j))) <=
                       2 * cosine_tolerance(50) + 2 * unit);
        }
    }
    const double smallest = std::numeric_limits<double>::denorm_min(),
                 largest = std::numeric_limits<double>::max();
    const RowSet ends(matrix_of<double>({{smallest, 0}, {0, largest}, {largest, largest}, {1, 0}}));
    BOOST_TEST(ends.cosine(at(0), at(3)) == 1);
    BOOST_TEST(ends.cosine(at(0), at(1)) == 0);
    BOOST_TEST(ends.cosine(at(2), at(3)) == std::sqrt(0.5), boost::test_tools::tolerance(4 * unit));
    const RowSet floats(matrix_of<float>({{3e38, 3e38}, {1e-45, 0}, {1, 0}}));
    BOOST_TEST(floats.cosine(at(0), at(1)) == std::sqrt(0.5), boost::test_tools::tolerance(4 * unit));
    BOOST_TEST(floats.cosine(at(1), at(2)) == 1);
}

BOOST_AUTO_TEST_CASE(one_dimension_knows_only_agreement_and_opposition) {
    const RowSet rows(matrix_of<float>({{0.3}, {-7}, {1e-30}, {-0.1}}));
    for (std::int64_t i = 0; i < 4; ++i) {
        for (std::int64_t j = 0; j < 4; ++j)
            BOOST_TEST(rows.cosine(at(i), at(j)) == ((i + j) % 2 == 0 ? 1 : -1));
    }
    check_bound(matrix_of<float>({{0.3}, {-7}, {1e-30}, {-0.1}, {5}}), "d = 1");
}

BOOST_AUTO_TEST_CASE(cosines_are_symmetric_within_one_and_equal_for_equal_rows) {
    Matrix<float> matrix = gaussian<float>(40, 37);
    std::ranges::copy(matrix.row(3), matrix.row(30).begin());
    std::ranges::copy(matrix.row(3), matrix.row(39).begin());
    for (float& v : matrix.row(20)) v *= 4;  // a multiple by a power of two is the same direction to the bit
    const RowSet rows(std::move(matrix));
    for (std::int64_t i = 0; i < 40; ++i) {
        for (std::int64_t j = 0; j < 40; ++j) {
            BOOST_REQUIRE_EQUAL(rows.cosine(at(i), at(j)), rows.cosine(at(j), at(i)));
            BOOST_REQUIRE(std::abs(rows.cosine(at(i), at(j))) <= 1);
        }
        BOOST_TEST(rows.cosine(at(i), at(3)) == rows.cosine(at(i), at(30)));
        BOOST_TEST(rows.cosine(at(i), at(3)) == rows.cosine(at(i), at(39)));
    }
}

BOOST_AUTO_TEST_CASE(centring_takes_the_mean_direction_away) {
    const Matrix<float> matrix = cone<float>(200, 64, 0.0316);
    const RowSet rows(copy_of(matrix));
    double mean_cosine = 0, largest = 0;
    for (std::int64_t i = 0; i < 200; ++i) {
        for (std::int64_t j = 0; j < 200; ++j) mean_cosine += rows.cosine(at(i), at(j)) / 40000;
        const double radius = rows.radius(at(i));
        BOOST_TEST(radius >= norm(rows.centred().row(i)));
        BOOST_TEST(radius <= norm(rows.centred().row(i)) * (1 + 2e-6));
        largest = std::max(largest, radius);
    }
    BOOST_TEST(std::abs(mean_cosine - 0.999) < 2e-4);
    BOOST_TEST(largest < 0.06);  // so bands are 300 times narrower than those of whole rows
    for (std::size_t j = 0; j < 64; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < 200; ++i) sum += rows.centred().row(i)[j];
        BOOST_TEST(std::abs(sum) < 200 * 0x1p-24 * largest);  // each entry was rounded to single once
    }
}

BOOST_AUTO_TEST_CASE(no_score_is_off_by_more_than_the_bound) {
    linalg::open_blas();
    check_bound(gaussian<float>(60, 33), "normal");
    check_bound(gaussian<double>(60, 33), "normal, double");
    check_bound(cone<float>(60, 128, 0.0316), "cone of cosine 0.999");
    check_bound(cone<double>(60, 128, 1e-5), "cone of cosine 1 - 1e-10, double");
    check_bound(gaussian<float>(24, 4096), "d = 4096");
    check_bound(cone<float>(24, 4096, 0.0316), "cone, d = 4096");
    // All terms of one sign: sums that grow, the worst for rounding. The mean of two bundles is far from
    // both.
    Matrix<float> bundles(40, 4096);
    Normal normal("bundles");
    for (std::int64_t i = 0; i < 40; ++i) {
        for (float& v : bundles.row(i)) v = static_cast<float>((i % 2 ? 1 : -1) * (1 + 0.01 * normal()));
    }
    check_bound(bundles, "bundles");
}

BOOST_AUTO_TEST_CASE(products_that_underflow_stay_within_the_bound) {
    linalg::open_blas();
    const Seen seen =
        look_at(matrix_of<double>({{1, 1e-30, 2e-40}, {1, 3e-25, 1e-44}, {1, 0, -3e-42}, {1, 1e-38, 1e-45}}));
    BOOST_TEST(seen.share <= 1, seen.share);
}

BOOST_AUTO_TEST_CASE(where_all_rows_are_one_the_terms_in_double_alone_bound_the_score) {
    linalg::open_blas();
    Matrix<float> same(6, 4096);
    const Matrix<float> one = gaussian<float>(1, 4096);
    for (std::int64_t i = 0; i < 6; ++i) std::ranges::copy(one.row(0), same.row(i).begin());
    const RowSet rows(copy_of(same));
    BOOST_TEST(rows.radius(at(0)) < 1e-14);
    const Seen seen = look_at(same);
    BOOST_TEST(seen.share <= 1, seen.share);
}

BOOST_AUTO_TEST_CASE(a_row_without_direction_is_a_broken_contract_that_names_it) {
    constexpr double infinite = std::numeric_limits<double>::infinity(),
                     nan = std::numeric_limits<double>::quiet_NaN();
    const auto names_row_1 = [](const InternalError& error) {
        return std::string(error.what()).find("(row 1)") != std::string::npos;
    };
    for (const double bad : {0.0, infinite, nan}) {
        BOOST_CHECK_EXCEPTION(RowSet(matrix_of<float>({{1, 0}, {bad, 0}, {0, 1}})), InternalError,
                              names_row_1);
        BOOST_CHECK_EXCEPTION(RowSet(matrix_of<double>({{1, 0}, {bad, 0}, {0, 1}})), InternalError,
                              names_row_1);
    }
}

BOOST_AUTO_TEST_SUITE_END()
