#pragma once

/// The batches that heads are trained on (METHODS 8): which rows come together in an epoch, and these rows
/// with their labels side by side in memory.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "candor/base/matrix.hpp"

namespace candor::instruments {

/// Rows of a batch. The last batch of an epoch is filled up with zero rows that have no label.
inline constexpr std::int64_t batch_rows = 256;

/// A label that is not known.
inline constexpr std::int8_t missing_label = -1;

/// The rows of one dataset with the labels of all its findings.
struct LabelledRows {
    MatrixView<const float> features;      ///< N x d, rows of length one
    MatrixView<const std::int8_t> labels;  ///< findings x N: 1, 0 or missing_label
};

/// The order of the rows 0 .. rows-1 in an epoch (counted from 0): a uniform permutation by Fisher and Yates,
/// drawn from `Stream(seed, "heads/order/" + dataset, epoch)`. Neither encoder nor kind of head is part of
/// the key, so that heads of all encoders see the same batches and differ by their features alone.
/// @param seed  the study's seed plus the number of the ensemble member
std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::string_view dataset, std::int64_t epoch,
                                      std::int64_t rows);

/// One batch, gathered.
class Batch {
  public:
    Batch(std::int64_t findings, std::int64_t dimension);

    /// Takes the rows of the positions in `order`, at most batch_rows of them, and fills up the rest.
    /// @throws InternalError where there are more, or a position or the shapes are wrong.
    void gather(const LabelledRows& rows, std::span<const std::int64_t> order);

    MatrixView<const float> features() const { return features_.view(); }  ///< batch_rows x d
    std::span<const std::int8_t> labels(std::int64_t finding) const {
        return labels_.row(finding);
    }  ///< batch_rows
    std::int64_t findings() const { return labels_.rows(); }

  private:
    Matrix<float> features_;
    Matrix<std::int8_t> labels_;
};

}  // namespace candor::instruments
