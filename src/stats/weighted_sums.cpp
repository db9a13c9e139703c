#include "candor/stats/weighted_sums.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "candor/base/error.hpp"
#include "stats/weight_kernels.hpp"

namespace candor::stats {

namespace {

constexpr std::uint64_t largest_weight = std::numeric_limits<Weight>::max();
constexpr std::uint64_t largest_sum = std::uint64_t{1} << 62;

/// Patients of a sum up to here, of either sign, are added up before they are multiplied: a bucket for each
/// such sum, and one for the others.
constexpr std::uint64_t largest_grouped = 255, zero = largest_grouped, others = 2 * largest_grouped + 1;

std::uint64_t magnitude(std::int64_t v) {
    return v < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
}

}  // namespace

RowPatients::RowPatients(std::span<const std::int32_t> patient) {
    std::int32_t last = -1;
    for (std::size_t i = 0; i < patient.size(); ++i) {
        CANDOR_REQUIRE(patient[i] >= 0,
                       "row " + std::to_string(i) + " has patient " + std::to_string(patient[i]));
        last = std::max(last, patient[i]);
    }
    std::vector<std::int32_t> place(static_cast<std::size_t>(last + 1));
    for (const std::int32_t p : patient) place[static_cast<std::size_t>(p)] = 1;
    for (std::int32_t p = 0; p <= last; ++p) {
        if (place[static_cast<std::size_t>(p)] == 0) continue;
        place[static_cast<std::size_t>(p)] = static_cast<std::int32_t>(patients_.size());
        patients_.push_back(p);
    }
    place_.reserve(patient.size());
    for (const std::int32_t p : patient) place_.push_back(place[static_cast<std::size_t>(p)]);
}

WeightedSums::WeightedSums(const RowPatients& rows, std::span<const std::int64_t> value) {
    const std::span<const std::int32_t> place = rows.place();
    CANDOR_REQUIRE(place.size() == value.size(),
                   std::to_string(place.size()) + " patients, " + std::to_string(value.size()) + " values");
    std::vector<std::int64_t> sums(rows.patients().size());
    std::uint64_t room = largest_sum / largest_weight;
    for (std::size_t i = 0; i < value.size(); ++i) {
        CANDOR_REQUIRE(magnitude(value[i]) <= room,
                       "row " + std::to_string(i) + ": the weighted sum could pass 2^62 here");
        room -= magnitude(value[i]);
        sums[static_cast<std::size_t>(place[i])] += value[i];
    }
    magnitude_ = largest_sum / largest_weight - room;
    observed_ = std::accumulate(sums.begin(), sums.end(), std::int64_t{0});
    if (!rows.patients().empty()) last_patient_ = rows.patients().back();

    // Counting sort of the patients: those of each small sum together, then the others, which are rare, and
    // last those of sum 0, which are cut off.
    const auto bucket_of = [](std::int64_t sum) {
        return std::min(static_cast<std::uint64_t>(sum) + largest_grouped, others);
    };
    std::array<std::size_t, others + 1> next{};
    for (const std::int64_t sum : sums) ++next[bucket_of(sum)];
    std::size_t placed = 0;
    for (std::size_t bucket = 0; bucket <= others; ++bucket) {
        if (bucket == zero) continue;
        const std::size_t here = std::exchange(next[bucket], placed);
        placed += here;
        if (here > 0 && bucket < others)
            groups_.push_back({static_cast<std::int64_t>(bucket - zero), static_cast<std::int64_t>(here)});
    }
    next[zero] = placed;
    const std::size_t first_other = next[others];
    groups_.resize(groups_.size() + placed - first_other, {0, 1});
    ValueGroup* other = groups_.data() + groups_.size() - (placed - first_other);
    patients_.resize(sums.size());
    for (std::size_t p = 0; p < sums.size(); ++p) {
        const std::size_t bucket = bucket_of(sums[p]);
        patients_[next[bucket]++] = rows.patients()[p];
        if (bucket == others) (other++)->value = sums[p];
    }
    patients_.resize(placed);
}

void WeightedSums::add(MatrixView<const Weight> weights, std::span<std::int64_t> out) const {
    CANDOR_REQUIRE(weights.cols <= resample_block && static_cast<std::int64_t>(out.size()) == weights.cols,
                   std::to_string(weights.cols) + " resamples, " + std::to_string(out.size()) + " sums");
    CANDOR_REQUIRE(last_patient_ < weights.rows,
                   "patient " + std::to_string(last_patient_) + " of " + std::to_string(weights.rows));
    CANDOR_REQUIRE(weights.stride >= resample_block, "stride " + std::to_string(weights.stride));
    const std::uint64_t room = largest_sum - magnitude_ * largest_weight;
    for (std::size_t b = 0; b < out.size(); ++b) {
        CANDOR_REQUIRE(magnitude(out[b]) <= room,
                       "resample " + std::to_string(b) + " of the block: the weighted sum could pass 2^62");
    }
    BlockSums sums{};
    add_value_groups(weights, groups_, patients_, sums);
    for (std::size_t b = 0; b < out.size(); ++b) out[b] += static_cast<std::int64_t>(sums[b]);
}

}  // namespace candor::stats
