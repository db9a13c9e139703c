#pragma once

/// Cells made in memory, and what the instrument says of them.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/base/random.hpp"
#include "candor/calibration/proof.hpp"
#include "candor/instruments/permutations.hpp"
#include "candor/instruments/summary.hpp"

namespace candor::calibration {

/// Numbers of a stream, one after the other.
class Draws {
  public:
    Draws(std::string_view purpose, std::int64_t item)
        : stream_(12, purpose, static_cast<std::uint64_t>(item)) {}
    double uniform() { return stream_.uniform(next_++); }
    double normal();
    std::uint64_t below(std::uint64_t bound) { return stream_.below(next_++, bound); }
    template <class T>
    void shuffle(std::vector<T>& values) {
        for (std::size_t i = values.size(); i-- > 1;) std::swap(values[i], values[below(i + 1)]);
    }

  private:
    Stream stream_;
    std::uint64_t next_ = 0;
};

struct CohortShape {
    std::int64_t positive_patients = 0, negative_patients = 0;
    std::int64_t images = 1;  ///< of each patient, from 1 to so many
    double shared = 0;        ///< what images of a patient share, in standard deviations of an image
    double signal = 0;        ///< how far positives are moved along one direction
    std::int64_t dimension = 6;
    bool all_images = false;  ///< each patient has exactly `images`
};

/// Rows in key order (which is at random) with labels, and their features.
struct Cohort {
    std::vector<instruments::LabelledRow> rows;
    Matrix<float> features;
};

Cohort make_cohort(const CohortShape& shape, Draws& draws);

/// The cosines of all pairs of rows, each row's others in order.
std::vector<instruments::NearList> whole_lists(MatrixView<const float> features);

/// As far as each row's nearest `length` others, found as a study finds them.
std::vector<instruments::NearList> near_lists(MatrixView<const float> features, int length);

/// Of a cell: the counts as they are, of permutations, and of the draws of the wide interval.
struct Figures {
    instruments::Counts observed;
    std::vector<instruments::Counts> permuted, subsampled;
    std::vector<std::uint64_t> blind, permuted_blind;  ///< as WorldCounts
    std::int64_t words = 0, positives = 0;
};

/// @param permutations, draws 0: none.
Figures figures_of(const Cohort& cohort, const instruments::RoleRules& rules, std::uint64_t seed,
                   std::int64_t permutations, std::int64_t draws);

/// @param share of the patients that a draw takes.
Figures figures_of(const Cohort& cohort, const instruments::RoleRules& rules, std::uint64_t seed,
                   std::int64_t permutations, std::int64_t draws, double share);

instruments::RoleRules rules_of(int k, bool distinct);

/// Resamples of a rate: positives that are discordant, by cluster. @param seed of the weights: two rates of
/// one seed and as many clusters are paired.
instruments::Replicates resampled_rate(std::span<const std::int32_t> cluster,
                                       std::span<const std::int8_t> discordant, std::int64_t clusters,
                                       std::uint64_t seed);
/// The same of a cohort's D, by patient or, as one should not, by row.
instruments::Replicates resampled_rate(const Cohort& cohort, const Figures& figures, bool by_row,
                                       std::uint64_t seed);

/// A line about the mean of `values` (NaN left out): expected, and judged within 3 standard errors where
/// `judged`.
Verdict mean_verdict(std::string what, std::span<const double> values, double expected, double errors = 3);
/// A line about a share of `count` trials: judged within [low - 3 errors, high + 3 errors].
Verdict share_verdict(std::string what, std::int64_t hits, std::int64_t count, double expected, double low,
                      double high);
/// The same line, not judged.
Verdict shown(Verdict verdict);

}  // namespace candor::calibration
