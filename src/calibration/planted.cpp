// METHODS 12.1: images that differ by a small localised token alone, seen by encoders that can and cannot see
// it.
//
// An image is 24 x 24 pixels: a smooth texture, and one token of 4 x 4 pixels, stripes that lie or stand:
// they define the class. Their mean is 0 over each 2 x 2, and they stand on even places, so that blurring by
// 2 x 2 wipes them out and leaves images of both classes alike in distribution.

#include <algorithm>
#include <array>
#include <cmath>

#include "calibration/cohort.hpp"
#include "calibration/proofs.hpp"

namespace candor::calibration {

namespace {

constexpr int side = 24, token = 4;
using Image = std::array<float, side * side>;

struct Filters {
    static constexpr int count = 12, width = 3;
    std::array<std::array<float, width * width>, count> weight;
};

/// Random filters of mean 0, the same for all images.
Filters make_filters() {
    Draws draws("planted/filters", 0);
    Filters filters;
    for (auto& filter : filters.weight) {
        float mean = 0;
        for (float& w : filter) mean += w = static_cast<float>(draws.normal());
        for (float& w : filter) w -= mean / static_cast<float>(filter.size());
    }
    return filters;
}

Image make_image(bool positive, Draws& draws) {
    Image image{};
    // A few waves of low frequency.
    for (int wave = 0; wave < 4; ++wave) {
        const double fx = 0.35 * draws.normal(), fy = 0.35 * draws.normal(), phase = 6.283 * draws.uniform();
        for (int y = 0; y < side; ++y) {
            for (int x = 0; x < side; ++x)
                image[static_cast<std::size_t>(y * side + x)] +=
                    static_cast<float>(std::cos(fx * x + fy * y + phase));
        }
    }
    const auto place = [&] { return 2 * static_cast<int>(draws.below((side - token) / 2 + 1)); };
    const int left = place(), top = place();
    for (int y = 0; y < token; ++y) {
        for (int x = 0; x < token; ++x) {
            // Rows of alternating sign, or columns: both of mean 0 over every 2 x 2.
            const int sign = positive ? y % 2 : x % 2;
            image[static_cast<std::size_t>((top + y) * side + left + x)] += sign == 0 ? 4.0F : -4.0F;
        }
    }
    return image;
}

/// The mean of each 2 x 2, in its four pixels.
Image blurred(const Image& image) {
    Image out{};
    for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x) {
            float sum = 0;
            for (const int dy : {0, 1}) {
                for (const int dx : {0, 1})
                    sum += image[static_cast<std::size_t>((y / 2 * 2 + dy) * side + x / 2 * 2 + dx)];
            }
            out[static_cast<std::size_t>(y * side + x)] = sum / 4;
        }
    }
    return out;
}

using Feature = std::vector<float>;

Feature pixels(const Image& image) {
    return {image.begin(), image.end()};
}

Feature patch_means(const Image& image) {
    constexpr int patch = 4, across = side / patch;
    Feature out(across * across);
    for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x)
            out[static_cast<std::size_t>(y / patch * across + x / patch)] +=
                image[static_cast<std::size_t>(y * side + x)] / (patch * patch);
    }
    return out;
}

/// Random convolutions with a rectifier, the largest response of each over the image; less their own mean, so
/// that cosines tell them apart.
Feature convolution(const Image& image) {
    static const Filters filters = make_filters();
    Feature out;
    float mean = 0;
    for (const auto& filter : filters.weight) {
        float most = 0;
        for (int y = 0; y + Filters::width <= side; ++y) {
            for (int x = 0; x + Filters::width <= side; ++x) {
                float response = 0;
                for (int dy = 0; dy < Filters::width; ++dy) {
                    for (int dx = 0; dx < Filters::width; ++dx)
                        response += filter[static_cast<std::size_t>(dy * Filters::width + dx)] *
                                    image[static_cast<std::size_t>((y + dy) * side + x + dx)];
                }
                most = std::max(most, response);
            }
        }
        out.push_back(most);
        mean += most / Filters::count;
    }
    for (float& value : out) value -= mean;
    return out;
}

struct Encoder {
    const char* name;
    bool blurs;
    Feature (*encode)(const Image&);
};
constexpr Encoder encoders[] = {{"pixels, blurred", true, pixels},
                                {"patch means, blurred", true, patch_means},
                                {"random convolution, blurred", true, convolution},
                                {"random convolution, sharp", false, convolution}};
constexpr std::size_t blind = 3;  // how many of them

/// Of each encoder: D, whether the wide interval holds 1/2, and whether the percentile interval does.
constexpr std::size_t a_encoder = 3;

Values planted_set(std::int64_t item, std::int64_t images) {
    Draws draws("planted/images", item);
    std::vector<Image> all, soft;
    Cohort cohort;
    for (std::int64_t i = 0; i < 2 * images; ++i) {
        instruments::LabelledRow row;
        row.label = static_cast<std::int8_t>(i % 2);
        row.patient = row.identity = static_cast<std::int32_t>(i);
        cohort.rows.push_back(row);
        all.push_back(make_image(row.label == 1, draws));
        soft.push_back(blurred(all.back()));
    }
    Values values;
    for (const Encoder& encoder : encoders) {
        std::vector<Feature> features;
        for (const Image& image : encoder.blurs ? soft : all) features.push_back(encoder.encode(image));
        cohort.features = Matrix<float>(2 * images, std::ssize(features.front()));
        for (std::size_t i = 0; i < features.size(); ++i)
            std::ranges::copy(features[i], cohort.features.row(static_cast<std::int64_t>(i)).begin());
        const Figures figures = figures_of(cohort, rules_of(5, false), static_cast<std::uint64_t>(item), 0,
                                           instruments::wide_draws);
        Values drawn;
        for (const auto& one : figures.subsampled) drawn.push_back(one.rate());
        const double d = figures.observed.rate();
        const auto interval = instruments::wide_interval(d, drawn, instruments::wide_share, 0.95);
        values.push_back(d);
        values.push_back(interval.low <= 0.5 && 0.5 <= interval.high);
        const auto percentile = instruments::estimate(
            resampled_rate(cohort, figures, false, static_cast<std::uint64_t>(item)), 0.95);
        values.push_back(percentile.low <= 0.5 && 0.5 <= percentile.high);
    }
    return values;
}

}  // namespace

Proof planted(const Scope& scope) {
    // Sets of 200 images a class, as the paper's, and some larger ones.
    const std::int64_t sets = scope.quick ? 20 : 200, larger = scope.quick ? 0 : 30;
    return {"planted", sets + larger,
            [sets](std::int64_t item) { return planted_set(item, item < sets ? 200 : 600); },
            [sets, larger](std::span<const Values> items) {
                std::vector<Verdict> verdicts;
                const auto tell = [&](std::span<const Values> these, const std::string& size) {
                    for (std::size_t e = 0; e < std::size(encoders); ++e) {
                        Values d;
                        std::int64_t wide = 0, percentile = 0;
                        for (const Values& one : these) {
                            d.push_back(one[a_encoder * e]);
                            wide += one[a_encoder * e + 1] > 0;
                            percentile += one[a_encoder * e + 2] > 0;
                        }
                        const std::string name = encoders[e].name + size;
                        Verdict mean = mean_verdict(name + ": D", d, e < blind ? 0.5 : 0);
                        if (e >= blind) mean.high = 0.02;  // sees the token: all but none
                        if (e >= blind) mean.low = 0;
                        verdicts.push_back(mean);
                        if (e >= blind) continue;
                        const auto share = [&](const char* what, std::int64_t held) {
                            return share_verdict(name + what, held, std::ssize(these), 0.95, 0.93, 1);
                        };
                        verdicts.push_back(share(": wide intervals hold 1/2", wide));
                        verdicts.push_back(shown(share(": percentile intervals hold 1/2", percentile)));
                    }
                };
                tell(items.first(static_cast<std::size_t>(sets)), "");
                if (larger > 0) tell(items.subspan(static_cast<std::size_t>(sets)), ", 600 images a class");
                return verdicts;
            }};
}

}  // namespace candor::calibration
