#pragma once

/// What `candor bench` measures: candor beside what it is made of, on this machine.

#include <span>

#include "candor/base/matrix.hpp"
#include "candor/bench/paired.hpp"

namespace candor::bench {

struct Setting {
    int threads = 1;                          ///< of the benchmark `threads`; all others use one
    const Matrix<float>* features = nullptr;  ///< to measure with instead of made ones, where of use
};

struct Benchmark {
    const char* name;
    bool takes_features;  ///< Setting::features are of use to it
    int rounds;           ///< so that all together take about a minute
    Measurement (*run)(const Setting& setting, int rounds);
};

/// All of them, in the order of a report.
std::span<const Benchmark> benchmarks();

}  // namespace candor::bench
