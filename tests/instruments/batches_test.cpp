#include "candor/instruments/batches.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <vector>

#include "candor/base/error.hpp"

using namespace candor;
using namespace candor::instruments;

BOOST_AUTO_TEST_SUITE(instruments_batches)

BOOST_AUTO_TEST_CASE(an_epoch_visits_every_row_once) {
    for (const std::int64_t rows : {0, 1, 2, 255, 1000}) {
        std::vector<std::int64_t> order = epoch_order(42, "site", 3, rows),
                                  all(static_cast<std::size_t>(rows));
        std::iota(all.begin(), all.end(), 0);
        BOOST_TEST((rows < 255 || order != all));
        std::ranges::sort(order);
        BOOST_TEST(order == all, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(the_order_is_its_key_s_alone) {
    const auto order = epoch_order(42, "site", 0, 100);
    BOOST_TEST((order == epoch_order(42, "site", 0, 100)));
    BOOST_TEST((order != epoch_order(42, "site", 1, 100)));
    BOOST_TEST((order != epoch_order(43, "site", 0, 100)));
    BOOST_TEST((order != epoch_order(42, "other", 0, 100)));
}

// Each of 6 rows is in each of 6 places in a sixth of 6,000 epochs, give or take 5 standard deviations of 29.
BOOST_AUTO_TEST_CASE(all_places_are_equally_likely) {
    std::vector<int> counts(36);
    for (std::int64_t epoch = 0; epoch < 6000; ++epoch) {
        const auto order = epoch_order(1, "site", epoch, 6);
        for (std::size_t place = 0; place < 6; ++place)
            ++counts[place * 6 + static_cast<std::size_t>(order[place])];
    }
    for (const int count : counts) BOOST_TEST(std::abs(count - 1000) <= 145);
}

BOOST_AUTO_TEST_CASE(a_batch_that_is_not_full_is_filled_with_zero_rows_without_labels) {
    constexpr std::int64_t rows = 300, d = 3, findings = 2;
    Matrix<float> features(rows, d);
    Matrix<std::int8_t> labels(findings, rows);
    for (std::int64_t i = 0; i < rows; ++i) {
        std::ranges::fill(features.row(i), static_cast<float>(i + 1));
        labels.row(0)[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i % 2);
        labels.row(1)[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i % 3 - 1);
    }
    const LabelledRows given = {features.view(), labels.view()};
    Batch batch(findings, d);
    std::vector<std::int64_t> order(256);
    std::iota(order.rbegin(), order.rend(), 44);
    batch.gather(given, order);  // a full one before, which must leave nothing behind
    order = {299, 0, 7};
    batch.gather(given, order);
    for (std::int64_t i = 0; i < batch_rows; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool real = at < order.size();
        for (const float value : batch.features().row(i))
            BOOST_REQUIRE_EQUAL(value, real ? static_cast<float>(order[at] + 1) : 0.0F);
        BOOST_REQUIRE_EQUAL(batch.labels(0)[at], real ? order[at] % 2 : missing_label);
        BOOST_REQUIRE_EQUAL(batch.labels(1)[at], real ? order[at] % 3 - 1 : missing_label);
    }
}

BOOST_AUTO_TEST_CASE(wrong_positions_and_shapes) {
    Matrix<float> features(10, 3);
    Matrix<std::int8_t> labels(2, 10);
    for (std::int64_t f = 0; f < 2; ++f) std::ranges::fill(labels.row(f), std::int8_t{0});
    for (std::int64_t i = 0; i < 10; ++i) std::ranges::fill(features.row(i), 1.0F);
    Batch batch(2, 3), wide(2, 4), more(3, 3);
    const LabelledRows given = {features.view(), labels.view()};
    const std::vector<std::int64_t> fine = {9}, beyond = {10}, before = {-1}, many(257);
    batch.gather(given, fine);
    for (const auto* order : {&beyond, &before, &many})
        BOOST_CHECK_THROW(batch.gather(given, *order), InternalError);
    BOOST_CHECK_THROW(wide.gather(given, fine), InternalError);
    BOOST_CHECK_THROW(more.gather(given, fine), InternalError);
    BOOST_CHECK_THROW(epoch_order(1, "site", -1, 5), InternalError);
}

BOOST_AUTO_TEST_SUITE_END()
