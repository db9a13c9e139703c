#include "candor/campaign/selection_mpi.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "candor/base/bytes.hpp"
#include "candor/base/threads.hpp"
#include "candor/campaign/lines.hpp"
#include "candor/instruments/operating_point.hpp"
#include "candor/instruments/selection.hpp"
#include "candor/parallel/schedule.hpp"
#include "candor/stats/platt.hpp"
#include "candor/stats/resampling.hpp"

namespace candor::campaign {

namespace {

using instruments::Estimate;
using instruments::no_estimate;
using instruments::Policy;
using instruments::SelectionCounts;
using instruments::SelectionTally;

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t few = 10;  // METHODS 4

/// The heads of one dataset under all encoders: the unit that a rank counts.
struct Job {
    std::size_t work = 0, dataset = 0;
    auto operator<=>(const Job&) const = default;
};

/// What is known of one encoder's heads.
struct OfEncoder {
    Matrix<double> test, validation, impurity;  // findings x rows
    std::vector<double> threshold;              // by finding; NaN: none
};

std::map<Job, int> place(const parallel::Communicator& world, const study::Study& study,
                         const std::vector<TaskWork>& work, const HeadRowsOfWork& heads) {
    std::vector<Job> jobs;
    std::vector<double> costs;
    for (const DetectionJob& one : detection_jobs(study, work, heads)) {
        const study::Task& task = study.tasks[work[one.work].task];
        if (one.encoder > 0 || task.encoders.size() < 2) continue;
        jobs.push_back({one.work, one.dataset});
        costs.push_back(static_cast<double>(task.encoders.size() * task.findings.size() *
                                            heads[one.work][one.dataset].test.size()));
    }
    const std::vector<int> placed = parallel::place_longest_first(costs, world.size());
    std::map<Job, int> rank_of;
    for (std::size_t j = 0; j < jobs.size(); ++j) rank_of.emplace(jobs[j], placed[j]);
    return rank_of;
}

/// Brings all encoders' heads of a dataset to one rank. Collective.
std::map<Job, std::map<std::size_t, OfEncoder>> deliver(const parallel::Communicator& world,
                                                        const std::vector<ScoredHeads>& scored,
                                                        const std::map<Job, int>& rank_of) {
    std::vector<ByteWriter> writers(static_cast<std::size_t>(world.size()));
    for (const ScoredHeads& one : scored) {
        const Job job{one.job.work, one.job.dataset};
        const auto at = rank_of.find(job);
        if (at == rank_of.end()) continue;
        ByteWriter& out = writers[static_cast<std::size_t>(at->second)];
        out.put(job);
        out.put(one.job.encoder);
        put_matrix(out, one.test);
        put_matrix(out, one.validation);
        put_matrix(out, one.geometry.impurity);
        std::vector<double> thresholds;
        for (const auto& threshold : one.threshold) thresholds.push_back(threshold.value_or(undefined));
        out.put(std::span<const double>(thresholds));
    }
    std::vector<std::string> outgoing;
    for (ByteWriter& writer : writers) outgoing.push_back(writer.take());
    std::map<Job, std::map<std::size_t, OfEncoder>> here;
    for (const std::string& bytes : world.exchange(outgoing)) {
        ByteReader in(bytes);
        while (!in.done()) {
            const Job job = in.get<Job>();
            OfEncoder& of = here[job][in.get<std::size_t>()];
            of.test = get_matrix(in);
            of.validation = get_matrix(in);
            of.impurity = get_matrix(in);
            of.threshold = in.get_many<double>();
        }
    }
    return here;
}

/// Who has negative cases, and who has positive ones.
struct Patients {
    std::array<std::set<std::int32_t>, 2> by_label;

    void merge(Patients& other) {
        for (std::size_t l = 0; l < 2; ++l) by_label[l].merge(other.by_label[l]);
    }
};

/// What a rank tells of one finding in one dataset.
struct Counted {
    SelectionTally tally;
    Patients patients;
};

/// Logits as probabilities, by Platt's curves of the encoders, fitted on validation.
struct Calibrated {
    Matrix<double> test;            // encoders x cases
    std::vector<double> threshold;  // p(t)
    double mean_threshold = 0;      // of the mean probability
};

/// None where validation has rows of one label alone.
std::optional<Calibrated> calibrate(const study::Study& study, const std::map<std::size_t, OfEncoder>& heads,
                                    std::int64_t finding, const study::HeadSide& validation,
                                    const Matrix<double>& logit) {
    const std::vector<std::int8_t>& labels = validation.labels[static_cast<std::size_t>(finding)];
    std::vector<std::size_t> labelled;
    std::vector<std::int8_t> label;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] < 0) continue;
        labelled.push_back(i);
        label.push_back(labels[i]);
    }
    Calibrated out;
    out.test = Matrix<double>(logit.rows(), logit.cols());
    std::vector<double> mean(labelled.size());
    for (const auto& [encoder, of] : heads) {
        const auto g = static_cast<std::int64_t>(encoder);
        std::vector<double> z;
        for (const std::size_t i : labelled) z.push_back(of.validation.row(finding)[i]);
        const auto curve = stats::fit_platt(z, label);
        if (!curve) return std::nullopt;
        for (std::size_t i = 0; i < z.size(); ++i) mean[i] += (*curve)(z[i]);
        std::ranges::transform(logit.row(g), out.test.row(g).begin(), *curve);
        out.threshold.push_back((*curve)(of.threshold[static_cast<std::size_t>(finding)]));
    }
    std::vector<double> positives;
    for (std::size_t i = 0; i < mean.size(); ++i) {
        if (label[i] == 1) positives.push_back(mean[i] / static_cast<double>(heads.size()));
    }
    out.mean_threshold = instruments::operating_point(positives, study.heads.sensitivity).value().threshold;
    return out;
}

/// One finding's cases, ready to be counted; none where some head has no threshold or no row is labelled.
std::optional<std::pair<instruments::SelectionCounter, Patients>> counter_of(
    const study::Study& study, const TaskWork& work, const study::HeadRows& rows,
    const std::map<std::size_t, OfEncoder>& heads, const std::vector<std::vector<double>>& training,
    std::int64_t finding) {
    const auto f = static_cast<std::size_t>(finding);
    std::vector<double> threshold, training_d;
    for (const auto& [encoder, of] : heads) {
        threshold.push_back(of.threshold[f]);
        training_d.push_back(training[encoder][f]);
    }
    if (std::ranges::any_of(threshold, [](double t) { return std::isnan(t); })) return std::nullopt;
    std::vector<std::size_t> cases;
    std::vector<std::int8_t> label;
    std::vector<std::int32_t> patient;
    for (std::size_t i = 0; i < rows.test.size(); ++i) {
        const auto at = static_cast<std::size_t>(rows.test[i].value);
        if (work.pool.labels[f][at] < 0) continue;
        cases.push_back(i);
        label.push_back(work.pool.labels[f][at]);
        patient.push_back(work.pool.patient[at]);
    }
    if (cases.empty()) return std::nullopt;
    const auto encoders = std::ssize(heads), n = std::ssize(cases);
    Matrix<double> logit(encoders, n), impurity(encoders, n);
    for (const auto& [encoder, of] : heads) {
        const auto g = static_cast<std::int64_t>(encoder);
        for (std::size_t i = 0; i < cases.size(); ++i) {
            logit.row(g)[i] = of.test.row(finding)[cases[i]];
            impurity.row(g)[i] = of.impurity.row(finding)[cases[i]];
        }
    }
    const auto calibrated = calibrate(study, heads, finding, rows.validation, logit);
    instruments::SelectionCases all{logit.view(), threshold, label, patient};
    if (calibrated) {
        all.probability = calibrated->test.view();
        all.threshold_probability = calibrated->threshold;
        all.mean_threshold = calibrated->mean_threshold;
    }
    all.training_d = training_d;
    all.impurity = impurity.view();
    Patients patients;
    for (std::size_t i = 0; i < label.size(); ++i)
        patients.by_label[static_cast<std::size_t>(label[i])].insert(patient[i]);
    return std::pair(instruments::SelectionCounter(all), std::move(patients));
}

/// Counts one dataset's findings, as they are and in each resample.
std::map<std::size_t, Counted> count(const study::Study& study, const TaskWork& work,
                                     const study::HeadRows& rows,
                                     const std::map<std::size_t, OfEncoder>& heads,
                                     const std::vector<std::vector<double>>& training, int threads) {
    const study::Task& task = study.tasks[work.task];
    std::map<std::size_t, instruments::SelectionCounter> counters;
    std::map<std::size_t, Counted> counted;
    for (std::size_t f = 0; f < task.findings.size(); ++f) {
        auto made = counter_of(study, work, rows, heads, training, static_cast<std::int64_t>(f));
        if (!made) continue;
        Counted& one = counted[f];
        one.tally = made->first.observed();
        one.tally.resampled.assign(static_cast<std::size_t>(study.bootstrap.resamples),
                                   SelectionCounts(std::ssize(heads)));
        one.patients = std::move(made->second);
        counters.emplace(f, std::move(made->first));
    }
    std::vector<std::pair<const instruments::SelectionCounter*, Counted*>> all;
    for (auto& [f, counter] : counters) all.emplace_back(&counter, &counted.at(f));
    const stats::Resampling resampling(study.seed, task.id, work.pool.clusters, study.bootstrap.resamples);
    resampling.for_each_block([&](MatrixView<const stats::Weight> weights, std::int64_t first) {
        for_each_on_threads(threads, std::ssize(all), [&](std::int64_t i) {
            const auto& [counter, into] = all[static_cast<std::size_t>(i)];
            counter->count(weights, std::span(into->tally.resampled)
                                        .subspan(static_cast<std::size_t>(first),
                                                 static_cast<std::size_t>(weights.cols)));
        });
    });
    return counted;
}

void put_counted(ByteWriter& out, const Counted& one) {
    const SelectionTally& tally = one.tally;
    out.put(tally.observed.encoders());
    out.put(tally.observed.values());
    out.put(std::ssize(tally.resampled));
    for (const SelectionCounts& counts : tally.resampled) out.put(counts.values());
    out.put(tally.undefined);
    out.put(tally.without_impurity);
    for (const auto& of_label : one.patients.by_label) {
        const std::vector<std::int32_t> patients(of_label.begin(), of_label.end());
        out.put(std::span<const std::int32_t>(patients));
    }
}

Counted get_counted(ByteReader& in) {
    Counted one;
    const auto encoders = in.get<std::int64_t>();
    one.tally.observed = SelectionCounts(encoders, in.get_many<std::int64_t>());
    const auto resamples = in.get<std::ptrdiff_t>();
    for (std::ptrdiff_t b = 0; b < resamples; ++b)
        one.tally.resampled.emplace_back(encoders, in.get_many<std::int64_t>());
    one.tally.undefined = in.get<instruments::ByPolicy<bool>>();
    one.tally.without_impurity = in.get<std::int64_t>();
    for (auto& of_label : one.patients.by_label) {
        const auto patients = in.get_many<std::int32_t>();
        of_label.insert(patients.begin(), patients.end());
    }
    return one;
}

// ---- the table ----

struct Line {
    std::string task, level, finding, policy;
    std::int64_t encoders = 0, findings = 0, positives = 0, negatives = 0, without_impurity = 0;
    std::int64_t patients = 0, positive_patients = 0, negative_patients = 0;
    Estimate miss = no_estimate, false_alarm = no_estimate, balanced = no_estimate, gap_closed = no_estimate;
    stats::Bounds miss_bound{undefined, undefined}, false_alarm_bound{undefined, undefined};
    std::string why_not;
};

void put_line(Rows& rows, const Line& line) {
    rows.put("task", line.task);
    rows.put("level", line.level);
    rows.put("finding", line.finding);
    rows.put("policy", line.policy);
    rows.put("encoders", line.encoders);
    rows.put("findings", line.findings);
    rows.put("positives", line.positives);
    rows.put("negatives", line.negatives);
    rows.put("patients", line.patients);
    rows.put("positive_patients", line.positive_patients);
    rows.put("negative_patients", line.negative_patients);
    rows.put("few_patients", std::min(line.positive_patients, line.negative_patients) < few);
    rows.put("without_impurity", line.without_impurity);
    put_estimate(rows, "miss", "miss_low", "miss_high", line.miss);
    rows.put("n_boot_valid", line.miss.valid);
    rows.put("all_equal", line.miss.all_equal);
    rows.put("bound_low", line.miss_bound.low);
    rows.put("bound_high", line.miss_bound.high);
    put_estimate(rows, "false_alarm", "false_alarm_low", "false_alarm_high", line.false_alarm);
    rows.put("false_alarm_all_equal", line.false_alarm.all_equal);
    rows.put("false_alarm_bound_low", line.false_alarm_bound.low);
    rows.put("false_alarm_bound_high", line.false_alarm_bound.high);
    put_estimate(rows, "balanced_error", "balanced_error_low", "balanced_error_high", line.balanced);
    put_estimate(rows, "gap_closed", "gap_closed_low", "gap_closed_high", line.gap_closed);
    rows.put("gap_closed_n_boot_valid", line.gap_closed.valid);
    rows.put("undefined", line.why_not);
}

void count_patients(const Patients& patients, Line& line) {
    const auto& [negative, positive] = patients.by_label;
    std::set<std::int32_t> all = negative;
    all.insert(positive.begin(), positive.end());
    line.patients = std::ssize(all);
    line.positive_patients = std::ssize(positive);
    line.negative_patients = std::ssize(negative);
}

std::string why_not(Policy policy, const instruments::SelectionSummary& summary) {
    const std::size_t p = at(policy);
    if (!summary.undefined[p]) {
        if (summary.positives == 0) return "no positive case";
        if (summary.negatives == 0) return "no negative case";
        if (std::isnan(summary.miss[p].value)) return "a finding has no positive case";
        if (std::isnan(summary.false_alarm[p].value)) return "a finding has no negative case";
        return std::isnan(summary.gap_closed[p].value) ? "single and oracle are equal" : "";
    }
    return policy == Policy::lowest_d ? "no cell of training rows is scored"
                                      : "validation has rows of one label alone";
}

/// Patients with positive and with negative cases, of each share that a line is the mean of.
struct Contributing {
    std::vector<std::int64_t> positive, negative;
};

void add_lines(const study::Study& study, Line line, std::span<const SelectionTally> findings,
               const Contributing& patients, instruments::Pooling pooling, std::vector<Line>& lines) {
    const auto summary = instruments::summarise(findings, pooling, study.bootstrap.confidence);
    line.findings = std::ssize(findings);
    line.positives = summary.positives;
    line.negatives = summary.negatives;
    line.without_impurity = summary.without_impurity;
    for (std::size_t p = 0; p < instruments::policies; ++p) {
        const auto policy = static_cast<Policy>(p);
        line.policy = instruments::name_of(policy);
        line.miss = summary.miss[p];
        line.false_alarm = summary.false_alarm[p];
        line.balanced = summary.balanced[p];
        line.gap_closed = summary.gap_closed[p];
        // `independent` is a product of shares, and itself no share of the patients.
        const bool share = policy != Policy::independent;
        line.miss_bound = instruments::bound_of_mean(share ? line.miss : no_estimate, patients.positive,
                                                     study.bootstrap.confidence);
        line.false_alarm_bound = instruments::bound_of_mean(share ? line.false_alarm : no_estimate,
                                                            patients.negative, study.bootstrap.confidence);
        line.why_not = why_not(policy, summary);
        lines.push_back(line);
    }
}

/// @param counted  by finding; those that are not there are not scored
void add_task(const study::Study& study, const TaskWork& work, std::map<std::size_t, Counted> counted,
              std::vector<Line>& lines) {
    const study::Task& task = study.tasks[work.task];
    Line line;
    line.task = task.id;
    line.encoders = std::ssize(task.encoders);
    std::vector<SelectionTally> tallies;
    Patients everyone;
    Contributing of_findings;
    for (std::size_t f = 0; f < task.findings.size(); ++f) {
        Line of_finding = line;
        of_finding.level = "finding";
        of_finding.finding = task.findings[f];
        const auto at = counted.find(f);
        if (at == counted.end()) {
            of_finding.why_not = "no labelled test row whose heads have a threshold under every encoder";
            lines.push_back(std::move(of_finding));
            continue;
        }
        count_patients(at->second.patients, of_finding);
        everyone.merge(at->second.patients);
        tallies.push_back(std::move(at->second.tally));
        of_findings.positive.push_back(of_finding.positive_patients);
        of_findings.negative.push_back(of_finding.negative_patients);
        const Contributing alone{{of_finding.positive_patients}, {of_finding.negative_patients}};
        add_lines(study, std::move(of_finding), std::span(tallies).last(1), alone,
                  instruments::Pooling::micro, lines);
    }
    if (tallies.empty()) return;
    count_patients(everyone, line);
    line.level = "micro";
    add_lines(study, line, tallies, {{line.positive_patients}, {line.negative_patients}},
              instruments::Pooling::micro, lines);
    line.level = "macro";
    add_lines(study, line, tallies, of_findings, instruments::Pooling::macro, lines);
}

}  // namespace

store::ResultTable selection_mpi(const parallel::Communicator& world, const study::Study& study,
                                 const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                                 const std::vector<ScoredHeads>& scored, const TrainingRates& training,
                                 int threads, parallel::StopRequest& stop, const Log& log) {
    const auto rank_of = place(world, study, work, heads);
    const auto here = deliver(world, scored, rank_of);
    Progress progress(log, "resampling selection", static_cast<double>(here.size()));
    std::map<std::pair<std::size_t, std::size_t>, Counted> sums;  // by work, finding
    const auto add = [&](std::size_t w, std::size_t finding, Counted one) {
        Counted& sum = sums[{w, finding}];
        sum.tally += one.tally;
        sum.patients.merge(one.patients);
    };
    for (const auto& [job, encoders] : here) {
        if (stop.requested()) break;
        for (auto& [finding, one] : count(study, work[job.work], heads[job.work][job.dataset], encoders,
                                          training[job.work], threads))
            add(job.work, finding, std::move(one));
        progress.advance(1);
    }
    stop.rendezvous();
    ByteWriter mine;
    for (const auto& [key, one] : sums) {
        mine.put(key.first);
        mine.put(key.second);
        put_counted(mine, one);
    }
    const std::vector<std::string> gathered = world.gather(mine.take());
    if (world.rank() != 0) return {};
    sums.clear();
    for (const std::string& bytes : gathered) {
        ByteReader in(bytes);
        while (!in.done()) {
            const auto w = in.get<std::size_t>(), finding = in.get<std::size_t>();
            add(w, finding, get_counted(in));
        }
    }
    std::vector<Line> lines;
    for (std::size_t w = 0; w < work.size(); ++w) {
        if (std::ranges::none_of(rank_of, [&](const auto& one) { return one.first.work == w; })) continue;
        std::map<std::size_t, Counted> of_work;
        for (auto& [key, one] : sums) {
            if (key.first == w) of_work.emplace(key.second, std::move(one));
        }
        add_task(study, work[w], std::move(of_work), lines);
    }
    return table_of("selection", lines, put_line);
}

}  // namespace candor::campaign
