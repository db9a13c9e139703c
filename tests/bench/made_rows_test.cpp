#include "candor/bench/made_rows.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <utility>

#include "candor/neighbors/row_set.hpp"

using namespace candor;

BOOST_AUTO_TEST_SUITE(bench_made_rows)

BOOST_AUTO_TEST_CASE(isotropic_rows_are_standard_normal) {
    const Matrix<float> rows = bench::isotropic_rows(400, 101);
    double sum = 0, square = 0;
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
        for (const float value : rows.row(i)) {
            sum += value;
            square += static_cast<double>(value) * value;
        }
    }
    const double n = 400 * 101;  // five standard errors of the mean, and of the mean square
    BOOST_TEST(std::abs(sum / n) < 5 / std::sqrt(n));
    BOOST_TEST(std::abs(square / n - 1) < 5 * std::sqrt(2 / n));
}

BOOST_AUTO_TEST_CASE(prevalences_run_from_1_to_40_percent) {
    const auto findings = bench::many_findings(20'000, 12);
    BOOST_TEST(findings.size() == 12U);
    BOOST_TEST(std::abs(std::ranges::count(findings.front(), true) - 200) <= 1);
    BOOST_TEST(std::abs(std::ranges::count(findings.back(), true) - 8000) <= 1);
}

// Of every query both sides are asked, each for as many candidates, and never itself.
BOOST_AUTO_TEST_CASE(sides_are_as_deep) {
    const bench::MadeFindings made(bench::many_findings(1000, 3));
    const auto questions = made.questions();
    BOOST_TEST(questions.size() == 6U);
    for (std::size_t f = 0; f < 3; ++f) {
        const neighbors::Question &without = questions[2 * f], &with = questions[2 * f + 1];
        BOOST_TEST(without.queries.data() == with.queries.data());
        BOOST_TEST(with.queries.size() == 2 * with.list.size());
        for (std::size_t q = 0; q < with.queries.size(); ++q) {
            for (const neighbors::Question* side : {&without, &with}) {
                const Reach reach = side->reach[q];
                const bool skips = reach.skip >= 0 && reach.skip < reach.end;
                BOOST_TEST(reach.end - skips == std::ssize(with.list) - 1);
                if (reach.skip >= 0)
                    BOOST_TEST(side->list[static_cast<std::size_t>(reach.skip)].value ==
                               with.queries[q].value);
            }
        }
    }
}

// The features stand for an encoder's: the bounds rule most pairs out.
BOOST_AUTO_TEST_CASE(directed_rows_have_leading_directions) {
    const bench::MadeFindings made(bench::half_positive(2000));
    const auto questions = made.questions();
    const neighbors::RowSet rows(bench::directed_rows(2000, 512));
    neighbors::Census census(rows, questions, 5, {});
    for (std::int64_t i = 0; i < census.panels(); ++i) {
        for (std::int64_t j = i; j < census.panels(); ++j) census.meet(i, j);
    }
    const neighbors::CensusCost cost = census.cost();
    BOOST_TEST(cost.directions == 128);
    BOOST_TEST(cost.bounded > cost.products);
    BOOST_TEST(cost.survivors < cost.bounded / 4);
}

BOOST_AUTO_TEST_SUITE_END()
