#include "candor/base/matrix.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <type_traits>
#include <utility>

using namespace candor;

namespace {

template <class T>
void check_layout() {
    for (const std::int64_t cols : {1, 7, 16, 17, 64, 65}) {
        Matrix<T> matrix(5, cols);
        BOOST_TEST(matrix.rows() == 5);
        BOOST_TEST(matrix.cols() == cols);
        for (std::int64_t i = 0; i < 5; ++i) {
            const auto row = matrix.row(i);
            BOOST_TEST(row.size() == static_cast<std::size_t>(cols));
            BOOST_TEST(reinterpret_cast<std::uintptr_t>(row.data()) % 64 == 0);
            for (auto& value : row) value = static_cast<T>(i);
        }
        for (std::int64_t i = 0; i < 5; ++i) {
            for (const T value : std::as_const(matrix).row(i)) BOOST_REQUIRE(value == static_cast<T>(i));
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(base_matrix)

BOOST_AUTO_TEST_CASE(rows_start_on_cache_lines_and_do_not_overlap) {
    check_layout<float>();
    check_layout<double>();
    check_layout<std::int8_t>();
    check_layout<std::uint16_t>();
}

BOOST_AUTO_TEST_CASE(a_block_is_some_rows_of_a_view) {
    Matrix<double> matrix(6, 3);
    for (std::int64_t i = 0; i < 6; ++i) {
        for (std::int64_t j = 0; j < 3; ++j) matrix.row(i)[j] = static_cast<double>(10 * i + j);
    }
    const MatrixView<const double> view = matrix.view();
    const MatrixView<const double> block = view.block(2, 3);
    BOOST_TEST(block.rows == 3);
    BOOST_TEST(block.cols == 3);
    BOOST_TEST(block.stride == view.stride);
    BOOST_TEST(block.row(0)[1] == 21);
    BOOST_TEST(block.row(2)[2] == 42);
    BOOST_TEST(view.block(6, 0).rows == 0);
}

BOOST_AUTO_TEST_CASE(an_empty_matrix_has_no_rows) {
    const Matrix<float> none;
    BOOST_TEST(none.rows() == 0);
    const Matrix<float> no_rows(0, 8), no_columns(8, 0);
    BOOST_TEST(no_rows.view().rows == 0);
    BOOST_TEST(no_columns.row(7).empty());
}

BOOST_AUTO_TEST_CASE(a_const_view_cannot_be_written_and_a_matrix_moves_only) {
    static_assert(!std::is_convertible_v<MatrixView<const float>, MatrixView<float>>);
    static_assert(!std::is_copy_constructible_v<Matrix<float>>);
    Matrix<float> a(1, 1);
    a.row(0)[0] = 3;
    const Matrix<float> b = std::move(a);
    BOOST_TEST(b.row(0)[0] == 3);
}

BOOST_AUTO_TEST_SUITE_END()
