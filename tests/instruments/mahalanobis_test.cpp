#include "candor/instruments/mahalanobis.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/neighbors/row_set.hpp"
#include "neighbors/made_rows.hpp"

using namespace candor;
using namespace candor::instruments;
using namespace candor::testing;

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

/// Rows as they are, for rows that a search would refuse.
class Plain final : public neighbors::RowSource {
  public:
    explicit Plain(const Matrix<double>& rows) : all_(rows) {}
    std::int64_t rows() const override { return all_.rows(); }
    std::int64_t dimension() const override { return all_.cols(); }
    neighbors::StoredRows read(std::span<const ContextRow> which) const override {
        Matrix<double> out(std::ssize(which), all_.cols());
        for (std::size_t i = 0; i < which.size(); ++i)
            std::ranges::copy(all_.row(which[i].value), out.row(static_cast<std::int64_t>(i)).begin());
        return out;
    }

  private:
    const Matrix<double>& all_;
};

std::vector<double> distances(const Matrix<double>& matrix, const std::vector<std::int8_t>& label) {
    linalg::open_blas();
    const Plain plain(matrix);
    const UnitRows rows(plain);
    const auto training = first_rows(std::ssize(label));
    const auto all = first_rows(matrix.rows());
    return Mahalanobis::fit(rows, training, label).value().distances(rows, all);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_mahalanobis)

// Unit rows in the plane. Negatives (1, 0), (0.6, 0.8): mean (0.8, 0.4), scatter 2 (0.04, -0.08; -0.08,
// 0.16). Positives (-1, 0), (-0.6, 0.8): mean (-0.8, 0.4), scatter 2 (0.04, 0.08; 0.08, 0.16). Together over
// n = 4: (0.04, 0; 0, 0.16), trace 0.2, ridge 1e-4.
BOOST_AUTO_TEST_CASE(distances_known_beforehand) {
    const Matrix<double> rows =
        matrix_of<double>({{5, 0}, {0.6, 0.8}, {-1, 0}, {-3, 4}, {0, 2}, {0, -7}, {3, 4}});
    const double a = 0.0401, b = 0.1601;
    const std::vector<double> found = distances(rows, {0, 0, 1, 1});
    const double at_top = std::sqrt(0.64 / a + 0.36 / b), at_bottom = std::sqrt(0.64 / a + 1.96 / b);
    const double own = std::sqrt(0.04 / a + 0.16 / b);
    const std::vector<double> expected{own, own, own, own, at_top, at_bottom, own};
    for (std::size_t i = 0; i < expected.size(); ++i)
        BOOST_CHECK_CLOSE(found[i], expected[i], 100 * 64 * eps);
}

// Powers of two, so that the unit rows are the same bits.
BOOST_AUTO_TEST_CASE(scale_does_not_change_it) {
    Matrix<double> rows = gaussian<double>(1300, 6), scaled = gaussian<double>(1300, 6);
    std::vector<std::int8_t> label;
    for (int i = 0; i < 700; ++i) label.push_back(i % 3 == 0);
    for (std::int64_t i = 0; i < 1300; ++i)
        for (double& v : scaled.row(i)) v = std::scalbn(v, static_cast<int>(i % 2 ? 900 : -900));
    BOOST_TEST(distances(scaled, label) == distances(rows, label), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(without_a_class_or_any_scatter_there_is_none) {
    linalg::open_blas();
    const Matrix<double> matrix = matrix_of<double>({{1, 2}, {0.5, 1}, {3, 1}, {6, 2}, {1, 2}, {3, 1}});
    const Plain plain(matrix);
    const UnitRows rows(plain);
    const auto fit = [&](std::int64_t n, const std::vector<std::int8_t>& label) {
        return Mahalanobis::fit(rows, first_rows(n), label);
    };
    BOOST_CHECK(!fit(3, {1, 1, 1}).has_value());
    BOOST_CHECK(!fit(3, {0, 0, 0}).has_value());
    BOOST_CHECK(!fit(0, {}).has_value());
    BOOST_CHECK(!fit(6, {0, 0, 1, 1, 0, 1}).has_value());  // all rows of a class have one direction
    BOOST_CHECK(!fit(2, {0, 1}).has_value());              // a row a class
    BOOST_CHECK(fit(3, {0, 1, 0}).has_value());
    BOOST_CHECK_THROW(fit(3, {0, 1}), InternalError);
    BOOST_CHECK_THROW(fit(3, {0, 1, -1}), InternalError);
}

BOOST_AUTO_TEST_CASE(a_row_without_direction_is_refused) {
    linalg::open_blas();
    for (const double bad : {0.0, std::nan(""), HUGE_VAL}) {
        const Matrix<double> matrix = matrix_of<double>({{1, 2}, {2, 1}, {-1, 1}, {bad, bad == 0 ? 0 : 1.0}});
        const Plain plain(matrix);
        const UnitRows rows(plain);
        const std::vector<std::int8_t> label{0, 0, 1, 1};
        BOOST_CHECK_THROW(Mahalanobis::fit(rows, first_rows(4), label), InternalError);
        const auto fitted = Mahalanobis::fit(rows, first_rows(3), std::span(label).first(3)).value();
        BOOST_CHECK_THROW(fitted.distances(rows, first_rows(4)), InternalError);
    }
}

BOOST_AUTO_TEST_SUITE_END()
