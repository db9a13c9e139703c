#include "candor/neighbors/tile_scan.hpp"

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "made_rows.hpp"

using namespace candor;
using namespace candor::testing;

namespace {

using Places = std::vector<std::pair<std::int64_t, std::int64_t>>;

void collect(void* to, std::int64_t row, std::int64_t first, std::uint64_t hits) {
    for (int b = 0; b < 64; ++b) {
        if (hits >> b & 1) static_cast<Places*>(to)->emplace_back(row, first + b);
    }
}

/// Multiples of 1/64 below 4 in size: sums of them and of products of two are exact, fused or not.
Matrix<float> coarse(std::int64_t rows, std::int64_t cols) {
    Matrix<float> out = gaussian<float>(rows, cols);
    for (std::int64_t i = 0; i < rows; ++i) {
        for (float& v : out.row(i)) v = std::round(std::clamp(v, -4.0F, 4.0F) * 64) / 64;
    }
    return out;
}

/// A tile with the storage that it looks at; every fifth row and every third column takes nothing.
struct MadeTile {
    MadeTile(std::int64_t rows, std::int64_t cols) : products(coarse(rows, cols)) {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        for (std::int64_t i = 0; i < rows; ++i) {
            row_offset.push_back(static_cast<float>(i) / 8);
            row_cut.push_back(i % 5 == 4 ? infinity : 1.5F);
            row_rest.push_back(static_cast<float>(i % 4) / 4);
        }
        for (std::int64_t j = 0; j < cols; ++j) {
            col_offset.push_back(-static_cast<float>(j % 7) / 64);
            col_cut.push_back(j % 3 == 0 ? infinity : 1.75F);
            col_rest.push_back(static_cast<float>(j % 5) / 8);
        }
    }

    neighbors::Tile tile(bool bounds) const {
        const MatrixView<const float> view = products.view();
        return {view.data,
                view.stride,
                view.rows,
                view.cols,
                row_offset.data(),
                col_offset.data(),
                row_cut.data(),
                col_cut.data(),
                bounds ? row_rest.data() : nullptr,
                bounds ? col_rest.data() : nullptr};
    }

    /// The sentence that says what the scan does.
    Places hits(bool bounds) const {
        Places places;
        for (std::int64_t i = 0; i < products.rows(); ++i) {
            for (std::int64_t j = 0; j < products.cols(); ++j) {
                const auto r = static_cast<std::size_t>(i), c = static_cast<std::size_t>(j);
                const float p = products.row(i)[c] + (bounds ? row_rest[r] * col_rest[c] : 0);
                if (p + col_offset[c] >= row_cut[r] || p + row_offset[r] >= col_cut[c])
                    places.emplace_back(i, j);
            }
        }
        return places;
    }

    Matrix<float> products;
    std::vector<float> row_offset, row_cut, row_rest, col_offset, col_cut, col_rest;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(neighbors_tile_scan)

// The scan by vectors against the sentence that says what it does, at odd widths.
BOOST_AUTO_TEST_CASE(a_tile_is_looked_through_whole) {
    for (const std::int64_t cols : {1, 3, 5, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 131, 200}) {
        const MadeTile made(9, cols);
        for (const bool bounds : {false, true}) {
            Places found;
            (bounds ? neighbors::scan_bounds : neighbors::scan_tile)(made.tile(bounds), collect, &found);
            BOOST_TEST((found == made.hits(bounds)), cols << " columns" << (bounds ? ", bounds" : ""));
        }
        BOOST_CHECK(cols < 15 || !made.hits(false).empty());
        BOOST_CHECK(cols < 15 || made.hits(true).size() > made.hits(false).size());
    }
}

BOOST_AUTO_TEST_CASE(a_score_at_the_cut_is_a_hit_and_one_below_is_none) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const std::int64_t cols : {1, 16, 67}) {
        Matrix<float> products(1, cols);
        std::ranges::fill(products.row(0), 0.5F);
        const std::vector<float> offset(static_cast<std::size_t>(cols), 0.25F),
            none(static_cast<std::size_t>(cols), infinity), rest(static_cast<std::size_t>(cols), 2);
        for (const bool bounds : {false, true}) {
            const float score = bounds ? 2.75F : 0.75F, zero = 0, one = 1;
            for (const float cut : {score, std::nextafter(score, infinity)}) {
                const neighbors::Tile tile{products.view().data,
                                           products.view().stride,
                                           1,
                                           cols,
                                           &zero,
                                           offset.data(),
                                           &cut,
                                           none.data(),
                                           &one,
                                           rest.data()};
                Places found;
                (bounds ? neighbors::scan_bounds : neighbors::scan_tile)(tile, collect, &found);
                BOOST_TEST(std::ssize(found) == (cut == score ? cols : 0));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(cuts_that_rise_while_the_tile_is_looked_through_are_heeded) {
    const std::int64_t cols = 200;
    Matrix<float> products(3, cols);
    for (std::int64_t i = 0; i < 3; ++i) std::ranges::fill(products.row(i), 1.0F);
    std::vector<float> zero(static_cast<std::size_t>(cols), 0), cuts(3, 0.5F),
        none(static_cast<std::size_t>(cols), std::numeric_limits<float>::infinity());
    const neighbors::Tile tile{
        products.view().data, products.view().stride, 3, cols, zero.data(), zero.data(), cuts.data(),
        none.data()};
    struct Seen {
        std::vector<float>& cuts;
        std::int64_t hits = 0;
    } seen{cuts};
    neighbors::scan_tile(
        tile,
        [](void* to, std::int64_t row, std::int64_t, std::uint64_t hits) {
            Seen& all = *static_cast<Seen*>(to);
            all.hits += std::popcount(hits);
            all.cuts[static_cast<std::size_t>(row)] = 2;
        },
        &seen);
    BOOST_TEST(seen.hits == 3 * 64);  // the first 64 columns of each row
}

BOOST_AUTO_TEST_CASE(rows_that_hits_name_are_multiplied_out_in_their_order) {
    constexpr float poison = -12345;
    const Stream stream(17, "hits", 0);
    std::uint64_t next = 0;
    for (const std::int64_t length : {16, 32, 48, 208}) {
        Matrix<float> row(1, length), others(64, length + 16);
        for (float& v : row.row(0)) v = static_cast<float>(stream.below(next++, 9)) - 4;
        for (std::int64_t i = 0; i < 64; ++i) {
            for (float& v : others.row(i)) v = static_cast<float>(stream.below(next++, 9)) - 4;
        }
        std::vector<std::uint64_t> patterns{0, ~std::uint64_t{0}, 0x5555555555555555, 0x8000000000000001};
        for (int bit = 0; bit < 64; ++bit) patterns.push_back(std::uint64_t{1} << bit);
        for (int width = 2; width < 64; ++width) patterns.push_back((std::uint64_t{1} << width) - 1);
        for (int one = 0; one < 50; ++one) patterns.push_back(stream.bits(next++));
        std::size_t wrong = 0;
        for (const std::uint64_t hits : patterns) {
            std::vector<float> out(64, poison), expected;
            neighbors::dot_products(row.row(0).data(), others.view().data, others.view().stride, length, hits,
                                    out.data());
            for (std::int64_t b = 0; b < 64; ++b) {
                if ((hits >> b & 1) == 0) continue;
                float sum = 0;  // of whole numbers: exact
                for (std::int64_t j = 0; j < length; ++j) sum += row.row(0)[j] * others.row(b)[j];
                expected.push_back(sum);
            }
            expected.resize(64, poison);
            wrong += out != expected;
        }
        BOOST_TEST(wrong == 0, "length " << length);
    }
}

BOOST_AUTO_TEST_CASE(cuts_that_a_score_reaches) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    std::vector<float> cuts(64);
    for (std::size_t b = 0; b < 64; ++b) cuts[b] = static_cast<float>(b * 37 % 64);
    cuts[5] = infinity;
    cuts[6] = -infinity;
    for (const float score : {-1.0F, 0.0F, 17.0F, 17.5F, 63.0F, 100.0F}) {
        std::uint64_t expected = 0;
        for (std::size_t b = 0; b < 64; ++b) expected |= std::uint64_t{score >= cuts[b]} << b;
        BOOST_TEST(neighbors::cuts_reached(cuts.data(), score) == expected);
    }
}

BOOST_AUTO_TEST_SUITE_END()
