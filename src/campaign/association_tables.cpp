#include "candor/campaign/association_tables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "candor/base/error.hpp"
#include "candor/campaign/lines.hpp"
#include "candor/campaign/retention_mpi.hpp"
#include "candor/instruments/associations.hpp"
#include "candor/stats/student_t.hpp"

namespace candor::campaign {

namespace {

using instruments::Counts;
using instruments::Estimate;
using instruments::no_estimate;
using instruments::Replicates;

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

/// D of every encoder of a task: by scored finding, and over them.
struct Rates {
    std::vector<std::size_t> findings;             // that are scored, positions in Task::findings
    std::vector<std::vector<Replicates>> finding;  // by encoder, then as `findings`
    std::vector<Replicates> micro, macro;          // by encoder; empty where no finding is scored
};

Rates rates_of(const study::Task& task, std::size_t work, const Counted& counted) {
    const std::size_t encoders = task.encoders.size();
    std::vector<std::vector<const FindingResult*>> by_finding(
        task.findings.size(), std::vector<const FindingResult*>(encoders, nullptr));
    for (const FindingResult& result : counted.findings) {
        if (result.work == work && result.rule == 0 && result.tally.observed.queries > 0)
            by_finding[result.finding][result.encoder] = &result;
    }
    Rates rates;
    rates.finding.resize(encoders);
    for (std::size_t f = 0; f < by_finding.size(); ++f) {
        // Queries and candidates are those of the pool, so all encoders score a finding or none does.
        if (std::ranges::find(by_finding[f], nullptr) == by_finding[f].end()) rates.findings.push_back(f);
    }
    if (rates.findings.empty()) return rates;
    for (std::size_t e = 0; e < encoders; ++e) {
        instruments::Tally together;
        for (const std::size_t f : rates.findings) {
            together += by_finding[f][e]->tally;
            rates.finding[e].push_back(instruments::replicates(by_finding[f][e]->tally, &Counts::rate_mid));
        }
        rates.micro.push_back(instruments::replicates(together, &Counts::rate_mid));
        rates.macro.push_back(instruments::mean_of(rates.finding[e]));
    }
    return rates;
}

/// a - b, observed and in each resample.
Replicates difference(const Replicates& a, const Replicates& b) {
    Replicates out{a.observed - b.observed, {}};
    for (std::size_t i = 0; i < a.resampled.size(); ++i)
        out.resampled.push_back(a.resampled[i] - b.resampled[i]);
    return out;
}

// ---- associations ----

struct AssociationLine {
    std::string task;
    instruments::Association what;
    Verdict verdict;  // of tested_p()

    bool is_test() const { return what.kind == "spearman" || what.kind == "slope"; }
    /// Student's t is far from the truth for a handful of encoders (0 where |rho| = 1), so the exact p
    /// decides where there is one.
    double tested_p() const { return std::isnan(what.exact_p) ? what.p : what.exact_p; }
};

void put_association(Rows& rows, const AssociationLine& line) {
    rows.put("task", line.task);
    rows.put("kind", line.what.kind);
    rows.put("x", line.what.x);
    rows.put("y", line.what.y);
    rows.put("group", line.what.group);
    rows.put("n", line.what.n);
    rows.put("value", line.what.value);
    rows.put("standard_error", line.what.standard_error);
    rows.put("p", line.what.p);
    rows.put("exact_p", line.what.exact_p);
    rows.put("q", line.verdict.q);
    rows.put("reject", line.verdict.reject);
    rows.put("method", line.what.method);
    rows.put("undefined", line.what.undefined);
}

instruments::TaskFigures figures_of(const study::Study& study, const TaskWork& work, const Rates& rates,
                                    const std::vector<study::Boxes>& boxes,
                                    const std::vector<double>& retention,
                                    const std::vector<std::vector<double>>& finding_auroc,
                                    const std::vector<double>& task_auroc) {
    const study::Task& task = study.tasks[work.task];
    instruments::TaskFigures figures;
    figures.area = evidence_areas(work, task, boxes);
    for (std::size_t e = 0; e < task.encoders.size(); ++e) {
        const study::Encoder& encoder = study.encoders[task.encoders[e]];
        instruments::EncoderFigures& here = figures.encoders.emplace_back();
        here.domain = encoder.domain;
        here.anchor = encoder.anchor;
        here.parameters = encoder.parameters.value_or(undefined);
        if (encoder.year) here.year = static_cast<double>(*encoder.year);
        if (!rates.micro.empty()) here.d = rates.micro[e].observed;
        here.retention = retention[e];
        here.task_auroc = task_auroc[e];
        for (std::size_t i = 0; i < rates.findings.size(); ++i) {
            instruments::CellFigures& cell = figures.cells.emplace_back();
            cell.encoder = e;
            cell.finding = rates.findings[i];
            cell.d = rates.finding[e][i].observed;
            cell.task_auroc = finding_auroc[e][cell.finding];
        }
    }
    return figures;
}

// ---- distances ----

struct DistanceLine {
    std::string task, level, finding, encoder, anchor;
    Estimate distance = no_estimate;
    Verdict verdict;
};

void put_distance(Rows& rows, const DistanceLine& line) {
    rows.put("task", line.task);
    rows.put("level", line.level);
    rows.put("finding", line.finding);
    rows.put("encoder", line.encoder);
    rows.put("anchor", line.anchor);
    put_estimate(rows, "distance", "low", "high", line.distance);
    rows.put("n_boot_valid", line.distance.valid);
    put_verdict(rows, line.verdict);
}

/// Lines of one level and a family of their tests: one an encoder that is not the anchor.
class DistanceLevel {
  public:
    DistanceLevel(const study::Study& study, const study::Task& task, std::size_t anchor, std::string family)
        : study_(study), task_(task), anchor_(anchor), family_(TestFamily::bootstrap(family, task.id)) {}

    /// `of(e)` are the rates of encoder e.
    template <class Of>
    void add(const std::string& level, const std::string& finding, Of of) {
        for (std::size_t e = 0; e < task_.encoders.size(); ++e) {
            if (e == anchor_) continue;
            const Replicates distance = difference(of(anchor_), of(e));
            family_.add(distance, 0);
            DistanceLine line;
            line.task = task_.id;
            line.level = level;
            line.finding = finding;
            line.encoder = study_.encoders[task_.encoders[e]].id;
            line.anchor = study_.encoders[task_.encoders[anchor_]].id;
            line.distance = instruments::estimate(distance, study_.bootstrap.confidence);
            line.verdict.p = family_.p.back();
            lines_.push_back(line);
        }
    }

    /// Appends the lines; with `families` they are tested together.
    void finish(std::vector<DistanceLine>& lines, std::vector<TestFamily>* families) {
        if (families != nullptr) {
            const std::vector<Verdict> verdicts = family_.verdicts(study_.test.alpha);
            for (std::size_t i = 0; i < verdicts.size(); ++i) lines_[i].verdict = verdicts[i];
            families->push_back(std::move(family_));
        }
        lines.insert(lines.end(), lines_.begin(), lines_.end());
    }

  private:
    const study::Study& study_;
    const study::Task& task_;
    std::size_t anchor_;
    TestFamily family_;
    std::vector<DistanceLine> lines_;
};

void add_distances(const study::Study& study, const study::Task& task, const Rates& rates,
                   std::vector<DistanceLine>& lines, std::vector<TestFamily>& families) {
    const auto at =
        std::ranges::find_if(task.encoders, [&](std::size_t e) { return study.encoders[e].anchor; });
    if (at == task.encoders.end() || task.encoders.size() < 2 || rates.findings.empty()) return;
    const auto anchor = static_cast<std::size_t>(at - task.encoders.begin());
    DistanceLevel micro(study, task, anchor, "distance from the anchor");
    micro.add("micro", "", [&](std::size_t e) { return rates.micro[e]; });
    micro.finish(lines, &families);
    DistanceLevel macro(study, task, anchor, "");
    macro.add("macro", "", [&](std::size_t e) { return rates.macro[e]; });
    macro.finish(lines, nullptr);
    DistanceLevel finding(study, task, anchor, "distance from the anchor, by finding");
    for (std::size_t i = 0; i < rates.findings.size(); ++i) {
        finding.add("finding", task.findings[rates.findings[i]],
                    [&](std::size_t e) { return rates.finding[e][i]; });
    }
    finding.finish(lines, &families);
}

// ---- contrasts ----

struct ContrastLine {
    std::string task, contrast, kind, arm, against;
    std::int64_t encoders = 0, cells = 0;
    double value = undefined, low = undefined, high = undefined;
    Estimate boot = no_estimate;
    Verdict verdict;
    std::string why_not;
};

void put_contrast(Rows& rows, const ContrastLine& line) {
    rows.put("task", line.task);
    rows.put("contrast", line.contrast);
    rows.put("kind", line.kind);
    rows.put("arm", line.arm);
    rows.put("against", line.against);
    rows.put("encoders", line.encoders);
    rows.put("cells", line.cells);
    rows.put("value", line.value);
    rows.put("low", line.low);
    rows.put("high", line.high);
    rows.put("boot_low", line.boot.low);
    rows.put("boot_high", line.boot.high);
    rows.put("n_boot_valid", line.boot.valid);
    put_verdict(rows, line.verdict);
    rows.put("undefined", line.why_not);
}

/// Mean of several values with its standard error; values that differ by roundings alone count as equal.
struct Sample {
    double mean, error;
    bool constant;

    explicit Sample(std::span<const double> values) {
        // Rates and their means lie in [-1, 1] and are off by an eps an encoder or two.
        constexpr double rounding = 1e-12;
        const auto n = static_cast<double>(values.size());
        const auto [least, most] = std::ranges::minmax(values);
        constant = most - least <= rounding;
        mean = 0;
        for (const double v : values) mean += v / n;
        double squares = 0;
        for (const double v : values) squares += (v - mean) * (v - mean);
        error = constant ? 0 : std::sqrt(squares / (n - 1) / n);
    }
};

/// Fills in what follows from the values of the parts; `test` asks for the t-test of mean 0.
void summarise(ContrastLine& line, const std::vector<Replicates>& parts, const std::string& part, bool test,
               double confidence) {
    if (parts.empty()) {
        line.why_not = "no cell is scored";
        return;
    }
    line.boot = instruments::estimate(instruments::mean_of(parts), confidence);
    line.value = line.boot.value;
    if (parts.size() < 2) {
        line.why_not = "fewer than 2 " + part;
        return;
    }
    std::vector<double> values;
    for (const Replicates& one : parts) values.push_back(one.observed);
    const Sample sample(values);
    const auto degrees = static_cast<double>(values.size() - 1);
    const double half = stats::t_quantile(confidence, degrees) * sample.error;
    line.low = line.value - half;
    line.high = line.value + half;
    if (test && sample.constant) line.why_not = "constant differences";
    if (test && !sample.constant) line.verdict.p = stats::two_sided_t(sample.mean / sample.error, degrees);
}

void add_contrast(const study::Study& study, const study::Contrast& contrast, const study::Task& task,
                  const Rates& rates, std::vector<ContrastLine>& lines) {
    std::vector<std::vector<Replicates>> by_finding;  // arm: means over its encoders
    std::vector<std::int64_t> sizes;
    for (const auto& [name, ids] : contrast.arms) {
        std::vector<std::size_t> encoders;
        for (std::size_t e = 0; e < task.encoders.size(); ++e) {
            if (std::ranges::find(ids, study.encoders[task.encoders[e]].id) != ids.end())
                encoders.push_back(e);
        }
        std::vector<Replicates> cells;
        for (const std::size_t e : encoders)
            cells.insert(cells.end(), rates.finding[e].begin(), rates.finding[e].end());
        ContrastLine line;
        line.task = task.id;
        line.contrast = contrast.id;
        line.kind = "arm";
        line.arm = name;
        line.encoders = std::ssize(encoders);
        line.cells = std::ssize(cells);
        summarise(line, cells, "cells", false, study.bootstrap.confidence);
        lines.push_back(line);

        sizes.push_back(line.encoders);
        by_finding.emplace_back();
        for (std::size_t i = 0; i < rates.findings.size(); ++i) {
            std::vector<Replicates> of_finding;
            for (const std::size_t e : encoders) of_finding.push_back(rates.finding[e][i]);
            by_finding.back().push_back(instruments::mean_of(of_finding));
        }
    }
    for (std::size_t a = 0; a < contrast.arms.size(); ++a) {
        for (std::size_t b = a + 1; b < contrast.arms.size(); ++b) {
            std::vector<Replicates> differences;
            for (std::size_t i = 0; i < rates.findings.size(); ++i)
                differences.push_back(difference(by_finding[a][i], by_finding[b][i]));
            ContrastLine line;
            line.task = task.id;
            line.contrast = contrast.id;
            line.kind = "difference";
            line.arm = contrast.arms[a].first;
            line.against = contrast.arms[b].first;
            line.encoders = sizes[a] + sizes[b];
            line.cells = std::ssize(differences);
            summarise(line, differences, "findings", true, study.bootstrap.confidence);
            lines.push_back(line);
        }
    }
}

/// Tests the associations and the differences of arms of the whole study together.
TestFamily test_together(const study::Study& study, std::vector<AssociationLine>& associations,
                         std::vector<ContrastLine>& contrasts) {
    TestFamily family{"associations", "", "t or exact", {}, 0};
    for (const AssociationLine& line : associations) {
        if (line.is_test()) family.p.push_back(line.tested_p());
    }
    for (const ContrastLine& line : contrasts) {
        if (line.kind == "difference") family.p.push_back(line.verdict.p);
    }
    const std::vector<Verdict> verdicts = family.verdicts(study.test.alpha);
    auto next = verdicts.begin();
    for (AssociationLine& line : associations) {
        if (line.is_test()) line.verdict = *next++;
    }
    for (ContrastLine& line : contrasts) {
        if (line.kind == "difference") line.verdict = *next++;
    }
    return family;
}

}  // namespace

AssociationTables association_tables(const study::Study& study, const std::vector<TaskWork>& work,
                                     const Counted& counted, const std::vector<study::Boxes>& boxes,
                                     const std::vector<std::vector<double>>& retention,
                                     const TaskAurocs& aurocs) {
    CANDOR_REQUIRE(retention.size() == work.size() && aurocs.task.size() == work.size() &&
                       aurocs.finding.size() == work.size() && boxes.size() == study.datasets.size(),
                   std::to_string(retention.size()) + " of " + std::to_string(work.size()) + " tasks, " +
                       std::to_string(boxes.size()) + " of " + std::to_string(study.datasets.size()) +
                       " datasets");
    AssociationTables out;
    std::vector<AssociationLine> associations;
    std::vector<DistanceLine> distances;
    std::vector<std::vector<ContrastLine>> of_contrast(study.contrasts.size());
    for (std::size_t w = 0; w < work.size(); ++w) {
        const study::Task& task = study.tasks[work[w].task];
        const Rates rates = rates_of(task, w, counted);
        for (const instruments::Association& one : instruments::associations(
                 figures_of(study, work[w], rates, boxes, retention[w], aurocs.finding[w], aurocs.task[w]))) {
            associations.push_back({task.id, one, {}});
        }
        add_distances(study, task, rates, distances, out.families);
        for (std::size_t c = 0; c < study.contrasts.size(); ++c) {
            if (study.contrasts[c].task == task.id)
                add_contrast(study, study.contrasts[c], task, rates, of_contrast[c]);
        }
    }
    std::vector<ContrastLine> contrasts;
    for (const std::vector<ContrastLine>& lines : of_contrast)
        contrasts.insert(contrasts.end(), lines.begin(), lines.end());
    out.families.push_back(test_together(study, associations, contrasts));
    out.associations = table_of("associations", associations, put_association);
    out.distances = table_of("distances", distances, put_distance);
    out.contrasts = table_of("contrasts", contrasts, put_contrast);
    return out;
}

}  // namespace candor::campaign
