#include "candor/parallel/schedule.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <numeric>
#include <vector>

#include "candor/base/random.hpp"

using namespace candor;
using parallel::place_longest_first;

namespace {

std::vector<double> loads_of(const std::vector<double>& costs, const std::vector<int>& placed, int ranks) {
    std::vector<double> loads(static_cast<std::size_t>(ranks));
    for (std::size_t i = 0; i < costs.size(); ++i) loads.at(static_cast<std::size_t>(placed[i])) += costs[i];
    return loads;
}

/// The smallest possible largest load, by trying every placement.
double best_possible(const std::vector<double>& costs, int ranks) {
    std::vector<int> placed(costs.size());
    double best = std::accumulate(costs.begin(), costs.end(), 0.0);
    while (true) {
        best = std::min(best, std::ranges::max(loads_of(costs, placed, ranks)));
        std::size_t digit = 0;
        while (digit < placed.size() && ++placed[digit] == ranks) placed[digit++] = 0;
        if (digit == placed.size()) return best;
    }
}

/// Whole-number costs, so that loads add exactly.
std::vector<double> random_costs(std::size_t count, std::uint64_t item) {
    const Stream stream(10, "schedule", item);
    std::vector<double> costs(count);
    for (std::size_t i = 0; i < count; ++i) costs[i] = static_cast<double>(stream.below(i, 100));
    return costs;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(parallel_schedule)

BOOST_AUTO_TEST_CASE(the_longest_item_goes_first_to_the_idlest_rank) {
    // 7 to rank 0, 6 to rank 1, 5 to rank 1 (6 < 7), 4 to rank 0 (7 < 11), then 3 and 3: 11 and 11, rank 0
    // first.
    BOOST_TEST(
        place_longest_first(std::vector<double>{3, 5, 7, 4, 6, 3}, 2) == (std::vector<int>{0, 1, 0, 0, 1, 1}),
        boost::test_tools::per_element());
    BOOST_TEST(
        place_longest_first(std::vector<double>{1, 1, 1, 1, 1}, 3) == (std::vector<int>{0, 1, 2, 0, 1}),
        boost::test_tools::per_element());
    BOOST_TEST(place_longest_first(std::vector<double>{2, 9}, 5) == (std::vector<int>{1, 0}),
               boost::test_tools::per_element());
    BOOST_TEST(place_longest_first({}, 3).empty());
    BOOST_TEST(place_longest_first(std::vector<double>{0, 0}, 1) == (std::vector<int>{0, 0}),
               boost::test_tools::per_element());
}

// Graham 1969: the largest load is at most 4/3 - 1/(3 ranks) of the best possible.
BOOST_AUTO_TEST_CASE(the_largest_load_keeps_grahams_bound) {
    for (std::uint64_t item = 0; item < 40; ++item) {
        const int ranks = 2 + static_cast<int>(item % 2);
        const std::vector<double> costs = random_costs(9, item);
        const double largest = std::ranges::max(loads_of(costs, place_longest_first(costs, ranks), ranks));
        BOOST_TEST(largest * 3 * ranks <= best_possible(costs, ranks) * (4 * ranks - 1));
    }
}

BOOST_AUTO_TEST_CASE(no_rank_carries_more_than_the_mean_and_one_item) {
    for (const int ranks : {1, 2, 3, 5, 64}) {
        const std::vector<double> costs = random_costs(300, 77);
        const auto placed = place_longest_first(costs, ranks);
        const double total = std::accumulate(costs.begin(), costs.end(), 0.0);
        BOOST_TEST(std::ranges::max(loads_of(costs, placed, ranks)) <=
                   total / ranks + std::ranges::max(costs));
        BOOST_TEST(place_longest_first(costs, ranks) == placed, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_SUITE_END()
