#pragma once

/// The cap held against trained heads (METHODS 3.3; Proposition 1 and Corollary 1 of the paper).

#include <cstdint>
#include <span>
#include <vector>

#include "candor/stats/interval.hpp"

namespace candor::instruments {

/// A discordant case: what a head says of it and of its nearest candidate negative.
struct HeadCase {
    double z = 0;           ///< raw output at x
    double z_negative = 0;  ///< at the negative nearest to x
    double s1 = 0;          ///< cosine of the two
};

/// m = min(z(x) - t, t - z(x-)): how far the threshold t lies between the two. At most 0 where it does not.
double head_margin(const HeadCase& of, double threshold);

/// Half the distance of two rows can be above cap1 by what rounding did: to single precision each row moved
/// by at most 2^-24, and s1, a sum in double, is off by less than 2^-46, which in 1/2 sqrt(2 - 2 s1) is at
/// most 2^-23.5.
inline constexpr double cap_rounding = 0x1p-22;

/// The discordant cases of a cell under one head. Plain numbers only.
struct HeadMargins {
    std::int64_t cases = 0;
    std::int64_t separated = 0;  ///< with m > 0; the others have no margin
    /// With m/L > cap1 + cap_rounding: impossible where L bounds the head's slope.
    std::int64_t violations = 0;
    /// Over the separated cases; NaN where there are none.
    stats::Quartiles margin{};  ///< m/L
    stats::Quartiles cap1{};    ///< 1/2 sqrt(2 - 2 s1)
    stats::Quartiles share{};   ///< (m/L) / cap1: 1 is all that the cap allows; of cases with cap1 > 0
};

/// @param lipschitz  L of the head (Heads::lipschitz)
/// @throws InternalError where L or the threshold is not finite, L < 0, an output is not finite, or s1 is not
/// a cosine.
HeadMargins head_margins(std::span<const HeadCase> cases, double threshold, double lipschitz);

}  // namespace candor::instruments
