#include "candor/instruments/permutations.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/instruments/list_walk.hpp"
#include "candor/stats/auroc.hpp"
#include "candor/stats/student_t.hpp"

namespace candor::instruments {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

/// The roles of a row in world 0, a bit each.
std::uint8_t packed(const RowWorlds& row) {
    const auto bit = [](Worlds worlds, int at) { return static_cast<unsigned>((worlds & 1) << at); };
    return static_cast<std::uint8_t>(bit(row.asks[0], 0) | bit(row.asks[1], 1) | bit(row.near[0], 2) |
                                     bit(row.near[1], 3) | bit(row.last[0], 4) | bit(row.last[1], 5));
}

/// Gives a row the roles of `role` in a world.
void add_role(std::uint8_t role, int world, RowWorlds& to) {
    const auto bit = [&](int at) { return static_cast<Worlds>(role >> at & 1) << world; };
    for (std::size_t side = 0; side < 2; ++side) {
        to.asks[side] |= bit(static_cast<int>(side));
        to.near[side] |= bit(2 + static_cast<int>(side));
        to.last[side] |= bit(4 + static_cast<int>(side));
    }
}

/// Which kind of row it is: rows of different kinds never take each other's roles.
int kind_of(const LabelledRow& row) {
    return (row.asks ? 1 : 0) + (row.answers ? 2 : 0);
}

/// Numbers 0, 1, ... for the different values, in the order in which they come.
std::vector<std::int32_t> numbered(std::span<const std::int32_t> values) {
    std::map<std::int32_t, std::int32_t> number;
    std::vector<std::int32_t> out;
    for (const std::int32_t value : values)
        out.push_back(number.emplace(value, static_cast<std::int32_t>(number.size())).first->second);
    return out;
}

/// Mean and sample standard deviation of the values that are not NaN.
struct Moments {
    double mean = undefined, sd = undefined;
    std::int64_t count = 0;
};

Moments moments_of(std::span<const double> values) {
    Moments moments;
    double sum = 0;
    for (const double v : values) {
        if (std::isnan(v)) continue;
        sum += v;
        ++moments.count;
    }
    if (moments.count == 0) return moments;
    moments.mean = sum / static_cast<double>(moments.count);
    if (moments.count < 2) return moments;
    double squares = 0;
    for (const double v : values) {
        if (!std::isnan(v)) squares += (v - moments.mean) * (v - moments.mean);
    }
    moments.sd = std::sqrt(squares / static_cast<double>(moments.count - 1));
    return moments;
}

}  // namespace

Participants::Participants(std::span<const LabelledRow> rows, const RoleRules& rules) : rules_(rules) {
    std::vector<RowWorlds> roles(rows.size());
    const std::vector<std::uint8_t> all(rows.size(), 1);
    if (!assign_roles(rows, rules, all, 0, roles)) return;
    std::map<std::int32_t, bool> takes_part;  // by patient
    for (std::size_t i = 0; i < rows.size(); ++i) takes_part[rows[i].patient] |= packed(roles[i]) != 0;
    std::vector<std::int32_t> patient, unit;
    std::array<std::int64_t, 2> near{};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!takes_part[rows[i].patient]) continue;
        chosen_.push_back(static_cast<std::int64_t>(i));
        rows_.push_back(rows[i]);
        role_.push_back(packed(roles[i]));
        patient.push_back(rows[i].patient);
        unit.push_back(rules.by_patient ? rows[i].patient : rows[i].identity);
        positives_ += roles[i].asks[1] != 0;
        for (std::size_t side = 0; side < 2; ++side) near[side] += roles[i].near[side] != 0;
    }
    unit_ = numbered(unit);
    fewest_near_ = std::min(near[0], near[1]);

    // Patient by patient, the rows of each by kind, then in key order.
    const std::vector<std::int32_t> place = numbered(patient);
    by_patient_.resize(place.size());
    std::iota(by_patient_.begin(), by_patient_.end(), 0);
    std::ranges::stable_sort(by_patient_, {}, [&](std::int32_t i) {
        const auto at = static_cast<std::size_t>(i);
        return std::pair(place[at], kind_of(rows_[at]));
    });
    std::map<std::array<std::int64_t, 4>, std::vector<std::int32_t>> classes;  // by rows of each kind
    for (std::size_t i = 0; i < by_patient_.size();) {
        const std::int32_t who = place[static_cast<std::size_t>(by_patient_[i])];
        first_.push_back(static_cast<std::int32_t>(i));
        std::array<std::int64_t, 4> kinds{};
        for (; i < by_patient_.size() && place[static_cast<std::size_t>(by_patient_[i])] == who; ++i)
            ++kinds[static_cast<std::size_t>(kind_of(rows_[static_cast<std::size_t>(by_patient_[i])]))];
        classes[kinds].push_back(who);
    }
    first_.push_back(static_cast<std::int32_t>(by_patient_.size()));
    for (auto& [kinds, members] : classes) classes_.push_back(std::move(members));
}

std::vector<RowWorlds> Participants::observed() const {
    std::vector<RowWorlds> out(rows_.size());
    for (std::size_t i = 0; i < out.size(); ++i) add_role(role_[i], 0, out[i]);
    find_own(unit_, out);
    return out;
}

std::vector<RowWorlds> Participants::permuted(std::uint64_t seed, std::string_view name, std::int64_t first,
                                              std::int64_t count) const {
    CANDOR_REQUIRE(count <= worlds_a_word, std::to_string(count));
    std::vector<RowWorlds> out(rows_.size());
    std::vector<std::int32_t> from;
    for (std::int64_t world = 0; world < count; ++world) {
        const Stream stream(seed, "permutation/" + std::string(name),
                            static_cast<std::uint64_t>(first + world));
        std::uint64_t next = 0;
        for (const std::vector<std::int32_t>& members : classes_) {
            from = members;
            for (std::size_t i = from.size(); i-- > 1;)
                std::swap(from[i], from[static_cast<std::size_t>(stream.below(next++, i + 1))]);
            for (std::size_t m = 0; m < members.size(); ++m) {
                const auto to = static_cast<std::size_t>(members[m]),
                           giver = static_cast<std::size_t>(from[m]);
                for (std::int32_t j = 0; j < first_[to + 1] - first_[to]; ++j) {
                    const auto taker_row = static_cast<std::size_t>(
                                   by_patient_[static_cast<std::size_t>(first_[to] + j)]),
                               giver_row = static_cast<std::size_t>(
                                   by_patient_[static_cast<std::size_t>(first_[giver] + j)]);
                    add_role(role_[giver_row], static_cast<int>(world), out[taker_row]);
                }
            }
        }
    }
    find_own(unit_, out);
    return out;
}

std::vector<RowWorlds> Participants::subsampled(std::span<const Worlds> drawn) const {
    std::vector<RowWorlds> out(rows_.size());
    std::vector<LabelledRow> rows = rows_;
    constexpr unsigned candidate = ~3u;  // any bit but those that ask
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i].answers = rows[i].answers && (role_[i] & candidate) != 0;
    std::vector<std::uint8_t> part(rows_.size());
    for (int world = 0; world < worlds_a_word; ++world) {
        bool any = false;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            part[i] = drawn[static_cast<std::size_t>(rows_[i].patient)] >> world & 1;
            any = any || part[i] != 0;
        }
        if (any) assign_roles(rows, rules_, part, world, out);
    }
    find_own(unit_, out);
    return out;
}

namespace {

/// Neighbours come about as a Poisson process along the list: with this many expected, fewer than k have a
/// chance of about 1 in 10,000, with one more of less than half of that.
double expected_for(int k) {
    return k + 4 * std::sqrt(k) + 4;
}

std::int64_t length_for(double expected, double share) {
    return static_cast<std::int64_t>(std::min(std::ceil(expected / share), 1e15));
}

}  // namespace

std::int64_t Participants::list_length() const {
    const double share = static_cast<double>(fewest_near_) / static_cast<double>(size());
    // A list that ends early is replaced by all participants: the more there are, the rarer that should be.
    constexpr double cheap = 128;
    const double more = std::max(0.0, std::log(static_cast<double>(size()) / cheap));
    return std::min(size() - 1, length_for(expected_for(rules_.k) + more, share));
}

std::int64_t Participants::side_length() const {
    return length_for(expected_for(rules_.k), wide_share);
}

WorldCounter::WorldCounter(std::span<const RowWorlds> rows, std::span<const std::int32_t> unit, int k,
                           int worlds, bool margins, std::int64_t blind_positives)
    : rows_(rows), unit_(unit), k_(k), margins_(margins), blind_positives_(blind_positives) {
    CANDOR_REQUIRE(unit.size() == rows.size() && worlds <= worlds_a_word, std::to_string(worlds));
    out_.counts.resize(static_cast<std::size_t>(worlds));
    out_.words = (blind_positives + 63) / 64;
    if (blind_positives > 0) blind_.resize(rows.size());
    for (auto& side : scores_) side.resize(static_cast<std::size_t>(worlds));
}

bool WorldCounter::add(std::int64_t x, const NearList& list) {
    const RowWorlds& mine = rows_[static_cast<std::size_t>(x)];
    const Worlds asked = margins_ ? mine.asks[0] | mine.asks[1] : mine.asks[1];
    if (asked == 0) return true;
    WalkSums sums;
    const Worlds lacking = walk_list(list.row, list.cosine, x, rows_, unit_, k_, asked, sums);
    if (lacking != 0 && !list.whole) return false;
    for (Worlds left = asked & ~lacking; left != 0; left &= left - 1) {
        const auto world = static_cast<std::size_t>(std::countr_zero(left));
        const bool positive = (mine.asks[1] >> world & 1) != 0;
        const double margin = sums.of[0][world] / k_ - sums.of[1][world] / k_;
        if (margins_) scores_[positive ? 1 : 0][world].push_back(-margin);
        if (!positive) continue;
        Counts& counts = out_.counts[world];
        ++counts.queries;
        counts.discordant += margin > 0;
        counts.ties += margin == 0;
        if (margin > 0 && !blind_.empty()) blind_[static_cast<std::size_t>(x)] |= Worlds{1} << world;
    }
    return true;
}

WorldCounts WorldCounter::finish() {
    out_.blind.resize(static_cast<std::size_t>(out_.words) * out_.counts.size());
    std::vector<std::size_t> positives(out_.counts.size());
    for (std::size_t x = 0; x < blind_.size(); ++x) {
        for (Worlds left = rows_[x].asks[1]; left != 0; left &= left - 1) {
            const auto world = static_cast<std::size_t>(std::countr_zero(left));
            const std::size_t at = positives[world]++;
            CANDOR_REQUIRE(static_cast<std::int64_t>(at) < blind_positives_, std::to_string(at));
            out_.blind[world * static_cast<std::size_t>(out_.words) + at / 64] |= (blind_[x] >> world & 1)
                                                                                  << (at % 64);
        }
    }
    for (std::size_t world = 0; margins_ && world < out_.counts.size(); ++world) {
        const auto &positive = scores_[1][world], &negative = scores_[0][world];
        const stats::PairCounter pairs(positive, std::vector<std::int32_t>(positive.size()), negative,
                                       std::vector<std::int32_t>(negative.size()));
        out_.counts[world].twice_wins = pairs.twice_wins();
        out_.counts[world].pairs = pairs.pairs();
    }
    return std::move(out_);
}

WorldCounts count_worlds(std::span<const NearList> lists, std::span<const RowWorlds> rows,
                         std::span<const std::int32_t> unit, int k, int worlds, bool margins,
                         std::int64_t blind_positives) {
    CANDOR_REQUIRE(lists.size() == rows.size(), std::to_string(lists.size()));
    WorldCounter counter(rows, unit, k, worlds, margins, blind_positives);
    for (std::size_t x = 0; x < lists.size(); ++x)
        CANDOR_REQUIRE(counter.add(static_cast<std::int64_t>(x), lists[x]),
                       "the list of participant " + std::to_string(x) + " ends early");
    return counter.finish();
}

std::vector<Worlds> draw_patients(std::uint64_t seed, std::string_view task, std::int64_t patients,
                                  double share, std::int64_t first, std::int64_t count) {
    CANDOR_REQUIRE(count <= worlds_a_word, std::to_string(count));
    std::vector<Worlds> drawn(static_cast<std::size_t>(patients));
    std::vector<std::int32_t> order(drawn.size());
    const auto chosen = static_cast<std::size_t>(std::ceil(share * static_cast<double>(patients)));
    for (std::int64_t world = 0; world < count; ++world) {
        const Stream stream(seed, "subsample/" + std::string(task),
                            static_cast<std::uint64_t>(first + world));
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = 0; i < chosen; ++i) {
            std::swap(order[i], order[i + static_cast<std::size_t>(stream.below(i, order.size() - i))]);
            drawn[static_cast<std::size_t>(order[i])] |= Worlds{1} << world;
        }
    }
    return drawn;
}

NullTest null_test(double observed, std::span<const double> permuted) {
    NullTest test{undefined, undefined, undefined, undefined};
    const Moments moments = moments_of(permuted);
    test.mean = moments.mean;
    test.sd = moments.sd;
    if (std::isnan(observed) || !(moments.sd > 0)) return test;
    const double distance = std::abs(observed - moments.mean);
    test.p = stats::two_sided_t(distance / moments.sd, static_cast<double>(moments.count - 1));
    if (moments.count < 999) return test;
    std::int64_t as_far = 0;
    for (const double v : permuted) as_far += !std::isnan(v) && std::abs(v - moments.mean) >= distance;
    test.rank_p = static_cast<double>(1 + as_far) / static_cast<double>(moments.count + 1);
    return test;
}

WideInterval wide_interval(double observed, std::span<const double> drawn, double share, double confidence,
                           double least, double most) {
    const Moments moments = moments_of(drawn);
    if (std::isnan(observed) || std::isnan(moments.sd)) return {undefined, undefined, moments.count};
    const double half = stats::t_quantile(confidence, static_cast<double>(moments.count - 1)) * moments.sd *
                        std::sqrt(share / (1 - share));
    return {std::max(least, observed - half), std::min(most, observed + half), moments.count};
}

}  // namespace candor::instruments
