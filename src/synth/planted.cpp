#include "candor/synth/planted.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "candor/base/error.hpp"
#include "candor/base/hash.hpp"

namespace candor::synth {

namespace {

// ---- counting ----

/// The rows of one dataset that the task may use, in no order that matters.
std::vector<std::int64_t> pool_rows(const study::Study& study, const study::Task& task,
                                    const Images& images) {
    std::vector<std::tuple<std::uint64_t, std::string, std::int64_t>> keyed;
    for (std::int64_t row = 0; row < images.rows(); ++row) {
        const std::string split(name_of(images.split[static_cast<std::size_t>(row)]));
        if (images.has_splits && std::ranges::find(task.splits, split) == task.splits.end()) continue;
        const std::string id = images.id(row);
        keyed.emplace_back(image_key(id, study.seed), id, row);
    }
    std::ranges::sort(keyed);
    if (task.rows > 0 && std::ssize(keyed) > task.rows) keyed.resize(static_cast<std::size_t>(task.rows));
    std::vector<std::int64_t> rows;
    for (const auto& [key, id, row] : keyed) {
        if (images.context[static_cast<std::size_t>(row)] >= 0) rows.push_back(row);
    }
    return rows;
}

std::string context_name(const study::Study& study, const study::Task& task, const Images& images,
                         std::size_t answers, std::int64_t row) {
    std::string name;
    for (const std::string& column : task.context) {
        if (!name.empty()) name += " / ";
        const auto value = static_cast<std::size_t>(images.context[static_cast<std::size_t>(row)]);
        name += column == "dataset" ? study.datasets[answers].id : images.contexts.at(value);
    }
    return name;
}

std::size_t position_of(const study::Study& study, const std::string& dataset) {
    return static_cast<std::size_t>(std::ranges::find(study.datasets, dataset, &study::Dataset::id) -
                                    study.datasets.begin());
}

// ---- simulating ----

/// What one query meets: candidates' scores within its context, kappa left out, since it moves them all
/// alike.
class Query {
  public:
    Query(const Geometry& geometry, const Subject& subject, std::size_t finding, int k, Draws& draws)
        : geometry_(geometry),
          subject_(subject),
          finding_(finding),
          k_(static_cast<std::size_t>(k)),
          draws_(draws) {
        if (subject.exclusive) return;
        for (std::size_t f = 0; f < subject.findings.size(); ++f) {
            if (f == finding) continue;
            const double share = prevalence(subject, f);
            other_.push_back({geometry.squared(f), share, draws.uniform() < share});
            most_ += geometry.squared(f);
        }
    }

    /// Mean of the k largest scores of `singles` candidates with one image and `pairs` with two twins, of the
    /// label `positive`; `own_twin` is one more, the query's.
    double mean_of_largest(bool positive, std::int64_t singles, std::int64_t pairs, bool own_twin) {
        largest_.clear();
        const double own = own_score(positive);
        const double spread = 1 - geometry_.total(finding_);
        if (own_twin) keep(own + most_ + spread * twin_cosine(1));
        std::int64_t left = singles + pairs;
        LargestFirst coordinates(geometry_.coordinate(), std::max<std::int64_t>(1, left));
        while (left > 0) {
            const double t = coordinates.next(draws_);
            // No later candidate has more than t, nor its twin much more.
            const double bound = own + most_ + spread * (t + near_distance);
            if (largest_.size() == k_ && bound <= largest_.back()) break;
            const double score = own + others_score();
            keep(score + spread * t);
            if (draws_.uniform() * static_cast<double>(left) < static_cast<double>(pairs)) {
                keep(score + spread * twin_cosine(t));
                --pairs;
            }
            --left;
        }
        CANDOR_REQUIRE(largest_.size() == k_, std::to_string(largest_.size()));
        double sum = 0;
        for (const double score : largest_) sum += score;
        return sum / static_cast<double>(k_);
    }

  private:
    /// a_f^2 l_f(x) l_f(y) of the finding asked for.
    double own_score(bool positive) const {
        const double squared = geometry_.squared(finding_);
        return positive ? squared : subject_.exclusive ? 0 : -squared;
    }

    /// The sum over the other findings, for a candidate drawn anew.
    double others_score() {
        double score = 0;
        for (const Other& of : other_) {
            const bool same = (draws_.uniform() < of.prevalence) == of.present;
            score += same ? of.squared : -of.squared;
        }
        return score;
    }

    /// Coordinate of the twin of a row whose own coordinate is t: half of them are exact, the others moved
    /// aside.
    double twin_cosine(double t) {
        if (draws_.uniform() < 0.5) return t;
        const double aside = geometry_.coordinate().exceeded_with(draws_.uniform());
        return std::sqrt(1 - near_distance * near_distance) * t +
               near_distance * std::sqrt(std::max(0.0, 1 - t * t)) * aside;
    }

    /// Keeps the k largest scores, the largest first.
    void keep(double score) {
        largest_.insert(std::ranges::upper_bound(largest_, score, std::greater<>()), score);
        if (largest_.size() > k_) largest_.pop_back();
    }

    struct Other {
        double squared, prevalence;
        bool present;  // in the query
    };

    const Geometry& geometry_;
    const Subject& subject_;
    std::size_t finding_, k_;
    Draws& draws_;
    std::vector<Other> other_;
    double most_ = 0;  ///< of others_score
    std::vector<double> largest_;
};

/// How many of `pairs` have both twins among n of `rows` rows.
std::int64_t pairs_within(std::int64_t pairs, std::int64_t n, std::int64_t rows, Draws& draws) {
    const double share = std::min(1.0, static_cast<double>(n) / static_cast<double>(rows));
    if (share == 1) return pairs;
    // From one such pair to the next, as many fail as a geometric number says.
    const double log_failure = std::log1p(-share * share);
    const auto failures = [&] {
        return static_cast<std::int64_t>(std::min(1e15, std::log(draws.uniform()) / log_failure));
    };
    std::int64_t within = 0;
    for (std::int64_t i = failures(); i < pairs; i += 1 + failures()) ++within;
    return within;
}

}  // namespace

std::vector<CellCounts> count_cells(const study::Study& study, const study::Task& task,
                                    const Subject& subject, std::span<const Images* const> images,
                                    std::span<const std::vector<study::Label>* const> labels) {
    std::map<std::pair<std::size_t, std::string>, CellCounts> cells;
    std::vector<std::size_t> in_subject;
    for (const std::string& finding : task.findings) {
        in_subject.push_back(static_cast<std::size_t>(std::ranges::find(subject.findings, finding) -
                                                      subject.findings.begin()));
    }
    // Which rows of a dataset take part, and calls note(cell, row, label) for each of their labels.
    const auto for_each_label = [&](std::size_t d, std::size_t answers, const std::vector<std::int64_t>& rows,
                                    auto note) {
        for (const std::int64_t row : rows) {
            const std::string name = context_name(study, task, *images[d], answers, row);
            for (std::size_t f = 0; f < task.findings.size(); ++f) {
                const auto at = static_cast<std::int64_t>(in_subject[f]) * images[d]->rows() + row;
                const study::Label label = (*labels[d])[static_cast<std::size_t>(at)];
                if (label != study::Label::positive && label != study::Label::negative) continue;
                note(cells[{f, name}], row, label == study::Label::positive);
            }
        }
    };
    std::vector<std::size_t> counted;
    for (const std::size_t d : task.datasets) {
        const bool has_reference = !study.datasets[d].reference.empty();
        const std::size_t answers = has_reference ? position_of(study, study.datasets[d].reference) : d;
        const auto rows_of = [&](std::size_t at) { return pool_rows(study, task, *images[at]); };
        if (std::ranges::find(counted, answers) == counted.end()) {
            counted.push_back(answers);
            const std::vector<std::int64_t> rows = rows_of(answers);
            std::vector<bool> takes_part(static_cast<std::size_t>(images[answers]->rows()));
            for (const std::int64_t row : rows) takes_part[static_cast<std::size_t>(row)] = true;
            for_each_label(answers, answers, rows, [&](CellCounts& cell, std::int64_t row, bool positive) {
                ++(positive ? cell.positives : cell.negatives);
                const bool twin = images[answers]->twin[static_cast<std::size_t>(row)] != Twin::none;
                if (twin && takes_part[static_cast<std::size_t>(row - 1)]) {
                    ++(positive ? cell.positive_pairs : cell.negative_pairs);
                }
            });
        }
        for_each_label(d, answers, rows_of(d), [&](CellCounts& cell, std::int64_t, bool positive) {
            cell.queries += positive;
            cell.asks_reference = has_reference;
        });
    }
    std::vector<CellCounts> scored;
    for (auto& [key, cell] : cells) {
        cell.finding = key.first;
        cell.context = key.second;
        cell.n = std::min(cell.positives, cell.negatives) - 1;
        if (study.op.bank_cap > 0) cell.n = std::min(cell.n, study.op.bank_cap);
        if (cell.n >= study.op.k && cell.queries > 0) scored.push_back(cell);
    }
    return scored;
}

double Expected::standard_error() const {
    const double p = static_cast<double>(discordant + 1) / static_cast<double>(simulated + 2);
    return std::sqrt(p * (1 - p) / static_cast<double>(simulated));
}

Expected simulate_cell(const Geometry& geometry, const Subject& subject, std::size_t finding,
                       const CellCounts& cell, int k, std::int64_t queries, const Stream& stream) {
    Expected expected;
    Draws draws(stream);
    for (std::int64_t q = 0; q < queries; ++q) {
        Query query(geometry, subject, finding, k, draws);
        std::int64_t pairs = cell.positive_pairs;
        bool own_twin = false;
        if (!cell.asks_reference &&
            draws.uniform() * static_cast<double>(cell.positives) < 2 * static_cast<double>(pairs)) {
            --pairs;
            own_twin =
                draws.uniform() * static_cast<double>(cell.positives - 1) < static_cast<double>(cell.n);
        }
        const std::int64_t with =
            std::min((cell.n - own_twin) / 2, pairs_within(pairs, cell.n, cell.positives, draws));
        const std::int64_t without =
            std::min(cell.n / 2, pairs_within(cell.negative_pairs, cell.n, cell.negatives, draws));
        const double near = query.mean_of_largest(true, cell.n - own_twin - 2 * with, with, own_twin);
        const double far = query.mean_of_largest(false, cell.n - 2 * without, without, false);
        expected.discordant += far > near;
        ++expected.simulated;
    }
    return expected;
}

}  // namespace candor::synth
