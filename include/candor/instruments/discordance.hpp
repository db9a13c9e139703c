#pragma once

/// The operator for one query (METHODS 3; Eqs. 1 and 2 of the paper) and the cap it sets (3.3).

#include <cstdint>
#include <span>

#include "candor/neighbors/search.hpp"

namespace candor::instruments {

/// What one query says under one candidate rule.
struct Discordance {
    double c_pos = 0;                    ///< mean of its k largest cosines to positives
    double c_neg = 0;                    ///< the same to negatives
    double s1 = 0;                       ///< its largest cosine to a negative
    std::int64_t nearest_negative = -1;  ///< which that is: its position in the candidate list

    /// DM(x) = c(x, -) - c(x, +): above 0 the query is discordant, at 0 it is a tie.
    double margin() const { return c_neg - c_pos; }
};

/// Eq. 1 from the k nearest candidates a side, largest cosine first. Sums run in that order.
/// @pre both spans hold k >= 1 entries.
Discordance discordance(std::span<const neighbors::Neighbor> positives,
                        std::span<const neighbors::Neighbor> negatives);

/// Corollary 1: no L-Lipschitz head separates x from a negative at cosine c with a normalised margin m/L
/// above 1/2 sqrt(2 - 2 c). With c = c(x, -) the paper's cap, with c = s1 the tighter cap1.
double margin_cap(double cosine);

}  // namespace candor::instruments
