#pragma once

/// Sums in double whose order is fixed, so that their bits do not depend on machine, compiler or vector
/// width: 16 lanes, multiply then add, lanes folded by halves. (The build forbids contraction into FMA.)

#include <cmath>
#include <cstddef>
#include <span>

namespace candor {

/// Inner product of two equally long rows. By the widest vectors of this processor.
double dot(std::span<const float> a, std::span<const float> b);
double dot(std::span<const double> a, std::span<const double> b);

/// Euclidean norm, accumulated in double; of doubles also where their squares leave its range.
double norm(std::span<const float> a);
double norm(std::span<const double> a);

}  // namespace candor
