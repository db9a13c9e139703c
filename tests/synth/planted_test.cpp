#include "candor/synth/planted.hpp"

#include <boost/math/distributions/beta.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace candor;
using namespace candor::synth;

namespace {

const Subject alone{{0}, {0, 1, 2}, {"a"}, false};
const Subject chest{{0}, {0, 1, 2}, {"a", "b", "c", "d"}, false};
const Subject species{{0}, {0, 1, 2}, {"a", "b", "c", "d", "e"}, true};

Geometry geometry(const Subject& subject, std::size_t rank, int k) {
    return {subject, rank, "encoder", false, 128, k, 1};
}

CellCounts cell(std::int64_t positives, std::int64_t negatives, std::int64_t pairs = 0) {
    CellCounts counts;
    counts.positives = positives;
    counts.negatives = negatives;
    counts.positive_pairs = counts.negative_pairs = pairs;
    counts.n = std::min(positives, negatives) - 1;
    counts.queries = positives;
    return counts;
}

Expected simulate(const Subject& subject, std::size_t rank, std::size_t f, const CellCounts& counts,
                  int k = 5, std::int64_t queries = 20'000) {
    return simulate_cell(geometry(subject, rank, k), subject, f, counts, k, queries, Stream(3, "test", 0));
}

/// k = 1: the chance that the largest of n coordinates exceeds the largest of n others by more than `gap`, by
/// the midpoint rule.
double closed_form(std::int64_t m, std::int64_t n, double gap) {
    const double half = static_cast<double>(m - 1) / 2;
    const boost::math::beta_distribution<double> beta(half, half);
    const auto below = [&](double t) {
        return t >= 1 ? 1.0 : t <= -1 ? 0.0 : boost::math::cdf(beta, (1 + t) / 2);
    };
    constexpr int steps = 20'000;
    double sum = 0;
    for (int i = 0; i < steps; ++i) {
        const double t = -1 + 2 * (i + 0.5) / steps;
        const double density = boost::math::pdf(beta, (1 + t) / 2) / 2;  // of a coordinate
        const double largest =
            static_cast<double>(n) * std::pow(below(t), static_cast<double>(n - 1)) * density;
        sum += largest * (1 - std::pow(below(t + gap), static_cast<double>(n))) * 2 / steps;
    }
    return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(synth_planted)

BOOST_AUTO_TEST_CASE(a_blind_encoder_is_at_one_half_at_every_number_of_candidates) {
    for (const std::int64_t n : {5, 6, 20, 500}) {
        const Expected expected = simulate(alone, 2, 0, cell(n + 1, 3 * n));
        BOOST_TEST(std::abs(expected.rate() - 0.5) < 4 * expected.standard_error(),
                   n << ": " << expected.rate());
    }
}

BOOST_AUTO_TEST_CASE(one_neighbour_and_one_finding_have_a_closed_form) {
    for (const Subject* subject : {&alone, &species}) {
        for (const std::size_t rank : {0u, 1u}) {
            for (const std::int64_t n : {3, 40}) {
                const Geometry of = geometry(*subject, rank, 1);
                const double a = of.squared(0);
                const double gap = (subject->exclusive ? a : 2 * a) / (1 - a);
                const double expected = closed_form(of.even_dimensions(), n, gap);
                const Expected got = simulate(*subject, rank, 0, cell(n + 1, n + 1), 1);
                BOOST_TEST(std::abs(got.rate() - expected) < 4 * got.standard_error(),
                           got.rate() << " instead of " << expected);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(rates_rise_over_encoders_and_findings) {
    for (std::size_t rank = 0; rank < 3; ++rank) {
        for (std::size_t f = 0; f < 4; ++f) {
            const Expected here = simulate(chest, rank, f, cell(101, 300));
            const double error = 4 * std::sqrt(2.0) * here.standard_error();
            if (f > 0) BOOST_TEST(simulate(chest, rank, f - 1, cell(101, 300)).rate() < here.rate() + error);
            if (rank > 0)
                BOOST_TEST(simulate(chest, rank - 1, f, cell(101, 300)).rate() < here.rate() + error);
        }
    }
    // At the candidates that the separation was chosen for.
    BOOST_TEST(std::abs(simulate(chest, 0, 0, cell(101, 300)).rate() - 0.02) < 0.01);
    BOOST_TEST(std::abs(simulate(chest, 2, 3, cell(101, 300)).rate() - 0.50) < 0.02);
}

BOOST_AUTO_TEST_CASE(twins_lower_the_rate_by_what_they_are) {
    // Every positive has a twin among the candidates: its cosine of about 1 makes every query concordant.
    BOOST_TEST(simulate(alone, 2, 0, cell(101, 101, 50)).rate() < 0.01);
    // A tenth of them has: about a tenth of the rate is gone.
    const Expected some = simulate(alone, 2, 0, cell(101, 101, 5));
    BOOST_TEST(std::abs(some.rate() - 0.45) < 0.02);
    // Of four times as many positives as there are candidates a tenth has a twin, of which a quarter is among
    // these.
    CellCounts many = cell(401, 101, 20);
    const Expected fewer = simulate(alone, 2, 0, many);
    BOOST_TEST(std::abs(fewer.rate() - 0.5 * (1 - 0.1 * 0.25)) < 0.02);
    // They are not their own twins where another dataset is asked.
    CellCounts asks = cell(101, 101, 5);
    asks.asks_reference = true;
    const Expected other = simulate(alone, 2, 0, asks);
    BOOST_TEST(std::abs(other.rate() - 0.5) < 4 * other.standard_error());
}

BOOST_AUTO_TEST_CASE(the_standard_error_is_never_zero) {
    BOOST_TEST((Expected{100, 0}).standard_error() > 0.009);
    BOOST_TEST((Expected{100, 50}).standard_error() == 0.05, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_SUITE_END()
