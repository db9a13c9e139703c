#include "candor/instruments/mahalanobis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/sum.hpp"
#include "candor/linalg/cholesky.hpp"

namespace candor::instruments {

namespace {

Matrix<double> zeros(std::int64_t rows, std::int64_t cols) {
    Matrix<double> out(rows, cols);
    for (std::int64_t i = 0; i < rows; ++i) std::ranges::fill(out.row(i), 0.0);
    return out;
}

double squared_length(std::span<const double> a) {
    return dot(a, a);
}

}  // namespace

bool scatters(double variance, std::int64_t n) {
    // Equal unit rows differ from their mean by its rounding, n/2 ulps in each number at the most.
    const double rounding = static_cast<double>(n) * std::numeric_limits<double>::epsilon();
    return variance > rounding * rounding;
}

std::optional<Mahalanobis> Mahalanobis::of(const Matrix<double>& means, Matrix<double> scatter,
                                           std::int64_t n) {
    const std::int64_t d = scatter.rows();
    double trace = 0;
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j <= i; ++j)
            scatter.row(i)[static_cast<std::size_t>(j)] /= static_cast<double>(n);
        trace += scatter.row(i)[static_cast<std::size_t>(i)];
    }
    if (!scatters(trace, n)) return std::nullopt;
    for (std::int64_t i = 0; i < d; ++i)
        scatter.row(i)[static_cast<std::size_t>(i)] += mahalanobis_ridge * (trace / static_cast<double>(d));
    CANDOR_REQUIRE(linalg::cholesky(scatter.view()),
                   "a covariance with trace " + std::to_string(trace) + " is not positive definite");

    Mahalanobis fitted;
    fitted.mean_.assign(means.row(0).begin(), means.row(0).end());
    fitted.apart_ = Matrix<double>(1, d);
    std::ranges::transform(means.row(1), means.row(0), fitted.apart_.row(0).begin(), std::minus<>());
    linalg::solve_lower(scatter.view(), fitted.apart_.view());
    fitted.factor_ = std::move(scatter);
    return fitted;
}

std::optional<Mahalanobis> Mahalanobis::fit(const UnitRows& rows, std::span<const ContextRow> training,
                                            std::span<const std::int8_t> label) {
    CANDOR_REQUIRE(training.size() == label.size(), std::to_string(training.size()) + " training rows, " +
                                                        std::to_string(label.size()) + " labels");
    std::array<double, 2> count{};
    for (const std::int8_t one : label) {
        CANDOR_REQUIRE(one == 0 || one == 1, "label " + std::to_string(one));
        ++count[static_cast<std::size_t>(one)];
    }
    if (count[0] == 0 || count[1] == 0) return std::nullopt;

    const auto mean_of = [&](Matrix<double>& means, std::size_t at) { return means.row(label[at]); };
    Matrix<double> means = zeros(2, rows.dimension());
    for (std::int64_t b = 0; b < unit_blocks(training); ++b) {
        const Matrix<double> block = rows.read(unit_block(training, b));
        for (std::int64_t i = 0; i < block.rows(); ++i) {
            const std::span<double> mean = mean_of(means, static_cast<std::size_t>(b * unit_block_rows + i));
            std::ranges::transform(mean, block.row(i), mean.begin(), std::plus<>());
        }
    }
    for (std::int64_t c = 0; c < 2; ++c)
        for (double& v : means.row(c)) v /= count[static_cast<std::size_t>(c)];

    Matrix<double> scatter = zeros(rows.dimension(), rows.dimension());
    for (std::int64_t b = 0; b < unit_blocks(training); ++b) {
        Matrix<double> block = rows.read(unit_block(training, b));
        for (std::int64_t i = 0; i < block.rows(); ++i) {
            const std::span<double> row = block.row(i);
            std::ranges::transform(row, mean_of(means, static_cast<std::size_t>(b * unit_block_rows + i)),
                                   row.begin(), std::minus<>());
        }
        linalg::add_scatter(block.view(), scatter.view());
    }
    return of(means, std::move(scatter), std::ssize(training));
}

std::optional<Mahalanobis> Mahalanobis::fit(const UnitRows& rows, const TrainingScatter& all,
                                            const TrainingScatter::Finding& finding,
                                            std::span<const ContextRow> unlabelled) {
    const std::int64_t d = rows.dimension();
    Matrix<double> scatter(d, d), means(2, d), shares(2, d);
    for (std::int64_t i = 0; i < d; ++i) std::ranges::copy(all.scatter.row(i), scatter.row(i).begin());
    for (std::int64_t b = 0; b < unit_blocks(unlabelled); ++b) {
        Matrix<double> block = rows.read(unit_block(unlabelled, b));
        for (std::int64_t i = 0; i < block.rows(); ++i)
            std::ranges::transform(block.row(i), all.mean, block.row(i).begin(), std::minus<>());
        linalg::add_scatter(block.view(), scatter.view(), -1);
    }
    for (std::size_t c = 0; c < 2; ++c) {
        const auto row = static_cast<std::int64_t>(c);
        std::ranges::copy(finding.mean(all, c), means.row(row).begin());
        std::ranges::transform(finding.sum.row(row), shares.row(row).begin(), [&](double v) {
            return v / std::sqrt(static_cast<double>(finding.count[c]));
        });
    }
    linalg::add_scatter(shares.view(), scatter.view(), -1);
    return of(means, std::move(scatter), finding.count[0] + finding.count[1]);
}

std::vector<double> Mahalanobis::distances(const UnitRows& rows, std::span<const ContextRow> test) const {
    std::vector<double> out;
    for (std::int64_t b = 0; b < unit_blocks(test); ++b) {
        Matrix<double> block = rows.read(unit_block(test, b));
        for (std::int64_t i = 0; i < block.rows(); ++i)
            std::ranges::transform(block.row(i), mean_, block.row(i).begin(), std::minus<>());
        linalg::solve_lower(factor_.view(), block.view());
        for (std::int64_t i = 0; i < block.rows(); ++i) {
            const std::span<double> row = block.row(i);
            const double from_negatives = squared_length(row);
            std::ranges::transform(row, apart_.row(0), row.begin(), std::minus<>());
            out.push_back(std::sqrt(std::min(from_negatives, squared_length(row))));
        }
    }
    return out;
}

}  // namespace candor::instruments
