#include "candor/instruments/batches.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"

namespace candor::instruments {

std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::string_view dataset, std::int64_t epoch,
                                      std::int64_t rows) {
    CANDOR_REQUIRE(epoch >= 0 && rows >= 0,
                   "epoch " + std::to_string(epoch) + ", " + std::to_string(rows) + " rows");
    const Stream stream(seed, "heads/order/" + std::string(dataset), static_cast<std::uint64_t>(epoch));
    std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream.below(i, i)]);
    return order;
}

Batch::Batch(std::int64_t findings, std::int64_t dimension)
    : features_(batch_rows, dimension), labels_(findings, batch_rows) {}

void Batch::gather(const LabelledRows& rows, std::span<const std::int64_t> order) {
    const std::int64_t count = std::ssize(order);
    CANDOR_REQUIRE(count <= batch_rows, std::to_string(count) + " rows");
    CANDOR_REQUIRE(rows.features.cols == features_.cols() && rows.labels.rows == labels_.rows() &&
                       rows.labels.cols == rows.features.rows,
                   std::to_string(rows.features.rows) + " x " + std::to_string(rows.features.cols) +
                       " features, " + std::to_string(rows.labels.rows) + " x " +
                       std::to_string(rows.labels.cols) + " labels");
    for (std::int64_t i = 0; i < batch_rows; ++i) {
        if (i >= count) {
            std::ranges::fill(features_.row(i), 0.0F);
            continue;
        }
        const std::int64_t row = order[static_cast<std::size_t>(i)];
        CANDOR_REQUIRE(row >= 0 && row < rows.features.rows,
                       "row " + std::to_string(row) + " of " + std::to_string(rows.features.rows));
        std::ranges::copy(rows.features.row(row), features_.row(i).begin());
    }
    for (std::int64_t f = 0; f < labels_.rows(); ++f) {
        const std::span<std::int8_t> mine = labels_.row(f);
        std::ranges::fill(mine, missing_label);
        for (std::size_t i = 0; i < order.size(); ++i)
            mine[i] = rows.labels.row(f)[static_cast<std::size_t>(order[i])];
    }
}

}  // namespace candor::instruments
