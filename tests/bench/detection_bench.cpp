/// Processor seconds of the detection scores beside bare products, and of their intervals, on one core, for
/// tests/bench/detection.py.
///   usage: detection_bench scores TRAINING TEST DIMENSION FINDINGS isotropic|directed UNLABELLED ROUNDS
///          detection_bench intervals ROWS PATIENTS RESAMPLES FINDINGS
/// `scores` prints `training_neighbors mahalanobis product` a round, UNLABELLED percent of the labels
/// missing; `intervals` prints `auroc aurc`, of all findings together.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/base/random.hpp"
#include "candor/bench/made_rows.hpp"
#include "candor/bench/paired.hpp"
#include "candor/instruments/class_distances.hpp"
#include "candor/instruments/detection.hpp"
#include "candor/instruments/training_neighbors.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/neighbors/row_set.hpp"
#include "candor/stats/resampling.hpp"

namespace {

using namespace candor;
using namespace candor::instruments;

constexpr int k = 5;

/// A finding that a tenth to a third of the rows have, and that is not labelled in `unlabelled` percent: as
/// labels of all rows, below 0 where they have none.
std::vector<std::int8_t> made_labels(std::int64_t rows, std::uint64_t finding, std::uint64_t unlabelled) {
    const Stream stream(1, "bench", finding);
    std::vector<std::int8_t> out;
    for (std::int64_t i = 0; i < rows; ++i) {
        const std::uint64_t draw = stream.below(static_cast<std::uint64_t>(i), 100);
        out.push_back(static_cast<std::int8_t>(draw >= 100 - unlabelled ? -1 : draw < 10 + 2 * finding));
    }
    return out;
}

void scores(std::int64_t training, std::int64_t test, std::int64_t d, std::uint64_t findings, bool directed,
            std::uint64_t unlabelled, int rounds) {
    linalg::open_blas();
    const neighbors::RowSet rows(directed ? bench::directed_rows(training + test, d)
                                          : bench::isotropic_rows(training + test, d));
    std::vector<ContextRow> of_training, of_test;
    for (std::int64_t i = 0; i < training + test; ++i) (i < training ? of_training : of_test).emplace_back(i);
    std::vector<std::vector<std::int8_t>> labels;
    std::vector<TrainingRows> asked(findings);
    std::vector<FindingLabels> asked_classes;
    for (std::uint64_t f = 0; f < findings; ++f) {
        labels.push_back(made_labels(training + test, f, unlabelled));
        for (std::int64_t i = 0; i < training + test; ++i) {
            const std::int8_t label = labels.back()[static_cast<std::size_t>(i)];
            if (label < 0) continue;
            if (i >= training) {
                asked[f].test.emplace_back(i);
            } else {
                asked[f].training.emplace_back(i);
                asked[f].label.push_back(label);
            }
        }
    }
    for (const auto& of : labels) {
        const std::span<const std::int8_t> all(of);
        asked_classes.push_back({all.first(of_training.size()), all.subspan(of_training.size())});
    }
    constexpr std::int64_t strip = 4000;
    Matrix<float> products(std::min(strip, test), training);
    for (std::int64_t i = 0; i < products.rows(); ++i) std::ranges::fill(products.row(i), 0.0F);
    for (int round = 0; round < rounds; ++round) {
        const double searched = bench::processor_seconds(
            [&] { training_neighbors(rows, asked, k, neighbors::SearchOptions{training_block_rows}); });
        const double measured = bench::processor_seconds(
            [&] { class_distances(rows, of_training, of_test, asked_classes, 1, [] { return false; }); });
        const double multiplied = bench::processor_seconds([&] {
            for (std::int64_t first = 0; first < test; first += strip) {
                const std::int64_t count = std::min(strip, test - first);
                linalg::product(rows.centred().block(training + first, count),
                                rows.centred().block(0, training), products.view().block(0, count));
            }
        });
        std::printf("%.3f %.3f %.3f\n", searched, measured, multiplied);
        std::fflush(stdout);
    }
}

void intervals(std::int64_t n, std::int64_t patients, std::int64_t resamples, std::uint64_t findings) {
    const stats::Resampling resampling(42, "bench", patients, resamples);
    double auroc = 0, aurc = 0;
    for (std::uint64_t f = 0; f < findings; ++f) {
        const Stream stream(2, "bench", f);
        Matrix<double> made(static_cast<std::int64_t>(detection_scores), n);
        std::vector<std::int8_t> errs;
        std::vector<std::int32_t> patient;
        for (std::int64_t i = 0; i < n; ++i) {
            const auto draw = static_cast<std::uint64_t>(16 * i);
            errs.push_back(stream.below(draw, 10) < 3);
            patient.push_back(static_cast<std::int32_t>(
                i < patients ? i : stream.below(draw + 1, static_cast<std::uint64_t>(patients))));
            for (std::int64_t s = 0; s < made.rows(); ++s)
                made.row(s)[static_cast<std::size_t>(i)] =
                    stream.uniform(draw + 2 + static_cast<std::uint64_t>(s)) + 0.2 * errs.back();
            double& impurity = made.row(0)[static_cast<std::size_t>(i)];
            impurity = static_cast<double>(static_cast<int>(2 * impurity)) * 2 / k;  // three values for k = 5
        }
        auroc += bench::processor_seconds([&] {
            const DetectionCounter counter(made.view(), errs, patient);
            DetectionTally tally = counter.observed();
            tally.resampled.resize(static_cast<std::size_t>(resamples));
            resampling.for_each_block([&](MatrixView<const stats::Weight> weights, std::int64_t first) {
                const std::span<DetectionCounts> all(tally.resampled);
                counter.count(weights, all.subspan(static_cast<std::size_t>(first),
                                                   static_cast<std::size_t>(weights.cols)));
            });
            summarise(tally, patients, 0.95);
        });
        aurc += bench::processor_seconds([&] { risk_coverage(made.view(), errs, patient, resampling); });
    }
    std::printf("%.3f %.3f\n", auroc, aurc);
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const auto number = [&](std::size_t i) { return std::stoll(arguments.at(i)); };
    if (arguments.size() == 8 && arguments[0] == "scores") {
        scores(number(1), number(2), number(3), static_cast<std::uint64_t>(number(4)),
               arguments[5] == "directed", static_cast<std::uint64_t>(number(6)),
               static_cast<int>(number(7)));
    } else if (arguments.size() == 5 && arguments[0] == "intervals") {
        intervals(number(1), number(2), number(3), static_cast<std::uint64_t>(number(4)));
    } else {
        throw std::runtime_error(
            "usage: detection_bench scores TRAINING TEST DIMENSION FINDINGS isotropic|directed "
            "UNLABELLED ROUNDS | intervals ROWS PATIENTS RESAMPLES FINDINGS");
    }
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
