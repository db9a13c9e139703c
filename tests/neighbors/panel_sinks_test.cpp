#include "candor/neighbors/panel_sinks.hpp"

#include <algorithm>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "made_rows.hpp"

using namespace candor;
using namespace candor::testing;
using neighbors::Neighbor;
using neighbors::PanelSinks;
using neighbors::Question;

namespace {

constexpr int k = 4;
constexpr int long_list = 20;  // of which no order is held
constexpr std::int64_t rows = 60;

/// Two questions about 60 rows: everyone asks both; the second sees a list of even rows, without itself, and
/// not to its end.
struct Asked {
    explicit Asked(int wanted) {
        for (std::int64_t i = 0; i < rows; ++i) {
            all.emplace_back(i);
            of_all.push_back({rows, i});
            if (i % 2 == 0) even.emplace_back(i);
            of_even.push_back({rows / 2 - 3, i % 2 == 0 ? i / 2 : -1});
        }
        questions = {{all, all, of_all, wanted}, {even, all, of_even, wanted}};
    }
    std::vector<ContextRow> all, even;
    std::vector<Reach> of_all, of_even;
    std::vector<Question> questions;
};

/// The first rows of a census as a panel.
struct Panel {
    explicit Panel(std::int64_t count, int neighbours = k)
        : wanted(neighbours), asked(neighbours), census(rows, asked.questions, {}, 16, rows) {
        const neighbors::RowSet source(gaussian<float>(rows, 8));
        std::vector<ContextRow> which;
        for (std::int64_t u = 0; u < count; ++u) which.push_back(census.row(u));
        std::vector<ContextRow> sample = first_rows(rows);
        numbers = neighbors::load_panel(source, which, neighbors::Centring(source.read(sample)), nullptr);
        scale = {*std::ranges::max_element(numbers.radius), 0, 1};
    }

    /// Facing both lists.
    PanelSinks sinks() const {
        PanelSinks made(census, asked.questions.size(), k, 0, numbers, scale);
        made.face(0, made.size(), everyone);
        return made;
    }

    int wanted;
    Asked asked;
    neighbors::CensusRows census;
    neighbors::Block everyone{0, rows, {3}, {3}};
    neighbors::PanelRows numbers;
    neighbors::Scale scale;
};

using Kept = std::vector<std::tuple<std::int64_t, std::size_t, std::int32_t>>;

/// What all rows have kept, by row, question and other.
Kept kept_of(PanelSinks& sinks) {
    Kept kept;
    for (std::int64_t i = 0; i < sinks.size(); ++i)
        sinks.release(i, 0, rows, [&](std::size_t q, std::int32_t other) { kept.emplace_back(i, q, other); });
    std::ranges::sort(kept);
    return kept;
}

/// A score of a pair: many are equal, and few are near.
float score_of(std::int64_t i, std::int64_t other) {
    const Stream stream(19, "scores", static_cast<std::uint64_t>(i));
    return static_cast<float>(stream.below(static_cast<std::uint64_t>(other), 24)) / 8;
}

/// Shows all rows of the census of which `is_shown` holds, in their order or in another.
void show(PanelSinks& sinks, const std::function<bool(std::int64_t)>& is_shown, bool backwards = false) {
    for (std::int64_t i = 0; i < sinks.size(); ++i) {
        for (std::int64_t at = 0; at < rows; ++at) {
            const std::int64_t other = backwards ? rows - 1 - at : at;
            if (is_shown(other)) sinks.take(i, other, score_of(i, other));
        }
    }
}

/// The definition: of each question, everything within reach whose score is at least the k-th less the band,
/// which is far below an eighth here.
Kept by_definition(const Panel& panel, std::int64_t count) {
    Kept kept;
    for (std::int64_t i = 0; i < count; ++i) {
        for (std::size_t q = 0; q < 2; ++q) {
            std::vector<std::pair<float, std::int32_t>> all;
            for (std::int64_t other = 0; other < rows; ++other) {
                const std::int32_t position = panel.census.position(q, other);
                const Reach& reach = panel.census.reach(q, i);
                if (position < 0 || position >= reach.end || position == reach.skip) continue;
                all.emplace_back(-score_of(i, other), static_cast<std::int32_t>(other));
            }
            std::ranges::sort(all);
            for (const auto& [score, other] : all) {
                if (score <= all[static_cast<std::size_t>(panel.wanted) - 1].first)
                    kept.emplace_back(i, q, other);
            }
        }
    }
    std::ranges::sort(kept);
    return kept;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(neighbors_panel_sinks)

BOOST_AUTO_TEST_CASE(rounding_goes_one_way) {
    for (const double value : {0.0, 0.1, -0.1, 1.0, 1.0 + 0x1p-40, -1.0 - 0x1p-40, 3.0e-39, -7.7}) {
        BOOST_TEST(neighbors::rounded_down(value) <= value);
        BOOST_TEST(neighbors::rounded_up(value) >= value);
        BOOST_TEST(std::nextafter(neighbors::rounded_down(value), 10.0F) >= neighbors::rounded_up(value));
        const bool is_float = static_cast<double>(static_cast<float>(value)) == value;
        BOOST_TEST((neighbors::rounded_down(value) == neighbors::rounded_up(value)) == is_float);
    }
}

BOOST_AUTO_TEST_CASE(what_may_be_among_the_nearest_is_kept_in_any_order) {
    for (const int wanted : {k, long_list}) {
        const Panel panel(20, wanted);
        const Kept expected = by_definition(panel, 20);
        BOOST_TEST(std::ssize(expected) > 20 * 2 * wanted);  // ties at the k-th
        for (const bool backwards : {false, true}) {
            PanelSinks sinks = panel.sinks();
            show(
                sinks, [](std::int64_t) { return true; }, backwards);
            BOOST_TEST((kept_of(sinks) == expected));
            BOOST_TEST(kept_of(sinks).empty());  // it was moved out
        }
    }
}

BOOST_AUTO_TEST_CASE(only_rows_of_a_range_are_released) {
    const Panel panel(5);
    PanelSinks sinks = panel.sinks();
    show(sinks, [](std::int64_t) { return true; });
    Kept some, rest;
    for (std::int64_t i = 0; i < 5; ++i) {
        sinks.release(i, 10, 30, [&](std::size_t q, std::int32_t other) {
            BOOST_TEST((other >= 10 && other < 40));
            some.emplace_back(i, q, other);
        });
    }
    rest = kept_of(sinks);
    BOOST_TEST(!some.empty());
    BOOST_TEST(!rest.empty());
    some.insert(some.end(), rest.begin(), rest.end());
    std::ranges::sort(some);
    BOOST_TEST((some == by_definition(panel, 5)));
}

// Parts that were shown different rows, packed and added one after another, are as one that was shown all.
BOOST_DATA_TEST_CASE(what_was_packed_and_added_is_as_if_it_had_stayed,
                     boost::unit_test::data::make({k, long_list}), wanted) {
    const Panel panel(20, wanted);
    const Kept expected = by_definition(panel, 20);
    for (const std::int64_t parts : {1, 2, 3, 60}) {
        PanelSinks whole = panel.sinks();
        for (std::int64_t p = 0; p < parts; ++p) {
            PanelSinks part = panel.sinks();
            show(
                part, [&](std::int64_t other) { return other % parts == p; }, p % 2 == 1);
            PanelSinks again = panel.sinks();
            again.add(part.pack());
            BOOST_TEST((kept_of(again) == kept_of(part)));
            show(part, [&](std::int64_t other) { return other % parts == p; });
            whole.add(part.pack());
        }
        BOOST_TEST((kept_of(whole) == expected), parts << " parts");
    }
    // Away in between.
    std::string away;
    for (const std::int64_t third : {0, 1, 2}) {
        PanelSinks sinks = panel.sinks();
        if (!away.empty()) sinks.add(away);
        show(sinks, [&](std::int64_t other) { return other % 3 == third; });
        away = sinks.pack();
        if (third == 2) BOOST_TEST((kept_of(sinks) == expected));
    }
    const Panel smaller(7, wanted);
    PanelSinks other = smaller.sinks();
    BOOST_CHECK_THROW(other.add(panel.sinks().pack()), InternalError);
}

// What crowded rows have decided, and the cuts that they took from it, are packed too.
BOOST_AUTO_TEST_CASE(what_was_decided_before_is_packed_too) {
    const Panel panel(3);
    PanelSinks a = panel.sinks(), b = panel.sinks(), whole = panel.sinks();
    a.decided(1, 0) = {{0.9, 3}, {0.5, 7}, {0.5, 9}, {0.4, 1}};
    b.decided(1, 0) = {{0.9, 2}, {0.5, 8}, {0.1, 0}};
    b.decided(2, 1) = {{0.3, 5}};
    b.settle(2, 1, 10);
    whole.add(a.pack());
    whole.add(b.pack());
    const auto pairs = [](const std::vector<Neighbor>& list) {
        std::vector<std::pair<double, std::int64_t>> out;
        for (const Neighbor& one : list) out.emplace_back(one.cosine, one.position);
        return out;
    };
    // The k first by cosine, then position.
    BOOST_TEST((pairs(whole.take_decided(1, 0)) ==
                std::vector<std::pair<double, std::int64_t>>{{0.9, 2}, {0.9, 3}, {0.5, 7}, {0.5, 8}}));
    BOOST_TEST(whole.take_decided(1, 0).empty());  // it was moved out
    BOOST_TEST(whole.take_decided(1, 1).empty());
    BOOST_TEST(whole.take_decided(0, 0).empty());
    BOOST_TEST((pairs(whole.take_decided(2, 1)) == std::vector<std::pair<double, std::int64_t>>{{0.3, 5}}));
    // Row 2 takes nothing of the second list any more that is far below a cosine of 10; of the first it does.
    show(whole, [](std::int64_t) { return true; });
    for (const auto& [i, q, other] : kept_of(whole)) BOOST_TEST(!(i == 2 && q == 1));
}

// Thousands of entries with one score are put aside, and a row that has put aside too many says so; packed
// and added they are all there.
BOOST_AUTO_TEST_CASE(a_crowd_is_noticed_and_packed) {
    const std::int64_t many = 4200;
    const std::vector<ContextRow> list = first_rows(many), query{ContextRow(0)};
    const std::vector<Reach> reach{{many, 0}};
    const std::vector<Question> questions{{list, query, reach}};
    const neighbors::CensusRows census(many, questions, {}, 512, many);
    const neighbors::RowSet source(gaussian<float>(many, 2));
    const neighbors::PanelRows numbers = neighbors::load_panel(
        source, std::vector<ContextRow>{census.row(0)}, neighbors::Centring(source.read(query)), nullptr);
    BOOST_REQUIRE(census.row(0).value == 0);
    const neighbors::Scale scale{numbers.radius[0], 0, 1};
    PanelSinks sinks(census, 1, k, 0, numbers, scale);
    sinks.face(0, 1, census.panels().front().front());
    std::int64_t noticed = -1;
    for (std::int64_t other = 0; other < many; ++other) {
        sinks.take(0, other, 0.5F);
        if (noticed < 0 && sinks.is_crowded(0)) noticed = other;
    }
    // k + 3 have room in the sink, and the row itself is none.
    BOOST_TEST(noticed == 64 + 1 + k + 3);
    PanelSinks again(census, 1, k, 0, numbers, scale);
    again.face(0, 1, census.panels().front().front());
    again.add(sinks.pack());
    BOOST_TEST(again.is_crowded(0));
    for (PanelSinks* one : {&sinks, &again}) {
        std::vector<std::int32_t> kept;
        one->release(0, 0, many, [&](std::size_t, std::int32_t other) { kept.push_back(other); });
        std::ranges::sort(kept);
        BOOST_TEST(std::ssize(kept) == many - 1);
        BOOST_TEST((std::ranges::unique(kept).begin() == kept.end()));
        BOOST_TEST(!one->is_crowded(0));
    }
}

// What a row faces sets the lowest score that it takes of any of it.
BOOST_AUTO_TEST_CASE(a_cut_is_the_lowest_of_the_lists_faced) {
    const Panel panel(6);
    PanelSinks sinks = panel.sinks();
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const neighbors::Block& everyone = panel.everyone;
    const neighbors::Block first_alone{0, rows, {1}, {3}}, nobody{0, rows, {0}, {3}};
    BOOST_TEST(sinks.face(0, 6, everyone));
    // Those on one list and those on both that row 0 can see, itself not among them.
    std::vector<std::int64_t> one, both;
    for (std::int64_t other = 1; other < rows; ++other) {
        const std::int32_t position = panel.census.position(1, other);
        if (position < 0) one.push_back(other);
        if (position >= 0 && position < panel.census.reach(1, 0).end) both.push_back(other);
    }
    for (std::size_t n = 0; n < k; ++n) {
        BOOST_TEST(*sinks.tile_cuts(0) == -infinity);
        BOOST_TEST(sinks.wants(0, one[n], -9.0F));
        sinks.take(0, one[n], 0.75F);
    }
    // The first list has its k, the second none.
    BOOST_TEST(*sinks.tile_cuts(0) == -infinity);
    BOOST_TEST(!sinks.wants(0, one[k], 0.5F));
    BOOST_TEST(sinks.wants(0, both[0], -9.0F));
    BOOST_TEST(sinks.face(0, 6, first_alone));
    BOOST_TEST(*sinks.tile_cuts(0) <= 0.75F);
    BOOST_TEST(*sinks.tile_cuts(0) > 0.74F);
    sinks.face(0, 6, everyone);
    for (std::size_t n = 0; n < k; ++n) sinks.take(0, both[n], 0.25F);
    BOOST_TEST(*sinks.tile_cuts(0) <= 0.25F);
    BOOST_TEST(*sinks.tile_cuts(0) > 0.24F);
    BOOST_TEST(!sinks.wants(0, both[k], 0.125F));
    BOOST_TEST(sinks.wants(0, both[k], 0.25F));
    BOOST_TEST(!sinks.wants(0, one[k], 0.25F));
    BOOST_TEST(*sinks.tile_cuts(1) == -infinity);  // of the others nothing has changed
    BOOST_TEST(!sinks.face(0, 6, nobody));
    BOOST_TEST(*sinks.tile_cuts(0) == infinity);
}

BOOST_AUTO_TEST_SUITE_END()
