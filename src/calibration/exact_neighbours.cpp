// METHODS 3: the neighbours and the sign of DM are those of 128-bit arithmetic, on data made to make it hard:
// duplicates, rows one unit in the last place apart, narrow clusters, one column to 4,096.

#include <hwy/targets.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <utility>

#include "calibration/cohort.hpp"
#include "calibration/proofs.hpp"
#include "candor/instruments/discordance.hpp"
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

Wide product_of(std::span<const float> a, std::span<const float> b) {
    Wide product = 0;
    for (std::size_t j = 0; j < a.size(); ++j) product += static_cast<Wide>(a[j]) * static_cast<Wide>(b[j]);
    return product;
}

/// By Newton's method from the root in double: two steps double its digits twice.
Wide root_of(Wide square) {
    Wide root = std::sqrt(static_cast<double>(square));
    for (int step = 0; step < 2; ++step) root = (root + square / root) / 2;
    return root;
}

/// What one set of rows says: lists that 128 bits would not choose, signs of DM likewise, and what depends on
/// the block size or on the instruction set.
struct Faults {
    double neighbours = 0, signs = 0, blocks = 0, targets = 0;
};

class Case {
  public:
    Case(std::int64_t item, std::int64_t rows)
        : kind_(static_cast<std::size_t>(item) % std::size(kinds)),
          d_(dimensions[static_cast<std::size_t>(item) / std::size(kinds)]),
          made_(1, 1) {
        Draws draws(std::string("exact/") + kinds[kind_], d_);
        made_ = make_rows(kind_, rows, d_, draws);
        std::vector<Wide> norm;
        for (std::int64_t i = 0; i < rows; ++i) {
            all_.emplace_back(i);
            reach_.push_back({rows, i});
            norm.push_back(root_of(product_of(made_.row(i), made_.row(i))));
        }
        cosine_.resize(static_cast<std::size_t>(rows * rows));
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j <= i; ++j)
                at(i, j) = at(j, i) = product_of(made_.row(i), made_.row(j)) /
                                      (norm[static_cast<std::size_t>(i)] * norm[static_cast<std::size_t>(j)]);
        }
        for (const std::int64_t side : {0, 1}) {
            for (std::int64_t i = side; i < rows; i += 2) side_[side].emplace_back(i);
            for (std::int64_t i = 0; i < rows; ++i)
                side_reach_[side].push_back({std::ssize(side_[side]), i % 2 == side ? i / 2 : -1});
        }
    }

    Faults faults() const {
        Matrix<float> copy(made_.rows(), made_.cols());
        for (std::int64_t i = 0; i < made_.rows(); ++i) std::ranges::copy(made_.row(i), copy.row(i).begin());
        const neighbors::RowSet set{neighbors::StoredRows(std::move(copy))};
        const auto first = search(set, made_.rows());
        Faults faults;
        faults.neighbours = wrong_neighbours(first.front());
        faults.signs = wrong_signs(first[1], first[2]);
        for (const std::int64_t block : {16, 50}) faults.blocks += differing(first, search(set, block));
        // Other searches at the same time may see the target change: that must not change a bit of them.
        static std::mutex one_at_a_time;
        const std::lock_guard lock(one_at_a_time);
        for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
            hwy::SetSupportedTargetsForTest(target);
            hwy::GetChosenTarget().Update(hwy::SupportedTargets());
            faults.targets += differing(first, search(set, 50));
        }
        hwy::SetSupportedTargetsForTest(0);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        return faults;
    }

  private:
    Wide& at(std::int64_t i, std::int64_t j) {
        return cosine_[static_cast<std::size_t>(i * std::ssize(all_) + j)];
    }
    Wide cosine(std::int64_t i, std::int64_t j) const {
        return cosine_[static_cast<std::size_t>(i * std::ssize(all_) + j)];
    }
    /// What a cosine in double may err by: sums of d terms in 16 lanes, and a few roundings more.
    double tolerance() const { return 0x1p-52 * (4 + static_cast<double>(d_) / 16); }

    /// Each row's nearest of all, of the even rows and of the odd ones.
    std::vector<neighbors::NeighborSets> search(const neighbors::RowSet& set, std::int64_t block) const {
        const neighbors::Question questions[] = {{all_, all_, reach_, k},
                                                 {side_[0], all_, side_reach_[0], k},
                                                 {side_[1], all_, side_reach_[1], k}};
        neighbors::SearchOptions options;
        options.block_rows = block;
        options.panel_rows = std::max<std::int64_t>(block, 64);
        return neighbors::census(set, questions, k, options);
    }

    static double differing(const std::vector<neighbors::NeighborSets>& a,
                            const std::vector<neighbors::NeighborSets>& b) {
        double count = 0;
        for (std::size_t q = 0; q < a.size(); ++q) {
            for (std::size_t i = 0; i < a[q].values.size(); ++i)
                count += a[q].values[i].position != b[q].values[i].position ||
                         a[q].values[i].cosine != b[q].values[i].cosine;
        }
        return count;
    }

    /// Of cosines that double cannot tell apart any may be chosen: the k-th itself must be reached.
    double wrong_neighbours(const neighbors::NeighborSets& found) const {
        double wrong = 0;
        for (std::int64_t i = 0; i < std::ssize(all_); ++i) {
            std::vector<Wide> exact;
            for (std::int64_t j = 0; j < std::ssize(all_); ++j) {
                if (j != i) exact.push_back(-cosine(i, j));
            }
            std::ranges::sort(exact);
            for (const neighbors::Neighbor& one : found.of(i))
                wrong += static_cast<double>(-exact[k - 1] - cosine(i, one.position)) > tolerance();
        }
        return wrong;
    }

    /// DM of each row, odd rows taken for positives. Where 128 bits give 0, as among duplicates, double must
    /// too; where they give more than double can err by, its sign must be theirs.
    double wrong_signs(const neighbors::NeighborSets& even, const neighbors::NeighborSets& odd) const {
        constexpr double nothing = 1e-30;
        double wrong = 0;
        for (std::int64_t i = 0; i < std::ssize(all_); ++i) {
            const double margin = instruments::discordance(odd.of(i), even.of(i)).margin();
            Wide exact[2];
            for (const std::int64_t side : {0, 1}) {
                std::vector<Wide> of_side;
                for (std::int64_t j = side; j < std::ssize(all_); j += 2) {
                    if (j != i) of_side.push_back(-cosine(i, j));
                }
                std::ranges::sort(of_side);
                exact[side] = 0;
                for (int n = 0; n < k; ++n) exact[side] -= of_side[static_cast<std::size_t>(n)] / k;
            }
            const auto expected = static_cast<double>(exact[0] - exact[1]);
            if (std::abs(expected) < nothing) {
                wrong += margin != 0;
            } else if (std::abs(expected) > 2 * tolerance()) {
                wrong += (margin > 0) != (expected > 0) || margin == 0;
            }
        }
        return wrong;
    }

    std::size_t kind_;
    std::int64_t d_;
    Matrix<float> made_;
    std::vector<Wide> cosine_;
    std::vector<ContextRow> all_, side_[2];
    std::vector<Reach> reach_, side_reach_[2];
};

}  // namespace

Proof exact_neighbours(const Scope& scope) {
    const std::int64_t rows = scope.quick ? 80 : 300;
    return {"exact neighbours", static_cast<std::int64_t>(std::size(dimensions) * std::size(kinds)),
            [rows](std::int64_t item) {
                const Faults faults = Case(item, rows).faults();
                return Values{faults.neighbours, faults.signs, faults.blocks, faults.targets};
            },
            [](std::span<const Values> items) {
                constexpr std::array what{"neighbours that 128 bits would not choose",
                                          "signs of DM that 128 bits would not give",
                                          "neighbours that depend on the block size",
                                          "neighbours that depend on the instruction set"};
                std::vector<Verdict> verdicts;
                for (std::size_t kind = 0; kind < std::size(kinds); ++kind) {
                    for (std::size_t fault = 0; fault < what.size(); ++fault) {
                        double sum = 0;
                        for (std::size_t i = kind; i < items.size(); i += std::size(kinds))
                            sum += items[i][fault];
                        verdicts.push_back(
                            {"", std::string(kinds[kind]) + ": " + what[fault], 0, sum, 0, 0, 0, {}});
                    }
                }
                return verdicts;
            }};
}

}  // namespace candor::calibration
