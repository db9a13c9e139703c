#include "candor/stats/resampling.hpp"

#include <algorithm>
#include <limits>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"

namespace candor::stats {

Resampling::Resampling(std::uint64_t seed, std::string_view task, std::int64_t patients,
                       std::int64_t resamples)
    : seed_(seed), purpose_("bootstrap/" + std::string(task)), patients_(patients), resamples_(resamples) {
    // Patients are numbered by 32-bit integers in the kernels.
    CANDOR_REQUIRE(patients >= 0 && patients <= std::numeric_limits<std::int32_t>::max() && resamples >= 0,
                   std::to_string(patients) + " patients, " + std::to_string(resamples) + " resamples");
}

void Resampling::weights(std::int64_t first, std::int64_t count, MatrixView<std::uint16_t> out) const {
    CANDOR_REQUIRE(first >= 0 && count >= 0 && count <= resample_block && first <= resamples_ - count,
                   "resamples " + std::to_string(first) + " + " + std::to_string(count) + " of " +
                       std::to_string(resamples_));
    CANDOR_REQUIRE(out.rows == patients_ && out.cols == count,
                   std::to_string(out.rows) + " x " + std::to_string(out.cols) + " for " +
                       std::to_string(patients_) + " x " + std::to_string(count));
    for (std::int64_t p = 0; p < patients_; ++p) std::ranges::fill(out.row(p), std::uint16_t{0});
    const auto bound = static_cast<std::uint64_t>(patients_);
    for (std::int64_t b = 0; b < count; ++b) {
        const Stream draws(seed_, purpose_, static_cast<std::uint64_t>(first + b));
        std::uint16_t* const column = out.data + b;
        for (std::uint64_t i = 0; i < bound; ++i) {
            std::uint16_t& weight = column[static_cast<std::int64_t>(draws.below(i, bound)) * out.stride];
            CANDOR_REQUIRE(
                weight < std::numeric_limits<std::uint16_t>::max(),
                "resample " + std::to_string(first + b) + " draws one patient more than 65535 times");
            ++weight;
        }
    }
}

}  // namespace candor::stats
