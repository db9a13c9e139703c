#include "candor/embed/resize.hpp"

#include <algorithm>
#include <cmath>

#include "candor/base/error.hpp"

namespace candor::embed {

namespace {

double weight_at(Interpolation interpolation, double x) {
    x = std::abs(x);
    if (interpolation == Interpolation::bilinear) return x < 1 ? 1 - x : 0;
    constexpr double a = -0.5;
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
    return 0;
}

/// What an output number is made of: input numbers from `first` on.
struct Taps {
    std::int64_t first;
    std::vector<double> weights;
};

std::vector<Taps> taps_of(std::int64_t in, std::int64_t out, Interpolation interpolation) {
    const double scale = static_cast<double>(in) / static_cast<double>(out), wide = std::max(scale, 1.0);
    const double support = (interpolation == Interpolation::bilinear ? 1 : 2) * wide;
    std::vector<Taps> taps;
    for (std::int64_t i = 0; i < out; ++i) {
        const double centre = scale * (static_cast<double>(i) + 0.5);
        const auto first =
            std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(centre - support + 0.5)));
        const auto end = std::min(in, static_cast<std::int64_t>(std::floor(centre + support + 0.5)));
        Taps one{first, {}};
        double sum = 0;
        for (std::int64_t j = first; j < end; ++j) {
            one.weights.push_back(weight_at(interpolation, (static_cast<double>(j) - centre + 0.5) / wide));
            sum += one.weights.back();
        }
        for (double& weight : one.weights) weight /= sum;
        taps.push_back(std::move(one));
    }
    return taps;
}

}  // namespace

std::vector<double> resize(std::span<const float> plane, std::int64_t in_height, std::int64_t in_width,
                           std::int64_t height, std::int64_t width, Interpolation interpolation) {
    CANDOR_REQUIRE(std::ssize(plane) == in_height * in_width && !plane.empty() && height > 0 && width > 0,
                   std::to_string(in_height) + " x " + std::to_string(in_width));
    const std::vector<Taps> down = taps_of(in_height, height, interpolation);
    const std::vector<Taps> across = taps_of(in_width, width, interpolation);
    std::vector<double> out(static_cast<std::size_t>(height * width));
    std::vector<double> row(static_cast<std::size_t>(in_width));
    for (std::int64_t i = 0; i < height; ++i) {
        const Taps& rows = down[static_cast<std::size_t>(i)];
        std::ranges::fill(row, 0.0);
        for (std::size_t k = 0; k < rows.weights.size(); ++k) {
            const auto from = plane.subspan(
                static_cast<std::size_t>((rows.first + static_cast<std::int64_t>(k)) * in_width));
            for (std::size_t j = 0; j < row.size(); ++j)
                row[j] += rows.weights[k] * static_cast<double>(from[j]);
        }
        for (std::int64_t j = 0; j < width; ++j) {
            const Taps& columns = across[static_cast<std::size_t>(j)];
            double sum = 0;
            for (std::size_t k = 0; k < columns.weights.size(); ++k)
                sum += columns.weights[k] * row[static_cast<std::size_t>(columns.first) + k];
            out[static_cast<std::size_t>(i * width + j)] = sum;
        }
    }
    return out;
}

}  // namespace candor::embed
