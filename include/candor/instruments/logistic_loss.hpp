#pragma once

/// Binary cross-entropy with logits over the labelled rows (METHODS 8), in forms that do not saturate:
///
///     loss(z, 1) = log(1 + exp(-z)),    loss(z, 0) = log(1 + exp(z))

#include <cstdint>
#include <span>

namespace candor::instruments {

/// The gradient of the mean loss of a batch by its logits: sigmoid(z) - y over the number of labelled rows, 0
/// for rows without a label. A NaN logit of a labelled row gives NaN.
/// @param labels     1, 0 or missing_label
/// @param gradient   as many; may be the logits themselves
/// @returns how many rows are labelled; where none is, the gradient is 0
/// @throws InternalError where the sizes differ.
std::int64_t loss_gradient(std::span<const float> logits, std::span<const std::int8_t> labels,
                           std::span<float> gradient);

/// The mean loss over the labelled rows, summed in double in the order of the rows; NaN where none is
/// labelled.
/// @throws InternalError where the sizes differ or a labelled row's logit is not finite.
double mean_loss(std::span<const double> logits, std::span<const std::int8_t> labels);

}  // namespace candor::instruments
