#include "candor/instruments/adam.hpp"

#include <cmath>
#include <string>

#include "candor/base/error.hpp"

// Vectors whose size only the machine knows cannot be members: where there are such, the fixed ones serve.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
// The rest of this file is compiled once for each instruction set that Highway knows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "instruments/adam.cpp"
#include <hwy/foreach_target.h>
// In this order: Highway's own header needs the one above before it.
#include <hwy/highway.h>

#ifndef CANDOR_ADAM_ONCE
#define CANDOR_ADAM_ONCE
namespace candor::instruments {

/// What a step multiplies by, rounded once.
struct AdamFactors {
    float step, root;  // rate / (1 - beta1^t), 1 / sqrt(1 - beta2^t)

    static constexpr auto decay = static_cast<float>(Adam::weight_decay);
    static constexpr auto keep1 = static_cast<float>(Adam::beta1), add1 = static_cast<float>(1 - Adam::beta1);
    static constexpr auto keep2 = static_cast<float>(Adam::beta2), add2 = static_cast<float>(1 - Adam::beta2);
    static constexpr auto epsilon = static_cast<float>(Adam::epsilon);
};

}  // namespace candor::instruments
#endif

HWY_BEFORE_NAMESPACE();
namespace candor::instruments::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void update(float* w, float* m, float* v, const float* gradient, std::int64_t count,
            const AdamFactors& factors) {
    using F = AdamFactors;
    std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto decay = hn::Set(d, F::decay), keep1 = hn::Set(d, F::keep1), add1 = hn::Set(d, F::add1);
    const auto keep2 = hn::Set(d, F::keep2), add2 = hn::Set(d, F::add2), epsilon = hn::Set(d, F::epsilon);
    const auto step = hn::Set(d, factors.step), root = hn::Set(d, factors.root);
    for (; i + lanes <= count; i += lanes) {
        const auto weight = hn::LoadU(d, w + i);
        const auto g = hn::Add(hn::LoadU(d, gradient + i), hn::Mul(decay, weight));
        const auto first = hn::Add(hn::Mul(keep1, hn::LoadU(d, m + i)), hn::Mul(add1, g));
        const auto second = hn::Add(hn::Mul(keep2, hn::LoadU(d, v + i)), hn::Mul(hn::Mul(add2, g), g));
        const auto below = hn::Add(hn::Mul(hn::Sqrt(second), root), epsilon);
        hn::StoreU(first, d, m + i);
        hn::StoreU(second, d, v + i);
        hn::StoreU(hn::Sub(weight, hn::Div(hn::Mul(step, first), below)), d, w + i);
    }
#endif
    for (; i < count; ++i) {
        const float g = gradient[i] + F::decay * w[i];
        m[i] = F::keep1 * m[i] + F::add1 * g;
        v[i] = F::keep2 * v[i] + F::add2 * g * g;
        w[i] -= factors.step * m[i] / (std::sqrt(v[i]) * factors.root + F::epsilon);
    }
}

}  // namespace candor::instruments::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace candor::instruments {

HWY_EXPORT(update);

void adam_step(std::span<float> w, std::span<float> m, std::span<float> v, std::span<const float> gradient,
               std::int64_t t) {
    CANDOR_REQUIRE(m.size() == w.size() && v.size() == w.size() && gradient.size() == w.size() && t >= 1,
                   std::to_string(w.size()) + " weights, " + std::to_string(gradient.size()) +
                       " of a gradient, step " + std::to_string(t));
    const auto steps = static_cast<double>(t);
    const AdamFactors factors = {static_cast<float>(Adam::rate / (1 - std::pow(Adam::beta1, steps))),
                                 static_cast<float>(1 / std::sqrt(1 - std::pow(Adam::beta2, steps)))};
    HWY_DYNAMIC_DISPATCH(update)
    (w.data(), m.data(), v.data(), gradient.data(), static_cast<std::int64_t>(w.size()), factors);
}

}  // namespace candor::instruments
#endif
