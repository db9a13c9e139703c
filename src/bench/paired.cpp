#include "candor/bench/paired.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "candor/base/error.hpp"

namespace candor::bench {

namespace {

double processor_now() {
    std::timespec now{};
    CANDOR_REQUIRE(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0, "no processor clock");
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<double> ratios(const Measurement& of) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < of.seconds.size(); ++i) ratios.push_back(of.seconds[i] / of.peer_seconds[i]);
    return ratios;
}

}  // namespace

double processor_seconds(const Work& work) {
    const double start = processor_now();
    work();
    return processor_now() - start;
}

double wall_seconds(const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    CANDOR_REQUIRE(!values.empty(), "the median of nothing");
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double Measurement::ratio() const {
    return median(seconds) / median(peer_seconds);
}
double Measurement::lowest() const {
    return std::ranges::min(ratios(*this));
}
double Measurement::highest() const {
    return std::ranges::max(ratios(*this));
}

void measure(Measurement& into, int rounds, const Work& work, const Work& peer) {
    for (int round = 0; round < rounds; ++round) {
        if (round % 2 == 0) into.seconds.push_back(processor_seconds(work));
        into.peer_seconds.push_back(processor_seconds(peer));
        if (round % 2 == 1) into.seconds.push_back(processor_seconds(work));
    }
}

}  // namespace candor::bench
