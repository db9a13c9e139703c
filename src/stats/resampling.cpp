#include "candor/stats/resampling.hpp"

#include <algorithm>
#include <limits>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "stats/weight_kernels.hpp"

namespace candor::stats {

Resampling::Resampling(std::uint64_t seed, std::string_view task, std::int64_t patients,
                       std::int64_t resamples)
    : seed_(seed), purpose_("bootstrap/" + std::string(task)), patients_(patients), resamples_(resamples) {
    // Patients are numbered by 32-bit integers in the kernels.
    CANDOR_REQUIRE(patients >= 0 && patients <= std::numeric_limits<std::int32_t>::max() && resamples >= 0,
                   std::to_string(patients) + " patients, " + std::to_string(resamples) + " resamples");
}

void Resampling::weights(std::int64_t first, std::int64_t count, MatrixView<Weight> out) const {
    CANDOR_REQUIRE(first >= 0 && count >= 0 && count <= resample_block && first <= resamples_ - count,
                   "resamples " + std::to_string(first) + " + " + std::to_string(count) + " of " +
                       std::to_string(resamples_));
    CANDOR_REQUIRE(out.rows == patients_ && out.cols == count,
                   std::to_string(out.rows) + " x " + std::to_string(out.cols) + " for " +
                       std::to_string(patients_) + " x " + std::to_string(count));
    // A resample is counted in a row of its own, which stays in the nearest cache, and then laid out by
    // patient.
    Matrix<Weight> counts(drawn_together, patients_);
    for (std::int64_t done = 0; done < count; done += drawn_together) {
        const std::int64_t columns = std::min(drawn_together, count - done);
        for (std::int64_t k = 0; k < drawn_together; ++k) {
            const std::span<Weight> row = counts.row(k);
            if (k >= columns) {
                std::ranges::fill(row, Weight{0});
                continue;
            }
            const Stream draws(seed_, purpose_, static_cast<std::uint64_t>(first + done + k));
            CANDOR_REQUIRE(
                draws.count_below(row.size(), row),
                "resample " + std::to_string(first + done + k) + " draws one patient more than 255 times");
        }
        transpose_counts(counts.view(), {out.data + done, out.rows, columns, out.stride});
    }
}

void Resampling::for_each_block(
    const std::function<void(MatrixView<const Weight> weights, std::int64_t first)>& take) const {
    Matrix<Weight> storage(patients_, resample_block);
    for (std::int64_t first = 0; first < resamples_; first += resample_block) {
        MatrixView<Weight> block = storage.view();
        block.cols = std::min(resample_block, resamples_ - first);
        weights(first, block.cols, block);
        take(block, first);
    }
}

}  // namespace candor::stats
