#include "candor/bench/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/matrix.hpp"
#include "candor/base/random.hpp"
#include "candor/stats/auroc.hpp"
#include "candor/stats/resampling.hpp"
#include "candor/stats/weighted_sums.hpp"

namespace candor::bench {

namespace {

constexpr std::int64_t bootstrap_rows = 20'000, patients = 8000, resamples = 1000;

/// Calls `use` with the weights of one resample after the other.
template <class Use>
void for_each_resample(Use use) {
    const stats::Resampling resampling(0, "bench", patients, resamples);
    Matrix<stats::Weight> block(patients, stats::resample_block);
    std::vector<double> weight(static_cast<std::size_t>(patients));
    for (std::int64_t b = 0; b < resamples; ++b) {
        MatrixView<stats::Weight> one = block.view();
        one.cols = 1;
        resampling.weights(b, 1, one);
        for (std::int64_t p = 0; p < patients; ++p) weight[static_cast<std::size_t>(p)] = block.row(p)[0];
        use(weight, b);
    }
}

std::vector<std::int32_t> made_patients() {
    const Stream stream(0, "bench/patients", 0);
    std::vector<std::int32_t> patient;
    for (std::int64_t i = 0; i < bootstrap_rows; ++i)
        patient.push_back(static_cast<std::int32_t>(stream.below(static_cast<std::uint64_t>(i), patients)));
    return patient;
}

}  // namespace

Measurement auroc(int rounds) {
    Measurement result{"auroc",
                       "AUROC of 20,000 rows, 8,000 patients, 1,000 resamples",
                       "one resample at a time, rows sorted once",
                       {},
                       {}};
    const std::vector<std::int32_t> patient = made_patients();
    struct Row {
        double score;
        std::int32_t patient;
        bool positive;
    };
    std::vector<Row> sorted;
    std::vector<double> scores[2];
    std::vector<std::int32_t> of[2];
    const Stream label(0, "bench/labels", 0), score(0, "bench/scores", 0);
    for (std::int64_t i = 0; i < bootstrap_rows; ++i) {
        const auto at = static_cast<std::uint64_t>(i);
        const bool positive = label.uniform(at) < 0.3;
        const double value = score.uniform(at) + (positive ? 0.2 : 0.0);
        sorted.push_back({value, patient[at], positive});
        scores[positive].push_back(value);
        of[positive].push_back(patient[at]);
    }
    std::ranges::sort(sorted, {}, &Row::score);
    std::vector<double> plain(resamples), ours(resamples);
    const auto work = [&] {
        const stats::PairCounter counter(scores[1], of[1], scores[0], of[0]);
        std::vector<std::int64_t> wins(resamples), pairs(resamples);
        const stats::Resampling resampling(0, "bench", patients, resamples);
        resampling.for_each_block([&](MatrixView<const stats::Weight> weights, std::int64_t first) {
            const auto from = static_cast<std::size_t>(first), count = static_cast<std::size_t>(weights.cols);
            counter.count(weights, std::span(wins).subspan(from, count),
                          std::span(pairs).subspan(from, count));
        });
        for (std::size_t b = 0; b < ours.size(); ++b) ours[b] = stats::auroc(wins[b], pairs[b]);
    };
    const auto peer = [&] {
        for_each_resample([&](const std::vector<double>& weight, std::int64_t b) {
            double below = 0, positives = 0, wins = 0;  // no two scores are equal
            for (const Row& row : sorted) {
                const double w = weight[static_cast<std::size_t>(row.patient)];
                wins += row.positive ? w * below : 0;
                positives += row.positive ? w : 0;
                below += row.positive ? 0 : w;
            }
            plain[static_cast<std::size_t>(b)] = wins / (positives * below);
        });
    };
    measure(result, rounds, work, peer);
    for (std::size_t b = 0; b < ours.size(); ++b)
        CANDOR_REQUIRE(std::abs(ours[b] - plain[b]) < 1e-12, "AUROC of a resample");
    return result;
}

Measurement rates(int rounds) {
    constexpr int cells = 132;
    Measurement result{"rates",
                       "132 rates of 20,000 rows, 8,000 patients, 1,000 resamples",
                       "one resample at a time, rows added up by patient",
                       {},
                       {}};
    const std::vector<std::int32_t> patient = made_patients();
    std::vector<std::vector<std::int64_t>> hit(cells);
    for (int cell = 0; cell < cells; ++cell) {
        const Stream stream(0, "bench/hits", static_cast<std::uint64_t>(cell));
        for (std::int64_t i = 0; i < bootstrap_rows; ++i)
            hit[static_cast<std::size_t>(cell)].push_back(stream.uniform(static_cast<std::uint64_t>(i)) <
                                                          0.05);
    }
    Matrix<double> ours(cells, resamples), plain(cells, resamples);
    const auto work = [&] {
        const stats::RowPatients rows(patient);
        std::vector<stats::WeightedSums> sums;
        for (const std::vector<std::int64_t>& values : hit) sums.emplace_back(rows, values);
        const stats::Resampling resampling(0, "bench", patients, resamples);
        std::vector<std::int64_t> total;
        resampling.for_each_block([&](MatrixView<const stats::Weight> weights, std::int64_t first) {
            for (int cell = 0; cell < cells; ++cell) {
                total.assign(static_cast<std::size_t>(weights.cols), 0);
                sums[static_cast<std::size_t>(cell)].add(weights, total);
                std::ranges::copy(total, ours.row(cell).begin() + first);
            }
        });
    };
    const auto peer = [&] {
        Matrix<double> by_patient(cells, patients);
        for (int cell = 0; cell < cells; ++cell) std::ranges::fill(by_patient.row(cell), 0.0);
        for (int cell = 0; cell < cells; ++cell) {
            const std::vector<std::int64_t>& values = hit[static_cast<std::size_t>(cell)];
            for (std::size_t i = 0; i < patient.size(); ++i)
                by_patient.row(cell)[static_cast<std::size_t>(patient[i])] += static_cast<double>(values[i]);
        }
        for_each_resample([&](const std::vector<double>& weight, std::int64_t b) {
            for (int cell = 0; cell < cells; ++cell) {
                double total = 0;
                const std::span<const double> row = std::as_const(by_patient).row(cell);
                for (std::size_t p = 0; p < row.size(); ++p) total += row[p] * weight[p];
                plain.row(cell)[static_cast<std::size_t>(b)] = total;
            }
        });
    };
    measure(result, rounds, work, peer);
    for (int cell = 0; cell < cells; ++cell)
        CANDOR_REQUIRE(std::ranges::equal(ours.row(cell), plain.row(cell)), "sums of a resample");
    return result;
}

}  // namespace candor::bench
