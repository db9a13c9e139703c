#include "candor/campaign/ablation_table.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "candor/campaign/rows.hpp"
#include "candor/instruments/summary.hpp"

namespace candor::campaign {

namespace {

using instruments::Counts;
using instruments::Replicates;

/// Whose rate: an (encoder, finding), or an encoder's task where the finding is absent.
struct Subject {
    std::size_t work, encoder;
    std::optional<std::size_t> finding;

    auto operator<=>(const Subject&) const = default;
};

/// Tallies of a subject by rule, as positions in TaskWork::rules.
using Tallies = std::map<Subject, std::map<std::size_t, instruments::Tally>>;

Tallies tallies_of(const Counted& counted) {
    Tallies tallies;
    for (const FindingResult& result : counted.findings) {
        for (const auto& finding : {std::optional(result.finding), std::optional<std::size_t>()}) {
            tallies[{result.work, result.encoder, finding}][result.rule] += result.tally;
        }
    }
    return tallies;
}

/// Counts of the labelled rows that answered a subject's queries, summed over the cells of its figures.
struct Rarity {
    std::int64_t positives = 0, negatives = 0, patients = 0, queries = 0;
    std::int64_t n = std::numeric_limits<std::int64_t>::max();  // candidates a side, the fewest
};

Rarity rarity_of(const TaskWork& work, const std::optional<std::size_t>& finding) {
    Rarity sum;
    for (const study::Cell& cell : work.cells) {
        if (!cell.in_figures() || (finding && static_cast<std::size_t>(cell.finding) != *finding)) continue;
        sum.positives += cell.positives;
        sum.negatives += cell.negatives;
        sum.patients += cell.patients;
        sum.queries += cell.positive_queries;
        sum.n = std::min(sum.n, cell.candidates.front().n);
    }
    return sum;
}

Replicates difference(const Replicates& a, const Replicates& b) {
    Replicates gap{a.observed - b.observed, a.resampled};
    for (std::size_t i = 0; i < gap.resampled.size(); ++i) gap.resampled[i] -= b.resampled[i];
    return gap;
}

/// Rate under `rule`; NaN where no cell is scored under it.
double rate_under(study::Rule rule, const TaskWork& work,
                  const std::map<std::size_t, instruments::Tally>& by_rule) {
    const auto at = std::ranges::find(work.rules, rule);
    const auto tally = by_rule.find(static_cast<std::size_t>(at - work.rules.begin()));
    return tally == by_rule.end() ? std::numeric_limits<double>::quiet_NaN() : tally->second.observed.rate();
}

}  // namespace

store::ResultTable ablation_table(const study::Study& study, const std::vector<TaskWork>& work,
                                  const Counted& counted, const std::vector<TaskWork>& merged,
                                  const Counted& merged_counted) {
    const Tallies matched_tallies = tallies_of(counted);
    const Tallies merged_tallies = tallies_of(merged_counted);
    const double confidence = study.bootstrap.confidence;
    Rows rows("ablations");
    const auto put = [&](const Subject& subject, const std::map<std::size_t, instruments::Tally>& by_rule) {
        const TaskWork& here = work[subject.work];
        const study::Task& task = study.tasks[here.task];
        const Rarity rarity = rarity_of(here, subject.finding);
        const auto labelled = static_cast<double>(rarity.positives + rarity.negatives);
        const Replicates matched = instruments::replicates(by_rule.at(0), &Counts::rate);
        const Replicates without = instruments::replicates(merged_tallies.at(subject).at(0), &Counts::rate);
        rows.begin();
        rows.put("task", task.id);
        rows.put("encoder", study.encoders[task.encoders[subject.encoder]].id);
        rows.put("level", std::string(subject.finding ? "finding" : "task"));
        rows.put("finding", subject.finding ? task.findings[*subject.finding] : std::string());
        rows.put("n_pos", rarity.positives);
        rows.put("n_neg", rarity.negatives);
        rows.put("prevalence", static_cast<double>(rarity.positives) / labelled);
        rows.put("images_a_patient", labelled / static_cast<double>(rarity.patients));
        rows.put("queries", rarity.queries);
        rows.put("n_matched", rarity.n);
        rows.put("n_merged", rarity_of(merged[subject.work], subject.finding).n);
        put_estimate(rows, "matched", "matched_low", "matched_high",
                     instruments::estimate(matched, confidence));
        put_estimate(rows, "merged", "merged_low", "merged_high", instruments::estimate(without, confidence));
        put_estimate(rows, "difference", "difference_low", "difference_high",
                     instruments::estimate(difference(without, matched), confidence));
        for (const study::Rule rule :
             {study::Rule::equal, study::Rule::distinct, study::Rule::literal, study::Rule::unequal}) {
            const std::string name(study::name_of(rule));
            rows.put(name.c_str(), rate_under(rule, here, by_rule));
        }
    };
    for (const bool of_findings : {true, false}) {
        for (const auto& [subject, by_rule] : matched_tallies) {
            if (subject.finding.has_value() == of_findings) put(subject, by_rule);
        }
    }
    return rows.take();
}

}  // namespace candor::campaign
