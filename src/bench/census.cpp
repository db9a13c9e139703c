#include "candor/bench/census.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/threads.hpp"
#include "candor/bench/made_rows.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/neighbors/census.hpp"

namespace candor::bench {

namespace {

constexpr int k = 5;
constexpr int findings = 12;

std::string count_text(std::int64_t count) {
    std::string text = std::to_string(count);
    for (std::ptrdiff_t at = std::ssize(text) - 3; at > 0; at -= 3)
        text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

/// The bare products of the first rows of `features` with the first `others`, in strips that keep the result
/// small; its memory is there before they are timed.
class BareProducts {
  public:
    BareProducts(MatrixView<const float> features, std::int64_t rows, std::int64_t others)
        : features_(features), rows_(rows), others_(others), products_(std::min(rows, strip), others) {
        for (std::int64_t i = 0; i < products_.rows(); ++i) std::ranges::fill(products_.row(i), 0.0F);
    }

    void multiply() {
        for (std::int64_t first = 0; first < rows_; first += strip) {
            const std::int64_t count = std::min(strip, rows_ - first);
            linalg::product(features_.block(first, count), features_.block(0, others_),
                            products_.view().block(0, count));
        }
    }

  private:
    static constexpr std::int64_t strip = 4000;
    MatrixView<const float> features_;
    std::int64_t rows_, others_;
    Matrix<float> products_;
};

void search(const neighbors::RowSet& rows, const MadeFindings& made, std::int64_t directions, int threads) {
    neighbors::SearchOptions options;
    options.directions = directions;
    options.threads = threads;
    const std::vector<neighbors::Question> questions = made.questions();
    neighbors::census(rows, questions, k, options);
}

Matrix<float> first_rows(const Matrix<float>& all, std::int64_t n) {
    Matrix<float> rows(std::min(n, all.rows()), all.cols());
    for (std::int64_t i = 0; i < rows.rows(); ++i) std::ranges::copy(all.row(i), rows.row(i).begin());
    return rows;
}

Measurement cell(std::string name, Matrix<float> features, int rounds) {
    // As many rows of either label.
    const std::int64_t n = features.rows() / 2 * 2, d = features.cols();
    const std::string half = count_text(n / 2);
    Measurement result{std::move(name),
                       "both labels of " + half + " + " + half + " rows, d = " + std::to_string(d),
                       "sgemm, 4 of " + half + " x " + half,
                       {},
                       {}};
    const MadeFindings made(half_positive(n));
    const neighbors::RowSet rows(std::move(features));
    BareProducts bare(rows.centred(), n / 2, n / 2);
    measure(
        result, rounds, [&] { search(rows, made, -1, 1); },
        [&] {
            for (int call = 0; call < 4; ++call) bare.multiply();
        });
    return result;
}

Measurement census(std::string name, Matrix<float> features, int rounds) {
    const std::int64_t n = features.rows(), d = features.cols();
    Measurement result{
        std::move(name),
        count_text(n) + " rows, " + std::to_string(findings) + " findings, d = " + std::to_string(d),
        "sgemm, " + count_text(n) + " x " + count_text(n),
        {},
        {}};
    const MadeFindings made(many_findings(n, findings));
    const neighbors::RowSet rows(std::move(features));
    BareProducts bare(rows.centred(), n, n);
    measure(
        result, rounds, [&] { search(rows, made, -1, 1); }, [&] { bare.multiply(); });
    return result;
}

}  // namespace

Measurement isotropic_cell(std::int64_t dimension, int rounds) {
    return cell("cell-" + std::to_string(dimension), isotropic_rows(cell_rows, dimension), rounds);
}

Measurement directed_cell(const Matrix<float>* features, int rounds) {
    return cell("cell",
                features != nullptr ? first_rows(*features, cell_rows) : directed_rows(cell_rows, 1024),
                rounds);
}

Measurement isotropic_census(int rounds) {
    return census("census-768", isotropic_rows(census_rows, 768), rounds);
}

Measurement directed_census(const Matrix<float>* features, int rounds) {
    return census("census",
                  features != nullptr ? first_rows(*features, census_rows) : directed_rows(census_rows, 768),
                  rounds);
}

/// What looking at bounds costs where they are of no use.
Measurement bounds(int rounds) {
    Measurement result{"bounds",
                       "both labels of 4,000 + 4,000 rows, d = 1024, bounds of no use",
                       "the same without bounds",
                       {},
                       {}};
    const MadeFindings made(half_positive(cell_rows));
    const neighbors::RowSet rows(isotropic_rows(cell_rows, 1024));
    measure(
        result, rounds, [&] { search(rows, made, -1, 1); }, [&] { search(rows, made, 0, 1); });
    return result;
}

Measurement threads(int count, int rounds) {
    constexpr std::int64_t n = 12'000, d = 768;
    Measurement result{"threads",
                       count_text(n) + " rows, 12 findings, " + std::to_string(count) +
                           (count == 1 ? " thread" : " threads"),
                       "its time on 1 thread, scaled as sgemm scales",
                       {},
                       {}};
    const MadeFindings made(many_findings(n, findings));
    const neighbors::RowSet rows(isotropic_rows(n, d));
    std::vector<BareProducts> bare;
    for (int thread = 0; thread < count; ++thread) bare.emplace_back(rows.centred(), 4000, n);
    const auto products = [&](int on) {
        return wall_seconds([&] {
            for_each_on_threads(on, count,
                                [&](std::int64_t at) { bare[static_cast<std::size_t>(at)].multiply(); });
        });
    };
    for (int round = 0; round < rounds; ++round) {
        const double one = wall_seconds([&] { search(rows, made, -1, 1); }), one_product = products(1);
        result.seconds.push_back(wall_seconds([&] { search(rows, made, -1, count); }));
        result.peer_seconds.push_back(one * products(count) / one_product);
    }
    return result;
}

}  // namespace candor::bench
