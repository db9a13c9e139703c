#pragma once

/// The patient bootstrap beside one resample at a time.

#include "candor/bench/paired.hpp"

namespace candor::bench {

/// AUROC of 20,000 rows of 8,000 patients in 1,000 resamples, weights included.
/// @throws InternalError where the two ways differ.
Measurement auroc(int rounds);

/// 132 weighted counts of the same.
Measurement rates(int rounds);

}  // namespace candor::bench
