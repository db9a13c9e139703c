#pragma once

/// Two pieces of work timed in turns, so that what slows the machine down meets both.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace candor::bench {

using Work = std::function<void()>;

/// Processor seconds of all threads, or seconds on the wall, that `work` takes.
double processor_seconds(const Work& work);
double wall_seconds(const Work& work);

struct Measurement {
    std::string name, work, peer;
    std::vector<double> seconds, peer_seconds;  ///< by round

    /// Ratio of the medians, and the least and greatest ratio of one round.
    double ratio() const;
    double lowest() const;
    double highest() const;
};

/// The middle value, or the mean of the two middle ones. @pre not empty.
double median(std::vector<double> values);

/// Times `work` and `peer` in each of `rounds` rounds by processor time, whichever was second being first the
/// next time.
void measure(Measurement& into, int rounds, const Work& work, const Work& peer);

}  // namespace candor::bench
