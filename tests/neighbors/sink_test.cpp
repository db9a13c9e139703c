#include "candor/neighbors/sink.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "candor/base/random.hpp"

using namespace candor;
using neighbors::Sink;

namespace {

constexpr double error = 0x1p-30;  // cosines and errors below are multiples of 2^-40: their sums are exact

struct Candidate {
    double cosine, score;
    std::int64_t position;
};

std::set<std::int64_t> positions(const std::vector<Sink::Proposal>& kept) {
    std::set<std::int64_t> out;
    for (const Sink::Proposal& p : kept) out.insert(p.position);
    return out;
}

/// The true k nearest by the total order.
std::set<std::int64_t> nearest(std::vector<Candidate> all, std::size_t k) {
    std::ranges::sort(all, [](const Candidate& a, const Candidate& b) {
        return a.cosine != b.cosine ? a.cosine > b.cosine : a.position < b.position;
    });
    std::set<std::int64_t> out;
    for (std::size_t i = 0; i < k; ++i) out.insert(all[i].position);
    return out;
}

/// Offers all in the given order as a search does, passing over what is below the cut.
std::set<std::int64_t> kept_of(const std::vector<Candidate>& all, int k, double band) {
    Sink sink(k, band);
    for (const Candidate& c : all) {
        if (c.score < sink.cut()) continue;
        sink.offer(c.score, c.position);
    }
    return positions(sink.kept());
}

bool holds(const std::set<std::int64_t>& kept, const std::set<std::int64_t>& wanted) {
    return std::ranges::includes(kept, wanted);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(neighbors_sink)

BOOST_AUTO_TEST_CASE(scores_within_the_band_of_the_kth_are_kept_and_no_others) {
    Sink sink(2, 0.25);
    BOOST_TEST(sink.cut() == -std::numeric_limits<double>::infinity());
    sink.offer(0.5, 0);
    BOOST_TEST(sink.cut() == -std::numeric_limits<double>::infinity());
    sink.offer(0.125, 1);
    BOOST_TEST(sink.cut() == -0.125);
    sink.offer(-0.125, 2);  // exactly at the cut
    sink.offer(-0.126, 3);
    sink.offer(0.75, 4);  // the 2nd largest is 0.5 now: the cut is 0.25
    BOOST_TEST(sink.cut() == 0.25);
    sink.offer(0.25, 5);
    BOOST_TEST(positions(sink.kept()) == (std::set<std::int64_t>{0, 4, 5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(equal_scores_are_all_kept) {
    Sink sink(1, 0);
    for (std::int64_t i = 0; i < 1000; ++i) sink.offer(0.5, i);
    BOOST_TEST(sink.kept().size() == 1000);
    sink.offer(0.75, 1000);
    BOOST_TEST(positions(sink.kept()) == (std::set<std::int64_t>{1000}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(with_fewer_than_k_everything_is_kept) {
    Sink sink(5, 0);
    for (std::int64_t i = 0; i < 4; ++i) sink.offer(-1e300, i);
    BOOST_TEST(sink.kept().size() == 4);
}

// The worst that rounding may do: every true neighbour's score is low by the whole error, every other's high
// by it.
BOOST_AUTO_TEST_CASE(no_true_neighbour_is_dropped_whatever_errors_and_order) {
    const Stream stream(9, "sink", 0);
    std::uint64_t next = 0;
    int orders = 0, too_narrow = 0, no_band = 0;
    for (int round = 0; round < 400; ++round) {
        const int k = 1 + static_cast<int>(stream.below(next++, 8));
        const auto n = static_cast<std::int64_t>(k + stream.below(next++, 300));
        // Cosines a few errors apart, many equal: all within reach of each other's errors.
        std::vector<Candidate> all;
        for (std::int64_t i = 0; i < n; ++i) {
            const double cosine = 0.5 + static_cast<double>(stream.below(next++, 64)) * 0x1p-32;
            all.push_back({cosine, cosine, i});
        }
        const std::set<std::int64_t> wanted = nearest(all, static_cast<std::size_t>(k));
        for (const bool adversary : {true, false}) {
            for (Candidate& c : all) {
                const double share = adversary ? (wanted.contains(c.position) ? -1.0 : 1.0)
                                               : static_cast<double>(stream.below(next++, 2049)) / 1024 - 1;
                c.score = c.cosine + share * error;
            }
            for (const int order : {0, 1, 2}) {
                if (order == 0) std::ranges::sort(all, std::less<>(), &Candidate::score);
                if (order == 1) std::ranges::sort(all, std::greater<>(), &Candidate::score);
                if (order == 2) {
                    for (std::size_t i = all.size(); i-- > 1;)
                        std::swap(all[i], all[stream.below(next++, i + 1)]);
                }
                BOOST_TEST(holds(kept_of(all, k, 2 * error), wanted));
                ++orders;
                too_narrow += !holds(kept_of(all, k, 2 * error * 0.99), wanted);
                no_band += !holds(kept_of(all, k, 0), wanted);
            }
        }
    }
    // The band is what it takes: a hundredth less loses some.
    BOOST_TEST(too_narrow > 0);
    BOOST_TEST(no_band > orders / 2);
}

BOOST_AUTO_TEST_CASE(what_is_kept_does_not_grow_with_what_was_offered) {
    // Rising scores, each far above the last: all but the last k fall below the cut and must be let go.
    Sink sink(3, 0x1p-20);
    for (std::int64_t i = 0; i < 100000; ++i) sink.offer(static_cast<double>(i) / 100000, i);
    BOOST_TEST(positions(sink.kept()) == (std::set<std::int64_t>{99997, 99998, 99999}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
