#include "candor/instruments/mahalanobis.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include "candor/base/error.hpp"
#include "candor/base/sum.hpp"
#include "candor/base/threads.hpp"
#include "candor/linalg/cholesky.hpp"
#include "candor/neighbors/centring.hpp"

namespace candor::instruments {

namespace {

constexpr std::int64_t block_rows = 512;
constexpr double ridge = 1e-3;  // METHODS 9

Matrix<double> zeros(std::int64_t rows, std::int64_t cols) {
    Matrix<double> out(rows, cols);
    for (std::int64_t i = 0; i < rows; ++i) std::ranges::fill(out.row(i), 0.0);
    return out;
}

/// Each row divided by its norm.
Matrix<double> unit_rows(neighbors::StoredRows stored, std::span<const ContextRow> which) {
    neighbors::scale_to_unit_range(stored);
    return std::visit(
        [&](const auto& rows) {
            Matrix<double> out(rows.rows(), rows.cols());
            for (std::int64_t i = 0; i < rows.rows(); ++i) {
                const double length = norm(rows.row(i));
                CANDOR_REQUIRE(
                    length > 0 && std::isfinite(length),
                    "row " + std::to_string(which[static_cast<std::size_t>(i)].value) + " has no direction");
                std::ranges::transform(rows.row(i), out.row(i).begin(),
                                       [&](auto v) { return static_cast<double>(v) / length; });
            }
            return out;
        },
        stored);
}

/// Calls `body(unit rows, first)` for one block of `which` after the other.
template <class Body>
void for_each_block(const neighbors::RowSource& rows, std::span<const ContextRow> which, Body body) {
    for (std::size_t first = 0; first < which.size(); first += block_rows) {
        const auto part = which.subspan(first, std::min<std::size_t>(block_rows, which.size() - first));
        body(unit_rows(rows.read(part), part), first);
    }
}

double squared_length(std::span<const double> a) {
    return dot(a, a);
}

}  // namespace

std::optional<Mahalanobis> Mahalanobis::fit(const neighbors::RowSource& rows,
                                            std::span<const ContextRow> training,
                                            std::span<const std::int8_t> label) {
    CANDOR_REQUIRE(training.size() == label.size(), std::to_string(training.size()) + " training rows, " +
                                                        std::to_string(label.size()) + " labels");
    std::array<double, 2> count{};
    for (const std::int8_t one : label) {
        CANDOR_REQUIRE(one == 0 || one == 1, "label " + std::to_string(one));
        ++count[static_cast<std::size_t>(one)];
    }
    if (count[0] == 0 || count[1] == 0) return std::nullopt;

    const std::int64_t d = rows.dimension();
    Matrix<double> means = zeros(2, d);
    for_each_block(rows, training, [&](const Matrix<double>& block, std::size_t first) {
        for (std::int64_t i = 0; i < block.rows(); ++i) {
            const std::span<double> mean = means.row(label[first + static_cast<std::size_t>(i)]);
            std::ranges::transform(mean, block.row(i), mean.begin(), std::plus<>());
        }
    });
    for (std::int64_t c = 0; c < 2; ++c)
        for (double& v : means.row(c)) v /= count[static_cast<std::size_t>(c)];

    Matrix<double> scatter = zeros(d, d);
    for_each_block(rows, training, [&](Matrix<double> block, std::size_t first) {
        for (std::int64_t i = 0; i < block.rows(); ++i) {
            const std::span<double> row = block.row(i);
            std::ranges::transform(row, means.row(label[first + static_cast<std::size_t>(i)]), row.begin(),
                                   std::minus<>());
        }
        linalg::add_scatter(block.view(), scatter.view());
    });
    const double n = count[0] + count[1];
    double trace = 0;
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) scatter.row(i)[static_cast<std::size_t>(j)] /= n;
        trace += scatter.row(i)[static_cast<std::size_t>(i)];
    }
    // Equal unit rows differ from their mean by its rounding, n/2 ulps in each number at the most.
    const double rounding = n * std::numeric_limits<double>::epsilon();
    if (!(trace > rounding * rounding)) return std::nullopt;
    for (std::int64_t i = 0; i < d; ++i)
        scatter.row(i)[static_cast<std::size_t>(i)] += ridge * (trace / static_cast<double>(d));
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

std::vector<double> Mahalanobis::distances(const neighbors::RowSource& rows, std::span<const ContextRow> test,
                                           int threads) const {
    std::vector<double> out(test.size());
    const std::int64_t blocks = (std::ssize(test) + block_rows - 1) / block_rows;
    std::mutex reading;
    const auto read = [&](std::span<const ContextRow> part) {
        const std::lock_guard lock(reading);  // of a source, one thread at a time
        return rows.read(part);
    };
    for_each_on_threads(threads, blocks, [&](std::int64_t b) {
        const auto first = static_cast<std::size_t>(b * block_rows);
        const auto part = test.subspan(first, std::min<std::size_t>(block_rows, test.size() - first));
        Matrix<double> block = unit_rows(read(part), part);
        for (std::int64_t i = 0; i < block.rows(); ++i)
            std::ranges::transform(block.row(i), mean_, block.row(i).begin(), std::minus<>());
        linalg::solve_lower(factor_.view(), block.view());
        for (std::int64_t i = 0; i < block.rows(); ++i) {
            const std::span<double> row = block.row(i);
            const double from_negatives = squared_length(row);
            std::ranges::transform(row, apart_.row(0), row.begin(), std::minus<>());
            out[first + static_cast<std::size_t>(i)] =
                std::sqrt(std::min(from_negatives, squared_length(row)));
        }
    });
    return out;
}

}  // namespace candor::instruments
