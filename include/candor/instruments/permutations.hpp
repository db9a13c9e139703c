#pragma once

/// Label permutations (METHODS 5), the relabel null of overlaps (6) and the subsamples of the wide interval
/// (4), all from one ordered neighbour list a row: no search is repeated.
///
/// Who takes part. D of a cell is a function of its participants: the rows that ask or may answer, and the
/// other labelled rows of their patients. Under the null every other assignment of the same roles to them
/// that exchanges whole patients with equally many rows is as likely as the one observed (keys say who of a
/// label is in the bank, independently of features), so a permutation exchanges roles among participants:
/// label, bank and query at once. Rows that neither ask nor answer say nothing of D and need no list. Of a
/// cell without repeated patients and fewer positives than negatives the participants are n + 1 rows of each
/// label.
///
/// Lists. Half of the participants, or some share, are candidates of a side, whatever the prevalence: k of
/// them are found among the nearest k / share or so. A list that is too short for some world is made longer
/// (`WorldCounter::add`). Worlds are read 64 at a time, a bit each.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "candor/instruments/roles.hpp"
#include "candor/instruments/tally.hpp"

namespace candor::instruments {

/// The participants of a cell.
class Participants {
  public:
    Participants() = default;
    /// @param rows the labelled rows of the cell, in key order.
    Participants(std::span<const LabelledRow> rows, const RoleRules& rules);

    bool scored() const { return !chosen_.empty(); }
    std::int64_t size() const { return std::ssize(chosen_); }
    /// Positions among the labelled rows, ascending.
    std::span<const std::int64_t> chosen() const { return chosen_; }
    std::span<const LabelledRow> rows() const { return rows_; }
    /// Rows of one unit are never each other's neighbours: images, under `distinct` patients.
    std::span<const std::int32_t> unit() const { return unit_; }
    const RoleRules& rules() const { return rules_; }
    std::int64_t positives() const { return positives_; }  ///< that ask, in every permutation

    /// The roles as they are, in world 0.
    std::vector<RowWorlds> observed() const;
    /// Permutations first .. first + count - 1 as worlds 0 .. count - 1, count <= 64: permutation p is a
    /// function of (seed, name, p) and of the participants.
    std::vector<RowWorlds> permuted(std::uint64_t seed, std::string_view name, std::int64_t first,
                                    std::int64_t count) const;
    /// The cell of those patients alone that a world draws, its sides made equal again. @param drawn by
    /// patient (LabelledRow::patient): the worlds that draw him.
    /// Candidates are drawn of those who are candidates now.
    std::vector<RowWorlds> subsampled(std::span<const Worlds> drawn) const;

    /// How long a list should be for few rows to want more in a permutation; at most size() - 1.
    std::int64_t list_length() const;
    /// The same of lists of one side's candidates, of which a subsample draws the share wide_share.
    std::int64_t side_length() const;

  private:
    RoleRules rules_;
    std::vector<std::int64_t> chosen_;
    std::vector<LabelledRow> rows_;
    std::vector<std::int32_t> unit_;
    std::vector<std::uint8_t> role_;  // of each, a bit each of RowWorlds but own
    std::vector<std::int32_t> by_patient_,
        first_;  // rows patient after patient; where each begins, then the end
    std::vector<std::vector<std::int32_t>> classes_;  // patients that exchange their roles
    std::int64_t positives_ = 0, fewest_near_ = 0;
};

/// Those nearest to a participant, cosine descending; any order of equal cosines serves. For permutations the
/// nearest of all participants; for subsamples, where labels stay and an encoder that sees the finding has
/// few of one side near a row of the other, the nearest candidates of each side, both on one list.
struct NearList {
    std::vector<std::int32_t> row;  ///< participants
    std::vector<double> cosine;
    bool whole = false;  ///< all who count are on it
};

/// Counts of each world (draw 0's: discordant, ties, queries, twice_wins, pairs), and who is blind.
struct WorldCounts {
    std::vector<Counts> counts;  ///< one a world
    /// Where asked for: per world `words` words, the positives in the order of their rows, a bit each: DM >
    /// 0.
    std::vector<std::uint64_t> blind;
    std::int64_t words = 0;
};

/// The statistics of up to 64 worlds, from one list after another.
class WorldCounter {
  public:
    /// The roles and units of all participants, which must outlive this.
    /// @param margins AUROC too. @param blind_positives that ask in every world, 0: `blind` stays empty.
    WorldCounter(std::span<const RowWorlds> rows, std::span<const std::int32_t> unit, int k, int worlds,
                 bool margins, std::int64_t blind_positives);

    /// Counts participant `x`, once, in any order of them. A query that has fewer than k candidates of a side
    /// in a world, as one whose image is also another row may, is none there.
    /// @returns false, and counts nothing, where its list ends before it has found k a side in some world.
    bool add(std::int64_t x, const NearList& list);
    WorldCounts finish();

  private:
    std::span<const RowWorlds> rows_;
    std::span<const std::int32_t> unit_;
    int k_;
    bool margins_;
    std::int64_t blind_positives_;
    WorldCounts out_;
    std::array<std::vector<std::vector<double>>, 2> scores_;  // by side and world: -DM
    std::vector<Worlds> blind_;                               // by participant: DM > 0 as a positive
};

/// All of a WorldCounter at once. @throws InternalError where a list lacks something.
WorldCounts count_worlds(std::span<const NearList> lists, std::span<const RowWorlds> rows,
                         std::span<const std::int32_t> unit, int k, int worlds, bool margins,
                         std::int64_t blind_positives);

/// Patients that a subsample draws: of `patients` the share `share`, rounded up, without replacement; draws
/// first .. first + count - 1 as worlds. A function of (seed, task, draw).
std::vector<Worlds> draw_patients(std::uint64_t seed, std::string_view task, std::int64_t patients,
                                  double share, std::int64_t first, std::int64_t count);
/// What the wide interval draws.
inline constexpr double wide_share = 0.25;
inline constexpr std::int64_t wide_draws = 200;

/// What a statistic is under the null.
struct NullTest {
    double mean, sd;  ///< NaN: undefined
    double p;         ///< two-sided, Student's t with R - 1 degrees of freedom of (observed - mean)/sd
    double rank_p;    ///< (1 + #{|v* - mean| >= |observed - mean|})/(R + 1); NaN for R < 999
};

/// `permuted` may hold NaN: permutations in which the statistic is undefined, left out.
NullTest null_test(double observed, std::span<const double> permuted);

/// Interval around `observed` from draws of a share `share` of the patients: SE = sd sqrt(share/(1 - share)),
/// Student's t, within [least, most].
struct WideInterval {
    double low, high;
    std::int64_t valid;
};
WideInterval wide_interval(double observed, std::span<const double> drawn, double share, double confidence,
                           double least = 0, double most = 1);

}  // namespace candor::instruments
