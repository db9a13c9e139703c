#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "candor/parallel/communicator.hpp"

using namespace candor;

namespace {

parallel::Communicator world() {
    return parallel::Communicator::world();
}

/// What `from` sends to `to` in round `round`: lengths differ by pair, and some are 0.
std::string letter(int from, int to, int round) {
    const int length = (from * 7 + to * 3 + round) % 5 == 0 ? 0 : 1000 * from + 10 * to + round;
    std::string text(static_cast<std::size_t>(length), static_cast<char>('a' + from));
    if (!text.empty()) text.back() = static_cast<char>('A' + to);
    return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(parallel_communicator)

BOOST_AUTO_TEST_CASE(ranks_are_numbered) {
    BOOST_TEST(world().rank() >= 0);
    BOOST_TEST(world().rank() < world().size());
    std::vector<std::int64_t> seen(static_cast<std::size_t>(world().size()));
    seen[static_cast<std::size_t>(world().rank())] = 1;
    world().sum(seen);
    for (const std::int64_t times : seen) BOOST_TEST(times == 1);
}

BOOST_AUTO_TEST_CASE(bytes_of_any_root_reach_every_rank) {
    for (int root = 0; root < world().size(); ++root) {
        for (const std::size_t length : {0, 1, 100000}) {
            const std::string sent =
                std::string(length, static_cast<char>('a' + root)) + std::string("\0end", 4);
            // What the others held before does not matter.
            const std::string mine = world().rank() == root ? sent : std::string(17, '?');
            BOOST_TEST(world().broadcast(mine, root) == sent);
        }
        BOOST_TEST(world().broadcast(world().rank() == root ? "" : "much", root) == "");
    }
    BOOST_TEST(world().broadcast(world().rank() == 0 ? "zero" : "") == "zero");
}

BOOST_AUTO_TEST_CASE(sums_and_maxima_are_64_bit_and_exact) {
    const std::int64_t rank = world().rank(), size = world().size();
    const std::int64_t large = std::int64_t{1} << 58;
    std::vector<std::int64_t> sums{1, rank, large + rank, -rank},
        maxima{rank, -rank, large - rank, -large + rank};
    world().sum(sums);
    world().maximum(maxima);
    const std::int64_t below = size * (size - 1) / 2;
    BOOST_TEST(sums == (std::vector<std::int64_t>{size, below, size * large + below, -below}),
               boost::test_tools::per_element());
    BOOST_TEST(maxima == (std::vector<std::int64_t>{size - 1, 0, large, -large + size - 1}),
               boost::test_tools::per_element());
    world().sum({});
    world().maximum({});
}

BOOST_AUTO_TEST_CASE(everyone_gets_what_everyone_gathered) {
    const int rank = world().rank();
    // Every third rank has nothing.
    const auto share = [](int r) {
        return r % 3 == 1 ? std::string() : std::string(static_cast<std::size_t>(100 * r + 1), 'x');
    };
    const std::vector<std::string> all = world().all_gather(share(rank));
    BOOST_TEST(all.size() == static_cast<std::size_t>(world().size()));
    for (std::size_t r = 0; r < all.size(); ++r) BOOST_TEST(all[r] == share(static_cast<int>(r)));
}

BOOST_AUTO_TEST_CASE(the_root_alone_gets_what_was_gathered) {
    for (int root = 0; root < world().size(); ++root) {
        const std::vector<std::string> gathered = world().gather(letter(world().rank(), root, 1), root);
        if (world().rank() != root) {
            BOOST_TEST(gathered.empty());
            continue;
        }
        BOOST_TEST(gathered.size() == static_cast<std::size_t>(world().size()));
        for (std::size_t r = 0; r < gathered.size(); ++r)
            BOOST_TEST(gathered[r] == letter(static_cast<int>(r), root, 1));
    }
}

BOOST_AUTO_TEST_CASE(each_rank_gets_what_each_sent_to_it) {
    const int rank = world().rank();
    for (int round = 0; round < 6; ++round) {
        std::vector<std::string> outgoing;
        for (int to = 0; to < world().size(); ++to) outgoing.push_back(letter(rank, to, round));
        const std::vector<std::string> incoming = world().exchange(outgoing);
        BOOST_TEST(incoming.size() == outgoing.size());
        for (std::size_t from = 0; from < incoming.size(); ++from) {
            BOOST_TEST(incoming[from] == letter(static_cast<int>(from), rank, round));
        }
    }
    // Nobody has anything for anybody.
    for (const std::string& nothing :
         world().exchange(std::vector<std::string>(static_cast<std::size_t>(world().size())))) {
        BOOST_TEST(nothing == "");
    }
    // One rank has everything for the last one.
    const int last = world().size() - 1;
    std::vector<std::string> one(static_cast<std::size_t>(world().size()));
    if (rank == 0) one.back() = std::string(5'000'000, 'z');
    const std::vector<std::string> got = world().exchange(one);
    for (std::size_t from = 0; from < got.size(); ++from) {
        BOOST_TEST(got[from].size() == (from == 0 && rank == last ? 5'000'000 : 0));
    }
}

BOOST_AUTO_TEST_CASE(a_barrier_lets_everyone_through) {
    BOOST_CHECK_NO_THROW(world().barrier());
}

BOOST_AUTO_TEST_SUITE_END()
