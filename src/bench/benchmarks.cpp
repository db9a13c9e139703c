#include "candor/bench/benchmarks.hpp"

#include "candor/bench/bootstrap.hpp"
#include "candor/bench/census.hpp"

namespace candor::bench {

namespace {

constexpr Benchmark all[] = {
    {"cell-1024", false, 3, [](const Setting&, int rounds) { return isotropic_cell(1024, rounds); }},
    {"cell-384", false, 3, [](const Setting&, int rounds) { return isotropic_cell(384, rounds); }},
    {"cell-64", false, 3, [](const Setting&, int rounds) { return isotropic_cell(64, rounds); }},
    {"cell", true, 3, [](const Setting& s, int rounds) { return directed_cell(s.features, rounds); }},
    {"census-768", false, 1, [](const Setting&, int rounds) { return isotropic_census(rounds); }},
    {"census", true, 1, [](const Setting& s, int rounds) { return directed_census(s.features, rounds); }},
    {"bounds", false, 3, [](const Setting&, int rounds) { return bounds(rounds); }},
    {"threads", false, 1, [](const Setting& s, int rounds) { return threads(s.threads, rounds); }},
    {"auroc", false, 3, [](const Setting&, int rounds) { return auroc(rounds); }},
    {"rates", false, 3, [](const Setting&, int rounds) { return rates(rounds); }},
};

}  // namespace

std::span<const Benchmark> benchmarks() {
    return all;
}

}  // namespace candor::bench
