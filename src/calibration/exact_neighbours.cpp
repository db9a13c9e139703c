// METHODS 3: the neighbours and the sign of DM are those of 128-bit arithmetic, on data made to make it hard:
// duplicates, rows one unit in the last place apart, narrow clusters, one column to 4,096.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "calibration/cohort.hpp"
#include "calibration/proofs.hpp"
#include "candor/neighbors/census.hpp"
#include "candor/neighbors/row_set.hpp"

namespace candor::calibration {

namespace {

__extension__ using Wide = __float128;

constexpr std::int64_t dimensions[] = {1, 2, 3, 7, 16, 64, 257, 1024, 4096};
constexpr const char* kinds[] = {"duplicates", "near ties", "clusters"};
constexpr int k = 5;

Matrix<float> make_rows(std::size_t kind, std::int64_t rows, std::int64_t d, Draws& draws) {
    Matrix<float> made(rows, d);
    for (std::int64_t i = 0; i < rows; ++i) {
        const auto row = made.row(i);
        const std::int64_t before =
            i == 0 ? 0 : static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(i)));
        const bool copies = i > 0 && draws.uniform() < 0.5;
        for (std::size_t j = 0; j < row.size(); ++j)
            row[j] = static_cast<float>(draws.normal() * (kind == 2 ? 1e-4 : 1) + (kind == 2 ? 1 : 0));
        if (!copies) continue;
        if (kind < 2) std::ranges::copy(made.row(before), row.begin());
        if (kind == 1) {
            float& one = row[draws.below(row.size())];
            one = std::nextafter(one, draws.below(2) == 0 ? 10.0F : -10.0F);
        }
    }
    return made;
}

/// <a, b>|<a, b>| / |b|^2: in the order of the cosine of a fixed a, to some 33 digits.
Wide rank_of(std::span<const float> a, std::span<const float> b) {
    Wide product = 0, square = 0;
    for (std::size_t j = 0; j < a.size(); ++j) {
        product += static_cast<Wide>(a[j]) * static_cast<Wide>(b[j]);
        square += static_cast<Wide>(b[j]) * static_cast<Wide>(b[j]);
    }
    return (product < 0 ? -product : product) * product / square;
}

/// Neighbour lists that hold someone who is farther than someone left out by more than double can tell, over
/// all block sizes; and lists that differ between block sizes.
Values wrong_lists(std::int64_t item, std::int64_t rows) {
    const auto kind = static_cast<std::size_t>(item) % std::size(kinds);
    const std::int64_t d = dimensions[static_cast<std::size_t>(item) / std::size(kinds)];
    Draws draws(std::string("exact/") + kinds[kind], d);
    const Matrix<float> made = make_rows(kind, rows, d, draws);
    Matrix<float> copy(rows, d);
    for (std::int64_t i = 0; i < rows; ++i) std::ranges::copy(made.row(i), copy.row(i).begin());
    const neighbors::RowSet set{neighbors::StoredRows(std::move(copy))};
    std::vector<ContextRow> all;
    std::vector<Reach> reach;
    for (std::int64_t i = 0; i < rows; ++i) {
        all.emplace_back(i);
        reach.push_back({rows, i});
    }
    const neighbors::Question question{all, all, reach, k};
    double wrong = 0, differing = 0;
    std::vector<neighbors::Neighbor> first;
    for (const std::int64_t block : {rows, std::int64_t{16}, std::int64_t{50}}) {
        neighbors::SearchOptions options;
        options.block_rows = block;
        options.panel_rows = std::max<std::int64_t>(block, 64);
        const auto found = std::move(neighbors::census(set, {&question, 1}, k, options).front());
        if (!first.empty()) {
            for (std::size_t i = 0; i < first.size(); ++i)
                differing += first[i].position != found.values[i].position ||
                             first[i].cosine != found.values[i].cosine;
            continue;
        }
        first = found.values;
        for (std::int64_t i = 0; i < rows; ++i) {
            std::vector<std::pair<Wide, std::int64_t>> exact;
            for (std::int64_t j = 0; j < rows; ++j) {
                if (j != i) exact.emplace_back(-rank_of(made.row(i), made.row(j)), j);
            }
            std::ranges::sort(exact);
            // Of equal exact cosines, and of those that double cannot tell apart, any order of positions is
            // right: the k-th rank itself must be reached.
            const Wide last = exact[k - 1].first, size = rank_of(made.row(i), made.row(i));
            for (const neighbors::Neighbor& one : found.of(i)) {
                const Wide beyond = (-rank_of(made.row(i), made.row(one.position)) - last) / size;
                // Two units in the last place of a cosine in double, as sums of d terms in 16 lanes have it.
                const double excess =
                    static_cast<double>(beyond) / (0x1p-52 * (4 + static_cast<double>(d) / 16));
                wrong += excess > 1;
            }
        }
    }
    return {wrong, differing};
}

}  // namespace

Proof exact_neighbours(bool quick) {
    const std::int64_t rows = quick ? 80 : 300;
    return {"exact neighbours", static_cast<std::int64_t>(std::size(dimensions) * std::size(kinds)),
            [rows](std::int64_t item) { return wrong_lists(item, rows); },
            [](std::span<const Values> items) {
                std::vector<Verdict> verdicts;
                for (std::size_t kind = 0; kind < std::size(kinds); ++kind) {
                    double wrong = 0, differing = 0;
                    for (std::size_t i = kind; i < items.size(); i += std::size(kinds)) {
                        wrong += items[i][0];
                        differing += items[i][1];
                    }
                    verdicts.push_back(
                        {"", std::string(kinds[kind]) + ": neighbours that 128 bits would not choose", 0,
                         wrong, 0, 0, 0});
                    verdicts.push_back(
                        {"", std::string(kinds[kind]) + ": neighbours that depend on the block size", 0,
                         differing, 0, 0, 0});
                }
                return verdicts;
            }};
}

}  // namespace candor::calibration
