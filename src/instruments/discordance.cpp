#include "candor/instruments/discordance.hpp"

#include <algorithm>
#include <cmath>

namespace candor::instruments {

namespace {

double mean_cosine(std::span<const neighbors::Neighbor> nearest) {
    double sum = 0;
    for (const neighbors::Neighbor& neighbor : nearest) sum += neighbor.cosine;
    return sum / static_cast<double>(nearest.size());
}

}  // namespace

Discordance discordance(std::span<const neighbors::Neighbor> positives,
                        std::span<const neighbors::Neighbor> negatives) {
    return {mean_cosine(positives), mean_cosine(negatives), negatives.front().cosine,
            negatives.front().position};
}

double margin_cap(double cosine) {
    return 0.5 * std::sqrt(std::max(0.0, 2 - 2 * cosine));
}

}  // namespace candor::instruments
