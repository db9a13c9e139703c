#pragma once

/// What a head says of its own certainty (METHODS 9): scores of a logit z that are larger where the head is
/// more likely wrong. None saturates: they keep their order at |z| = 800 as at 8.

#include <cstdint>
#include <span>

namespace candor::instruments {

/// Whether the head errs: {z >= threshold} is what it calls positive.
/// @param label 1 positive, 0 negative. @throws InternalError where z or the threshold is not finite, or the
/// label neither.
bool head_errs(double z, double threshold, std::int8_t label);

/// The smaller class probability as its logarithm, log(1 - p) = -abs(z) - log1p(exp(-abs(z))): in the order
/// of minus the larger one, which as a double is 1 from abs(z) = 37 on. @throws InternalError where z is not
/// finite; the others likewise.
double msp_score(double z);

/// -abs(z).
double max_logit_score(double z);

/// -(abs(z)/2 + log1p(exp(-abs(z)))): minus log(exp(z/2) + exp(-z/2)), the two-logit form.
double energy_score(double z);

/// -abs(z - threshold): how near the head is to deciding otherwise. @throws InternalError where one is not
/// finite.
double threshold_distance_score(double z, double threshold);

/// Standard deviation (divisor: members) of the members' probabilities 1/(1 + exp(-z)), from their logits. It
/// is that of the smaller probabilities too, which keep their digits where the others round to 1. Exactly 0
/// where all are equal. @pre at least one member.
double ensemble_score(std::span<const double> z);

}  // namespace candor::instruments
