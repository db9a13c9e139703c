#include "candor/neighbors/pair_search.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/linalg/gemm.hpp"
#include "made_rows.hpp"

using namespace candor;
using namespace candor::testing;
using neighbors::OppositePair;
using neighbors::PairOptions;
using neighbors::PairSide;
using neighbors::RowSet;
using neighbors::Spread;

namespace {

using Rows = std::vector<ContextRow>;

/// Whole numbers -1, 0, 1: many cosines are equal, to the bit.
Matrix<float> coarse(std::int64_t rows, std::int64_t dimension) {
    const Stream stream(21, "coarse", 0);
    Matrix<float> out(rows, dimension);
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < dimension; ++j) {
            const auto draw = static_cast<std::uint64_t>(i * dimension + j);
            out.row(i)[static_cast<std::size_t>(j)] = static_cast<float>(stream.below(draw, 3)) - 1;
        }
        if (std::ranges::all_of(out.row(i), [](float v) { return v == 0; })) out.row(i)[0] = 1;
    }
    return out;
}

/// Rows of two labels, some of neither, in an irregular order.
struct Labels {
    explicit Labels(std::int64_t rows) {
        const Stream stream(22, "labels", 0);
        for (std::int64_t i = 0; i < rows; ++i) {
            const std::uint64_t v = stream.below(static_cast<std::uint64_t>(i), 9);
            if (v < 4) positives.emplace_back(i);
            if (v >= 4 && v < 8) negatives.emplace_back(i);
        }
    }
    Rows positives, negatives;
};

/// The definition: every pair in double, filtered, sorted, cut a positive and then over all.
std::vector<OppositePair> by_definition(const PairSide& close, const PairSide& far, const Labels& labels,
                                        const PairOptions& options) {
    std::vector<OppositePair> all;
    for (std::size_t p = 0; p < labels.positives.size(); ++p) {
        std::vector<OppositePair> of_one;
        for (std::size_t n = 0; n < labels.negatives.size(); ++n) {
            const double a = close.rows.cosine(labels.positives[p], labels.negatives[n]);
            const double b = far.rows.cosine(labels.positives[p], labels.negatives[n]);
            const double z_a = (a - close.spread.mean) / close.spread.sd;
            const double z_b = (b - far.spread.mean) / far.spread.sd;
            const double score = std::min(z_a, -z_b);
            if (score > 0 && a >= options.close_above && b <= options.far_below) {
                of_one.push_back(
                    {score, static_cast<std::int64_t>(p), static_cast<std::int64_t>(n), a, b, z_a, z_b});
            }
        }
        // Stable, so that equal scores keep the key order of the negatives.
        std::ranges::stable_sort(of_one, std::greater<>(), &OppositePair::score);
        if (options.per_positive > 0 && std::ssize(of_one) > options.per_positive)
            of_one.resize(static_cast<std::size_t>(options.per_positive));
        all.insert(all.end(), of_one.begin(), of_one.end());
    }
    std::ranges::stable_sort(all, std::greater<>(), &OppositePair::score);
    if (options.top > 0 && std::ssize(all) > options.top) all.resize(static_cast<std::size_t>(options.top));
    return all;
}

bool same(const OppositePair& a, const OppositePair& b) {
    return a.score == b.score && a.positive == b.positive && a.negative == b.negative &&
           a.cosine_close == b.cosine_close && a.cosine_far == b.cosine_far && a.z_close == b.z_close &&
           a.z_far == b.z_far;
}

/// Holds the search against the definition, to the bit, at every limit, block size and thread count.
template <class T>
void check(Matrix<T> close_rows, Matrix<T> far_rows, const std::string& what) {
    linalg::open_blas();
    const Labels labels(close_rows.rows());
    const RowSet close_set(std::move(close_rows)), far_set(std::move(far_rows));
    const PairSide close{close_set, spread_of(close_set, labels.positives, labels.negatives, 1)};
    const PairSide far{far_set, spread_of(far_set, labels.positives, labels.negatives, 2)};
    BOOST_TEST(close.spread.varies);
    BOOST_TEST(far.spread.varies);
    std::size_t listed = 0;
    for (const std::int64_t per_positive : {0, 1, 2}) {
        for (const std::int64_t top : {0, 1, 7, 100000}) {
            for (const bool conditions : {false, true}) {
                PairOptions options;
                options.per_positive = per_positive;
                options.top = top;
                if (conditions) {
                    // Values that pairs have, so that the borders themselves are met.
                    options.close_above = close_set.cosine(labels.positives[0], labels.negatives[1]);
                    options.far_below = far_set.cosine(labels.positives[1], labels.negatives[0]);
                }
                const auto expected = by_definition(close, far, labels, options);
                listed += expected.size();
                for (const auto& [block, threads] :
                     {std::pair(1, 1), std::pair(5, 2), std::pair(7, 1), std::pair(512, 2)}) {
                    options.block_rows = block;
                    options.threads = threads;
                    const auto found =
                        neighbors::opposite_pairs(close, far, labels.positives, labels.negatives, options);
                    BOOST_TEST(std::ranges::equal(found, expected, same),
                               what << ": " << per_positive << " a positive, top " << top
                                    << (conditions ? ", conditions" : "") << ", blocks of " << block << ": "
                                    << found.size() << " for " << expected.size());
                }
            }
        }
    }
    BOOST_TEST(listed > 100, what);
}

/// Rows at these angles, in degrees.
RowSet at_angles(const std::vector<double>& degrees) {
    Matrix<double> rows(std::ssize(degrees), 2);
    for (std::size_t i = 0; i < degrees.size(); ++i) {
        const double angle = degrees[i] * std::numbers::pi / 180;
        rows.row(static_cast<std::int64_t>(i))[0] = std::cos(angle);
        rows.row(static_cast<std::int64_t>(i))[1] = std::sin(angle);
    }
    return RowSet(std::move(rows));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(neighbors_pair_search)

BOOST_AUTO_TEST_CASE(random_rows_give_what_the_definition_gives) {
    check(gaussian<float>(90, 16), cone<float>(90, 24, 1.0), "gaussian and cone");
}

BOOST_AUTO_TEST_CASE(ties_are_settled_by_key_order) {
    check(coarse(90, 3), coarse(90, 4), "coarse");
}

BOOST_AUTO_TEST_CASE(a_narrow_cone_is_decided_in_double) {
    // Cosines of 1 - 1e-6 that single precision without centring could not tell apart.
    check(cone<float>(90, 32, 1e-3), gaussian<float>(90, 8), "narrow cone");
}

BOOST_AUTO_TEST_CASE(near_ties_are_decided_in_double) {
    // Ties broken by parts in 1e9, far below what a proposal can tell (1e-7).
    const auto nearly_coarse = [](std::int64_t dimension) {
        const Matrix<float> whole = coarse(90, dimension);
        Matrix<double> out = gaussian<double>(90, dimension);
        for (std::int64_t i = 0; i < 90; ++i) {
            for (std::size_t j = 0; j < out.row(i).size(); ++j)
                out.row(i)[j] = static_cast<double>(whole.row(i)[j]) + 1e-9 * out.row(i)[j];
        }
        return out;
    };
    check(nearly_coarse(3), nearly_coarse(4), "nearly coarse");
}

BOOST_AUTO_TEST_CASE(the_spread_is_of_the_opposite_pairs) {
    // Positives at 0 and 60, negatives at 0 and 90 degrees: cosines 1, 0, 1/2 and cos 30.
    const RowSet rows = at_angles({0, 60, 0, 90});
    const Rows positives{ContextRow(0), ContextRow(1)}, negatives{ContextRow(2), ContextRow(3)};
    const Spread spread = spread_of(rows, positives, negatives, 1);
    const double c[] = {1, 0, 0.5, std::sqrt(0.75)};
    const double mean = (c[0] + c[1] + c[2] + c[3]) / 4;
    double squares = 0;
    for (const double v : c) squares += (v - mean) * (v - mean);
    // Four terms of at most 1, each with a few roundings of 2^-53.
    BOOST_TEST(std::abs(spread.mean - mean) < 1e-15);
    BOOST_TEST(std::abs(spread.sd - std::sqrt(squares / 4)) < 1e-15);
    BOOST_TEST(spread.varies);
    BOOST_TEST(spread.standardise(spread.mean + 2 * spread.sd) == 2, boost::test_tools::tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(the_spread_looks_at_the_first_rows_alone) {
    std::vector<double> degrees;
    Rows positives, negatives;
    for (int i = 0; i < 600; ++i) {
        positives.emplace_back(std::ssize(degrees));
        degrees.push_back(i < 512 ? i % 2 : 170);
    }
    for (int i = 0; i < 520; ++i) {
        negatives.emplace_back(std::ssize(degrees));
        degrees.push_back(i < 512 ? 30 + i % 3 : 300);
    }
    const RowSet rows = at_angles(degrees);
    const Spread all = spread_of(rows, positives, negatives, 2);
    const Spread first = spread_of(rows, std::span(positives).first(512), std::span(negatives).first(512), 1);
    BOOST_TEST(all.mean == first.mean);
    BOOST_TEST(all.sd == first.sd);
    BOOST_TEST(all.mean > 0.8);  // cos 32 at least; the later rows would pull it far below
}

BOOST_AUTO_TEST_CASE(cosines_that_do_not_vary_are_told_apart_from_rounding) {
    // One direction, lengths 1, 3, 1/7 ...: the cosines are 1 but for rounding.
    Matrix<double> rows(60, 5);
    Rows positives, negatives;
    for (std::int64_t i = 0; i < 60; ++i) {
        for (int j = 0; j < 5; ++j)
            rows.row(i)[static_cast<std::size_t>(j)] = (0.3 + j) / static_cast<double>(2 * i + 1);
        (i % 2 == 0 ? positives : negatives).emplace_back(i);
    }
    const RowSet set(std::move(rows));
    BOOST_TEST(!spread_of(set, positives, negatives, 1).varies);
    // All positives one row, all negatives another: one cosine, however many times it is summed.
    std::vector<double> two(1000, 0.0);
    std::fill(two.begin() + 500, two.end(), 70.0);
    Rows first, second;
    for (std::int64_t i = 0; i < 500; ++i) {
        first.emplace_back(i);
        second.emplace_back(500 + i);
    }
    BOOST_TEST(spread_of(at_angles(two), first, second, 1).sd == 0);
    // Equal rows of one label are no reason: all positives at 0, negatives at 0 and 1 degree.
    BOOST_TEST(spread_of(at_angles({0, 0, 0, 1}), Rows{ContextRow(0), ContextRow(1)},
                         Rows{ContextRow(2), ContextRow(3)}, 1)
                   .varies);
    BOOST_TEST(!spread_of(set, positives, {}, 1).varies);
    BOOST_TEST(!spread_of(set, Rows{ContextRow(0)}, Rows{ContextRow(1)}, 1).varies);  // one pair
    const PairSide side{set, spread_of(set, positives, negatives, 1)};
    BOOST_CHECK_THROW(neighbors::opposite_pairs(side, side, positives, negatives, {}), InternalError);
}

BOOST_AUTO_TEST_SUITE_END()
