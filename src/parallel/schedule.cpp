#include "candor/parallel/schedule.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

namespace candor::parallel {

std::vector<int> place_longest_first(std::span<const double> costs, int ranks) {
    std::vector<std::size_t> order(costs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });

    using Load = std::pair<double, int>;
    std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
    for (int rank = 0; rank < ranks; ++rank) loads.emplace(0.0, rank);

    std::vector<int> placed(costs.size());
    for (const std::size_t item : order) {
        auto [load, rank] = loads.top();
        loads.pop();
        placed[item] = rank;
        loads.emplace(load + costs[item], rank);
    }
    return placed;
}

}  // namespace candor::parallel
