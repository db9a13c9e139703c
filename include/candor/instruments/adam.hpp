#pragma once

/// Adam (Kingma and Ba 2015, algorithm 1) with the constants of METHODS 8.

#include <cstdint>
#include <span>

namespace candor::instruments {

struct Adam {
    static constexpr double rate = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    static constexpr double weight_decay = 1e-4;
};

/// One step, in single precision and in this order, without contraction, so that the bits do not depend on
/// the width of the processor's vectors:
///
///     g <- g + weight_decay w                       (added to the gradient, not decoupled)
///     m <- beta1 m + (1 - beta1) g
///     v <- beta2 v + (1 - beta2) g g
///     w <- w - rate/(1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
///
/// What is not finite stays so in w.
/// @param w, m, v   weights, first and second moments, changed in place
/// @param gradient  of the loss; is not changed
/// @param t         which step of these weights this is, from 1
/// @throws InternalError where the sizes differ or t < 1.
void adam_step(std::span<float> w, std::span<float> m, std::span<float> v, std::span<const float> gradient,
               std::int64_t t);

}  // namespace candor::instruments
