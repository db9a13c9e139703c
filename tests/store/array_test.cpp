#include "candor/store/array.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "candor/base/error.hpp"

using namespace candor;
using namespace candor::store;

namespace {

// Whole numbers below 2048 are exact in every type.
double value_at(std::int64_t row, std::int64_t col) {
    return static_cast<double>((row * 31 + col * 7) % 2048);
}

/// An array that is nowhere, and what was read of it.
struct MadeArray final : Array {
    struct Piece {
        std::int64_t first, count;
        const std::byte* out;
    };
    mutable std::vector<Piece> pieces;

    MadeArray(std::int64_t n, std::int64_t d, ElementType t, std::int64_t u = 1) {
        rows = n;
        cols = d;
        type = t;
        unit = u;
    }
    void read(std::int64_t first, std::int64_t count, std::byte* out) const override {
        BOOST_TEST((first >= 0 && count > 0 && first + count <= rows));
        BOOST_TEST((count == 1 || count * cols * size_of(type) <= slab_bytes));
        pieces.push_back({first, count, out});
        std::vector<double> row(static_cast<std::size_t>(cols));
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t j = 0; j < cols; ++j) row[static_cast<std::size_t>(j)] = value_at(first + i, j);
            encode(type, row, out + i * cols * size_of(type));
        }
    }
    /// Every row at most once, in ascending order.
    bool in_one_passage() const {
        std::int64_t at = 0;
        for (const Piece& piece : pieces) {
            if (piece.first < at) return false;
            at = piece.first + piece.count;
        }
        return true;
    }
};

std::vector<FeatureRow> rows_of(const std::vector<std::int64_t>& rows) {
    std::vector<FeatureRow> which;
    for (const std::int64_t row : rows) which.emplace_back(row);
    return which;
}

std::vector<std::int64_t> range(std::int64_t first, std::int64_t count) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
    std::iota(rows.begin(), rows.end(), first);
    return rows;
}

template <class T>
std::int64_t wrong_values(std::span<const T> row, std::int64_t file_row) {
    std::int64_t wrong = 0;
    for (std::size_t j = 0; j < row.size(); ++j)
        wrong += row[j] != static_cast<T>(value_at(file_row, static_cast<std::int64_t>(j)));
    return wrong;
}

/// Reads `which` to `target` of more rows than needed, whose others must stay as they were.
template <class T>
void check_read(const MadeArray& array, const std::vector<std::int64_t>& which,
                const std::vector<std::int64_t>& target, std::int64_t out_rows) {
    constexpr T poison = std::numeric_limits<T>::lowest();
    Matrix<T> out(out_rows, array.cols);
    const MatrixView<T> view = out.view();
    std::fill(view.data, view.data + view.rows * view.stride, poison);
    array.pieces.clear();
    read_rows(array, rows_of(which), target, view);
    std::vector<std::int64_t> asked(static_cast<std::size_t>(out_rows), -1);
    for (std::size_t i = 0; i < which.size(); ++i) asked[static_cast<std::size_t>(target[i])] = which[i];
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < out_rows; ++i) {
        const std::int64_t row = asked[static_cast<std::size_t>(i)];
        if (row >= 0) {
            wrong += wrong_values<T>(out.row(i), row);
        } else {
            for (const T v : out.row(i)) wrong += v != poison;
        }
        for (std::int64_t j = view.cols; j < view.stride; ++j)
            wrong += view.data[i * view.stride + j] != poison;
    }
    BOOST_TEST(wrong == 0);
    BOOST_TEST(array.in_one_passage());
}

template <class T>
void check_visit(const MadeArray& array, const std::vector<std::int64_t>& which) {
    std::vector<int> seen(which.size());
    std::int64_t wrong = 0, last = 0;
    array.pieces.clear();
    visit_rows(array, rows_of(which), TakeRow<T>([&](std::int64_t i, std::span<const T> row) {
                   const std::int64_t file_row = which[static_cast<std::size_t>(i)];
                   ++seen[static_cast<std::size_t>(i)];
                   wrong += file_row < last;
                   last = file_row;
                   wrong += wrong_values<T>(row, file_row);
               }));
    BOOST_TEST(wrong == 0);
    BOOST_TEST(seen == std::vector<int>(which.size(), 1));
    BOOST_TEST(array.in_one_passage());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(store_array)

// 48 columns fill whole cache lines, so that rows of a matrix touch; 50 do not. 90,000 rows are several
// slabs.
BOOST_AUTO_TEST_CASE(any_rows_go_to_any_places_and_each_is_read_once) {
    std::mt19937_64 random(7);
    for (const ElementType type : {ElementType::float16, ElementType::float32, ElementType::float64}) {
        for (const std::int64_t cols : {48, 50}) {
            for (const std::int64_t unit : {7, 60'000}) {
                const MadeArray array(90'000, cols, type, unit);
                std::vector<std::int64_t> far(200);  // gaps wider than any that are read over, and repeats
                for (auto& row : far) row = static_cast<std::int64_t>(random() % 90) * 1000;
                std::vector<std::int64_t> near = range(40'000, 20'000);
                std::erase_if(near, [](std::int64_t row) { return row % 11 == 3; });
                std::vector<std::int64_t> mixed = near;
                std::ranges::shuffle(mixed, random);
                for (const auto& which : {range(0, 90'000), far, near, mixed, std::vector<std::int64_t>{}}) {
                    const std::vector<std::int64_t> ahead = range(5, std::ssize(which));
                    std::vector<std::int64_t> anywhere = range(0, std::ssize(which));
                    std::ranges::shuffle(anywhere, random);
                    check_read<double>(array, which, ahead, std::ssize(which) + 9);
                    check_read<double>(array, which, anywhere, std::ssize(which));
                    check_visit<double>(array, which);
                    if (type == ElementType::float64) continue;
                    check_read<float>(array, which, ahead, std::ssize(which) + 9);
                    check_visit<float>(array, which);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(rows_that_lie_in_the_matrix_as_in_the_file_are_read_straight_into_it) {
    const MadeArray array(1000, 48, ElementType::float32);
    Matrix<float> out(500, 48);
    const auto inside = [&](const std::byte* at) {
        return at == reinterpret_cast<const std::byte*>(out.row(20).data());
    };
    read_rows(array, rows_of(range(300, 400)), range(20, 400), out.view());
    BOOST_TEST(array.pieces.size() == 1u);
    BOOST_TEST(inside(array.pieces[0].out));
    array.pieces.clear();
    std::vector<std::int64_t> target = range(20, 400);
    std::swap(target[100], target[101]);
    read_rows(array, rows_of(range(300, 400)), target, out.view());
    BOOST_TEST(array.pieces.size() == 1u);
    BOOST_TEST(!inside(array.pieces[0].out));
}

BOOST_AUTO_TEST_CASE(slabs_end_where_blocks_end) {
    for (const std::int64_t unit : {900, 70'000}) {
        const MadeArray array(200'000, 48, ElementType::float32, unit);
        check_visit<float>(array, range(0, 200'000));
        for (const auto& piece : array.pieces) {
            const std::int64_t end = piece.first + piece.count;
            if (unit == 900) BOOST_TEST((end % unit == 0 || end == array.rows));
            if (unit == 70'000) BOOST_TEST(piece.first / unit == (end - 1) / unit);
        }
    }
}

BOOST_AUTO_TEST_CASE(places_outside_the_matrix_and_rows_outside_the_array_are_refused) {
    const MadeArray array(10, 4, ElementType::float32), doubles(10, 4, ElementType::float64);
    Matrix<float> out(3, 4), narrow(3, 3);
    const std::vector<std::int64_t> one{1}, three{3}, below{-1}, none;
    const auto read = [&](std::int64_t row, const std::vector<std::int64_t>& target, MatrixView<float> to) {
        read_rows(array, rows_of({row}), target, to);
    };
    read(9, one, out.view());
    BOOST_CHECK_THROW(read(10, one, out.view()), InternalError);
    BOOST_CHECK_THROW(read(-1, one, out.view()), InternalError);
    BOOST_CHECK_THROW(read(9, three, out.view()), InternalError);
    BOOST_CHECK_THROW(read(9, below, out.view()), InternalError);
    BOOST_CHECK_THROW(read(9, none, out.view()), InternalError);
    BOOST_CHECK_THROW(read(9, one, narrow.view()), InternalError);
    BOOST_CHECK_THROW(read_rows(doubles, rows_of({1}), one, out.view()), InternalError);
    const TakeRow<float> ignore = [](std::int64_t, std::span<const float>) {};
    BOOST_CHECK_THROW(visit_rows(doubles, rows_of({1}), ignore), InternalError);
}

BOOST_AUTO_TEST_SUITE_END()
