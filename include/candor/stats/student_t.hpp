#pragma once

/// Student's t: the p-value of every t-test (METHODS 5, 7, 11) and the intervals over cells (11).

namespace candor::stats {

/// P(|T| >= |t|) for T with `degrees` degrees of freedom; 0 for an infinite t.
/// @throws InternalError where t is NaN or degrees is not positive and finite.
double two_sided_t(double t, double degrees);

/// The t with P(|T| <= t) = confidence: half the width of an interval in standard errors.
/// @throws InternalError where confidence is outside (0, 1) or degrees is not positive and finite.
double t_quantile(double confidence, double degrees);

}  // namespace candor::stats
