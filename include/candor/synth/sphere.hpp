#pragma once

/// One coordinate of a point drawn evenly from a sphere, and the largest of many such: what the planted rates
/// are simulated from, without any vector and without any search.

#include <array>
#include <cstdint>
#include <vector>

#include "candor/base/random.hpp"

namespace candor::synth {

/// The numbers of a stream, one after another.
class Draws {
  public:
    explicit Draws(const Stream& stream) : stream_(stream) {}
    double uniform() {
        if (next_ % 2 == 0) two_ = stream_.two_bits(next_ / 2);
        return uniform_of(two_[next_++ % 2]);
    }

  private:
    Stream stream_;
    std::array<std::uint64_t, 2> two_{};
    std::uint64_t next_ = 0;
};

/// A coordinate t of a point drawn evenly from the unit sphere in m dimensions; (1 + t)/2 is beta distributed
/// with parameters (m - 1)/2 twice.
class SphereCoordinate {
  public:
    /// Tabulates the quantiles, evenly in the logarithm of the tail. @pre m >= 3
    explicit SphereCoordinate(std::int64_t m);

    /// The t that is exceeded with probability `tail`, 0 < tail < 1; within 1e-5 where tail is above 1e-12.
    double exceeded_with(double tail) const;

  private:
    std::vector<double> quantile_;
};

/// The largest, second largest, ... of n independent coordinates, one at a time, without drawing the others
/// (Renyi: the gaps between the logarithms of ordered uniform numbers are independent exponential ones).
class LargestFirst {
  public:
    /// @pre n >= 1
    LargestFirst(const SphereCoordinate& coordinate, std::int64_t n) : coordinate_(coordinate), left_(n) {}

    bool empty() const { return left_ == 0; }
    /// @pre !empty()
    double next(Draws& draws);

  private:
    const SphereCoordinate& coordinate_;
    std::int64_t left_;
    double minus_log_ = 0;  ///< of the ordered uniform number reached so far
};

}  // namespace candor::synth
