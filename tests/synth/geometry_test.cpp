#include "candor/synth/geometry.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "candor/store/element.hpp"

using namespace candor;
using namespace candor::synth;

namespace {

constexpr std::int64_t rows = 2'000;

const Subject chest{{0}, {0, 1, 2}, {"a", "b", "c", "d"}, false};
const Subject species{{0}, {0, 1, 2}, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}, true};
const DatasetShape site{"site", rows, {"AP", "PA"}, true, true, {}, {}, false};

Geometry geometry(const Subject& subject, std::size_t rank = 1, std::int64_t dimension = 256) {
    return {subject, rank, "encoder", false, dimension, 5, 1};
}

std::vector<double> unit(std::span<const std::uint16_t> stored) {
    std::vector<double> row;
    double sum = 0;
    for (const std::uint16_t half : stored) {
        row.push_back(store::half_to_float(half));
        sum += row.back() * row.back();
    }
    for (double& value : row) value /= std::sqrt(sum);
    return row;
}

std::vector<std::vector<double>> features(const Geometry& of, const Images& images) {
    std::vector<std::vector<double>> all;
    std::vector<std::uint16_t> stored(static_cast<std::size_t>(of.dimension()));
    for (std::int64_t row = 0; row < images.rows(); ++row) {
        of.write_row(images, row, stored);
        all.push_back(unit(stored));
    }
    return all;
}

double cosine(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(synth_geometry)

// Rounding to float16 moves a number by at most 2^-11 of itself, so a cosine of unit rows by at most 2^-10.
constexpr double rounding = 0x1p-10;

BOOST_AUTO_TEST_CASE(cosines_are_what_the_header_says_on_average) {
    const Images images = draw_images(chest, site, 0, rows, 1, nullptr, {});
    const Geometry of = geometry(chest);
    const auto all = features(of, images);
    double total = 0;
    for (std::size_t f = 0; f < 4; ++f) total += of.squared(f);
    BOOST_TEST(total == of.total(0), boost::test_tools::tolerance(1e-12));
    // Pairs 2 i, 2 i + 1 that are no twins: cosine - kappa - (1 - kappa) sum_f a^2 l l' has mean 0 within a
    // context, and the variance of (1 - kappa)(1 - A) t, t of m dimensions: 1/m.
    double sum = 0, squares = 0;
    std::int64_t pairs = 0;
    for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
        if (images.twin[i + 1] != Twin::none || images.context[i] != images.context[i + 1]) continue;
        if (images.context[i] < 0) continue;
        double expected = 0;
        for (std::size_t f = 0; f < 4; ++f) {
            const bool same = (images.present[i] >> f & 1) == (images.present[i + 1] >> f & 1);
            expected += same ? of.squared(f) : -of.squared(f);
        }
        const double rest = cosine(all[i], all[i + 1]) - 0.3 - 0.7 * expected;
        sum += rest;
        squares += rest * rest;
        ++pairs;
    }
    BOOST_REQUIRE(pairs > 400);
    const double variance = std::pow(0.7 * (1 - total), 2) / static_cast<double>(of.even_dimensions());
    const double n = static_cast<double>(pairs);
    BOOST_TEST(std::abs(sum / n) < 5 * std::sqrt(variance / n) + rounding);
    // The fourth moment of t is below 3 / m^2, so the variance's relative standard error is below sqrt(2 /
    // n).
    BOOST_TEST(std::abs(squares / n / variance - 1) < 5 * std::sqrt(2 / n));
}

BOOST_AUTO_TEST_CASE(exact_twins_are_the_same_bytes_and_near_ones_nearly) {
    const Images images = draw_images(chest, site, 0, rows, 1, nullptr, {});
    const Geometry of = geometry(chest);
    const auto all = features(of, images);
    std::int64_t exact = 0, near = 0;
    for (std::size_t i = 1; i < all.size(); ++i) {
        const double c = cosine(all[i], all[i - 1]);
        if (images.twin[i] == Twin::exact) {
            ++exact;
            BOOST_TEST(all[i] == all[i - 1]);
        } else if (images.twin[i] == Twin::near) {
            ++near;
            BOOST_TEST(all[i] != all[i - 1]);
            BOOST_TEST(c >
                       1 - near_distance * near_distance - 1e-6);  // of independent roundings: sum of squares
        } else if (images.twin[i - 1] == Twin::none) {
            BOOST_REQUIRE(c < 0.95);
        }
    }
    BOOST_TEST(exact > 5);
    BOOST_TEST(near > 5);
}

BOOST_AUTO_TEST_CASE(erasing_moves_a_row_by_the_stated_retention) {
    const Images images = draw_images(chest, site, 0, 50, 1, nullptr, {});
    for (const std::size_t rank : {0u, 2u}) {
        const Geometry of = geometry(chest, rank);
        const auto all = features(of, images);
        std::vector<std::uint16_t> erased(256), other(256);
        for (std::int64_t row = 0; row < 50; ++row) {
            of.write_erased(images, row, 0, erased);
            of.write_erased(images, row, 1, other);
            BOOST_TEST(std::abs(cosine(unit(erased), all[static_cast<std::size_t>(row)]) - of.retention()) <
                       rounding);
            BOOST_TEST(std::abs(cosine(unit(other), all[static_cast<std::size_t>(row)]) - of.retention()) <
                       rounding);
            BOOST_TEST((erased != other));
        }
    }
    BOOST_TEST(geometry(chest, 2).retention() > geometry(chest, 0).retention());
}

BOOST_AUTO_TEST_CASE(separation_falls_with_difficulty_to_nothing) {
    for (std::size_t f = 1; f < 4; ++f)
        BOOST_TEST(geometry(chest, 1).squared(f) < geometry(chest, 1).squared(f - 1));
    BOOST_TEST(geometry(chest, 2).squared(0) < geometry(chest, 0).squared(0));
    BOOST_TEST(geometry(chest, 2).squared(3) == 0);
    BOOST_TEST(difficulty(chest, 0, 0) == 0);
    BOOST_TEST(difficulty(chest, 2, 3) == 1);
    const Geometry kinds = geometry(species);
    BOOST_TEST(kinds.squared(0) == kinds.squared(4));  // a superclass is alike
    BOOST_TEST(kinds.squared(5) < kinds.squared(4));
}

BOOST_AUTO_TEST_SUITE_END()
