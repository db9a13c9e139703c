#include "candor/neighbors/panel_cache.hpp"

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "candor/base/random.hpp"

using namespace candor;
using neighbors::PanelCache;
using neighbors::PanelRows;

namespace {

/// Loads panels that say which they are, and watches who is loaded, held and let go.
class Shelf {
  public:
    PanelCache::Load load() {
        return [this](std::int64_t panel) {
            if (inside_.exchange(true)) ++side_by_side;
            std::this_thread::sleep_for(std::chrono::microseconds(200));
            order.push_back(panel);
            PanelRows rows;
            rows.norm = {static_cast<double>(panel)};
            inside_ = false;
            if (panel == broken) throw std::runtime_error("no such panel");
            return rows;
        };
    }

    std::vector<std::int64_t> order;  // of the loads
    std::atomic<int> side_by_side = 0;
    std::int64_t broken = -1;

  private:
    std::atomic<bool> inside_ = false;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(neighbors_panel_cache)

BOOST_AUTO_TEST_CASE(the_panels_used_last_are_there) {
    Shelf shelf;
    PanelCache cache(5, 3, shelf.load());
    for (const std::int64_t panel : {0, 1, 2, 0, 3, 0, 2, 3, 1, 0}) {
        BOOST_TEST(cache.get(panel)->norm.at(0) == static_cast<double>(panel));
    }
    // 3 puts out 1, the one that was not asked for longest; 1 puts out 0, and 0 then 2.
    BOOST_TEST(shelf.order == std::vector<std::int64_t>({0, 1, 2, 3, 1, 0}),
               boost::test_tools::per_element());
    BOOST_TEST(cache.loads() == 6);
}

BOOST_AUTO_TEST_CASE(a_panel_read_ahead_is_read_once) {
    Shelf shelf;
    PanelCache cache(4, 3, shelf.load());
    cache.get(0);
    cache.ahead(1);
    cache.ahead(1);
    BOOST_TEST(cache.get(1)->norm.at(0) == 1);
    cache.ahead(0);  // is there
    cache.get(0);
    BOOST_TEST(cache.loads() == 2);
    cache.ahead(2);
    cache.ahead(3);  // what was begun is kept first
    BOOST_TEST(cache.get(3)->norm.at(0) == 3);
    BOOST_TEST(cache.get(2)->norm.at(0) == 2);
    BOOST_TEST(cache.loads() == 4);
    BOOST_TEST(shelf.order == std::vector<std::int64_t>({0, 1, 2, 3}), boost::test_tools::per_element());
}

// Whatever is asked for and read ahead: the right panel comes, one is loaded at a time, and no more stay than
// are allowed beside what callers hold.
BOOST_AUTO_TEST_CASE(no_more_panels_stay_than_are_allowed) {
    for (const std::int64_t most : {0, 1, 2, 4}) {
        Shelf shelf;
        PanelCache cache(9, most, shelf.load());
        std::vector<std::weak_ptr<const PanelRows>> given;
        const Stream stream(3, "panels", static_cast<std::uint64_t>(most));
        std::shared_ptr<const PanelRows> held = cache.get(8);
        given.push_back(held);
        std::ptrdiff_t there_most = 0;
        for (std::uint64_t i = 0; i < 200; ++i) {
            const auto panel = static_cast<std::int64_t>(stream.below(2 * i, 9));
            const auto rows = cache.get(panel);
            BOOST_REQUIRE(rows->norm.at(0) == static_cast<double>(panel));
            given.push_back(rows);
            if (i % 3 == 0) cache.ahead(static_cast<std::int64_t>(stream.below(2 * i + 1, 9)));
            std::vector<const PanelRows*> there;
            for (const auto& one : given) {
                if (const auto alive = one.lock()) there.push_back(alive.get());
            }
            std::ranges::sort(there);
            const auto repeated = std::ranges::unique(there);
            there_most = std::max(there_most, repeated.begin() - there.begin());
        }
        BOOST_TEST(held->norm.at(0) == 8);  // what is held stays as it was
        // Those allowed, the one held since the beginning, and the one asked for before.
        BOOST_TEST(there_most <= std::max<std::int64_t>(most, 2) + 2);
        BOOST_TEST(there_most >= std::max<std::int64_t>(most, 2));
        BOOST_TEST(cache.loads() >= std::ssize(shelf.order));
        BOOST_TEST(cache.loads() <= std::ssize(shelf.order) + 1);  // one may be on its way
        BOOST_TEST(shelf.side_by_side == 0);
    }
}

BOOST_AUTO_TEST_CASE(without_room_for_three_nothing_is_read_ahead) {
    Shelf shelf;
    PanelCache cache(4, 2, shelf.load());
    cache.get(0);
    cache.get(1);
    cache.ahead(2);
    BOOST_TEST(cache.loads() == 2);
    BOOST_TEST(cache.get(0)->norm.at(0) == 0);
    BOOST_TEST(cache.loads() == 2);
}

BOOST_AUTO_TEST_CASE(a_load_that_fails_is_told_to_who_asks_and_may_be_tried_again) {
    Shelf shelf;
    PanelCache cache(3, 3, shelf.load());
    shelf.broken = 1;
    BOOST_CHECK_THROW(cache.get(1), std::runtime_error);
    cache.ahead(1);
    BOOST_CHECK_THROW(cache.get(1), std::runtime_error);
    shelf.broken = -1;
    BOOST_TEST(cache.get(1)->norm.at(0) == 1);
    BOOST_TEST(cache.get(0)->norm.at(0) == 0);
    // One that is left on its way is waited for.
    cache.ahead(2);
}

BOOST_AUTO_TEST_SUITE_END()
