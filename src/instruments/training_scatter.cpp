#include "candor/instruments/training_scatter.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/sum.hpp"
#include "candor/base/threads.hpp"
#include "candor/linalg/cholesky.hpp"
#include "candor/linalg/gemm.hpp"

namespace candor::instruments {

namespace {

constexpr std::int64_t batch_blocks = 8;  // whose rows are in memory at a time
constexpr std::int64_t strip_rows = 128;  // of the scatter, by one thread

void add(std::span<const double> row, std::span<double> sum) {
    std::ranges::transform(sum, row, sum.begin(), std::plus<>());
}

Matrix<double> zeros(std::int64_t rows, std::int64_t cols) {
    Matrix<double> out(rows, cols);
    for (std::int64_t i = 0; i < rows; ++i) std::ranges::fill(out.row(i), 0.0);
    return out;
}

std::vector<double> mean_of(const UnitRows& rows, std::span<const ContextRow> which, int threads) {
    Matrix<double> sums = zeros(unit_blocks(which), rows.dimension());
    for_each_on_threads(threads, sums.rows(), [&](std::int64_t b) {
        const Matrix<double> block = rows.read(unit_block(which, b));
        for (std::int64_t i = 0; i < block.rows(); ++i) add(block.row(i), sums.row(b));
    });
    std::vector<double> mean(static_cast<std::size_t>(rows.dimension()));
    for (std::int64_t b = 0; b < sums.rows(); ++b) add(sums.row(b), mean);
    for (double& v : mean) v /= static_cast<double>(which.size());
    return mean;
}

}  // namespace

double TrainingScatter::Finding::within() const {
    double between = 0;
    for (std::size_t c = 0; c < 2; ++c) {
        const std::span<const double> total = sum.row(static_cast<std::int64_t>(c));
        between += dot(total, total) / static_cast<double>(count[c]);
    }
    return squares - between;
}

std::vector<double> TrainingScatter::Finding::mean(const TrainingScatter& all, std::size_t c) const {
    std::vector<double> out(all.mean);
    const std::span<const double> total = sum.row(static_cast<std::int64_t>(c));
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += total[j] / static_cast<double>(count[c]);
    return out;
}

std::optional<TrainingScatter> training_scatter(const UnitRows& rows, std::span<const ContextRow> training,
                                                std::span<const std::span<const std::int8_t>> labels,
                                                int threads, const std::function<bool()>& stops) {
    for (const auto& of : labels)
        CANDOR_REQUIRE(of.size() == training.size(), std::to_string(training.size()) + " training rows, " +
                                                         std::to_string(of.size()) + " labels");
    const std::int64_t d = rows.dimension(), strips = (d + strip_rows - 1) / strip_rows,
                       findings = std::ssize(labels);
    TrainingScatter all;
    all.rows = std::ssize(training);
    all.mean = mean_of(rows, training, threads);
    all.scatter = zeros(d, d);
    all.findings.resize(labels.size());
    for (TrainingScatter::Finding& finding : all.findings) finding.sum = zeros(2, d);
    for (std::int64_t first = 0; first < unit_blocks(training); first += batch_blocks) {
        if (stops()) return std::nullopt;
        const std::int64_t blocks = std::min(batch_blocks, unit_blocks(training) - first),
                           from = first * unit_block_rows,
                           count = std::min(blocks * unit_block_rows, all.rows - from);
        Matrix<double> batch(count, d);
        std::vector<double> square(static_cast<std::size_t>(count));
        for_each_on_threads(threads, blocks, [&](std::int64_t b) {
            const Matrix<double> block = rows.read(unit_block(training, first + b));
            for (std::int64_t i = 0; i < block.rows(); ++i) {
                const std::span<double> row = batch.row(b * unit_block_rows + i);
                std::ranges::transform(block.row(i), all.mean, row.begin(), std::minus<>());
                square[static_cast<std::size_t>(b * unit_block_rows + i)] = dot(row, row);
            }
        });
        for (const double one : square) all.squares += one;
        Matrix<double> is_of_class = zeros(2 * findings, count), sums(2 * findings, d);
        for (std::int64_t f = 0; f < findings; ++f) {
            for (std::int64_t i = 0; i < count; ++i) {
                const std::int8_t label =
                    labels[static_cast<std::size_t>(f)][static_cast<std::size_t>(from + i)];
                if (label < 0) continue;
                CANDOR_REQUIRE(label <= 1, "label " + std::to_string(label));
                is_of_class.row(2 * f + label)[static_cast<std::size_t>(i)] = 1;
                ++all.findings[static_cast<std::size_t>(f)].count[static_cast<std::size_t>(label)];
            }
        }
        // The last strips are the longest.
        for_each_on_threads(threads, strips, [&](std::int64_t s) {
            const std::int64_t row = (strips - 1 - s) * strip_rows;
            linalg::add_scatter_rows(batch.view(), all.scatter.view(), row, std::min(strip_rows, d - row));
        });
        linalg::multiply(is_of_class.view(), std::as_const(batch).view(), sums.view());
        for (std::int64_t f = 0; f < findings; ++f) {
            TrainingScatter::Finding& finding = all.findings[static_cast<std::size_t>(f)];
            for (const std::int64_t c : {0, 1}) {
                add(sums.row(2 * f + c), finding.sum.row(c));
                finding.squares += dot(std::as_const(is_of_class).row(2 * f + c), square);
            }
        }
    }
    return all;
}

}  // namespace candor::instruments
