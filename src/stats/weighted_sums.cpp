#include "candor/stats/weighted_sums.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "candor/base/error.hpp"
#include "candor/stats/resampling.hpp"

namespace candor::stats {

namespace {

constexpr std::uint64_t largest_weight = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint64_t largest_sum = std::uint64_t{1} << 62;

/// Values whose magnitudes sum to at most this keep every 32-bit partial sum below 2^31.
constexpr std::uint64_t largest_staged = std::numeric_limits<std::int32_t>::max() / largest_weight;

std::uint64_t magnitude(std::int64_t v) {
    return v < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
}

/// 32-bit partial sums of a block, emptied into the 64-bit ones before they could overflow.
struct Stage {
    std::array<std::int32_t, resample_block> sum{};
    std::uint64_t used = 0;

    void empty_into(std::span<std::int64_t> out) {
        for (std::size_t b = 0; b < out.size(); ++b) out[b] += sum[b];
        sum.fill(0);
        used = 0;
    }
};

}  // namespace

void weighted_sums(MatrixView<const std::uint16_t> weights, std::span<const std::int32_t> patient,
                   std::span<const std::int64_t> value, std::span<std::int64_t> out) {
    CANDOR_REQUIRE(patient.size() == value.size(),
                   std::to_string(patient.size()) + " patients, " + std::to_string(value.size()) + " values");
    CANDOR_REQUIRE(weights.cols <= resample_block && static_cast<std::int64_t>(out.size()) == weights.cols,
                   std::to_string(weights.cols) + " resamples, " + std::to_string(out.size()) + " sums");
    // What the magnitudes may add up to, whatever the weights, from the sums that `out` holds already.
    std::uint64_t start = 0;
    for (const std::int64_t sum : out) start = std::max(start, magnitude(sum));
    std::uint64_t room = start > largest_sum ? 0 : (largest_sum - start) / largest_weight;
    for (std::size_t i = 0; i < value.size(); ++i) {
        CANDOR_REQUIRE(patient[i] >= 0 && patient[i] < weights.rows,
                       "row " + std::to_string(i) + ": patient " + std::to_string(patient[i]) + " of " +
                           std::to_string(weights.rows));
        CANDOR_REQUIRE(magnitude(value[i]) <= room,
                       "row " + std::to_string(i) + ": the weighted sum could pass 2^62 here");
        room -= magnitude(value[i]);
    }

    Stage stage;
    for (std::size_t i = 0; i < value.size(); ++i) {
        if (value[i] == 0) continue;
        const std::span<const std::uint16_t> w = weights.row(patient[i]);
        const std::uint64_t size = magnitude(value[i]);
        if (size > largest_staged) {
            for (std::size_t b = 0; b < w.size(); ++b) out[b] += w[b] * value[i];
            continue;
        }
        if (stage.used + size > largest_staged) stage.empty_into(out);
        stage.used += size;
        const auto v = static_cast<std::int32_t>(value[i]);
        if (v == 1) {
            for (std::size_t b = 0; b < w.size(); ++b) stage.sum[b] += w[b];
        } else {
            for (std::size_t b = 0; b < w.size(); ++b) stage.sum[b] += w[b] * v;
        }
    }
    stage.empty_into(out);
}

}  // namespace candor::stats
