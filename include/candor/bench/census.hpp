#pragma once

/// The search for neighbours beside the bare matrix products that a search per label would need.

#include <cstdint>

#include "candor/base/matrix.hpp"
#include "candor/bench/paired.hpp"

namespace candor::bench {

inline constexpr std::int64_t cell_rows = 8000, census_rows = 20'000;

/// One finding, half of the rows with it, all of them queries; features without leading directions.
Measurement isotropic_cell(std::int64_t dimension, int rounds);
/// The same of the first cell_rows of `features`, or of made ones that lie along few directions.
Measurement directed_cell(const Matrix<float>* features, int rounds);

/// Twelve findings at prevalences from 1 % to 40 %, features without leading directions.
Measurement isotropic_census(int rounds);
/// The same of the first census_rows of `features`, or of made ones that lie along few directions.
Measurement directed_census(const Matrix<float>* features, int rounds);

/// What looking for leading directions costs where there are none: beside the search that does not look.
Measurement bounds(int rounds);

/// The time on `count` threads beside what it would be if the time on one thread shrank as that of bare
/// products does; seconds are on the wall.
Measurement threads(int count, int rounds);

}  // namespace candor::bench
