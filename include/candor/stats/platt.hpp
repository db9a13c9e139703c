#pragma once

/// Platt scaling: a logistic curve from scores to probabilities (Platt 1999, the Newton iteration of Lin, Lin
/// and Weng 2007).

#include <cstdint>
#include <optional>
#include <span>

namespace candor::stats {

/// p(z) = 1 / (1 + exp(-(slope z + intercept))).
struct PlattScaling {
    double slope, intercept;

    double operator()(double score) const;
};

/// The curve that minimises the cross-entropy to Platt's targets, (n+ + 1)/(n+ + 2) for positives and 1/(n- +
/// 2) for negatives, which keep it finite where the labels can be told apart without error. Constant scores
/// give slope 0. None where a label has no rows.
/// @param label 1 positive, 0 negative.
/// @throws InternalError where the sizes differ, a score is not finite or a label is neither.
std::optional<PlattScaling> fit_platt(std::span<const double> score, std::span<const std::int8_t> label);

}  // namespace candor::stats
