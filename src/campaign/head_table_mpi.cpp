#include "candor/campaign/head_table_mpi.hpp"

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
#include <tuple>
#include <utility>

#include "candor/base/bytes.hpp"
#include "candor/base/text.hpp"
#include "candor/base/threads.hpp"
#include "candor/campaign/inference_mpi.hpp"
#include "candor/campaign/lines.hpp"
#include "candor/instruments/head_margin.hpp"
#include "candor/instruments/operating_point.hpp"
#include "candor/instruments/summary.hpp"
#include "candor/stats/auroc.hpp"
#include "candor/stats/resampling.hpp"

namespace candor::campaign {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t few = 10;  // METHODS 4

/// A head of one finding: the unit of the table, and what it is ordered by.
struct HeadKey {
    std::size_t work = 0, dataset = 0, encoder = 0;  ///< positions among works and in the task
    instruments::HeadKind kind = instruments::HeadKind::linear;
    std::size_t finding = 0;

    auto operator<=>(const HeadKey&) const = default;
};

/// What one member says of one finding.
struct MemberOutputs {
    std::int32_t member = 0;
    std::int64_t epochs = 0;
    double loss = 0, lipschitz = 0;
    std::vector<double> validation, asked;  ///< z
};

/// What the table says of a head. Plain numbers only: it travels between ranks as bytes.
struct Measures {
    HeadKey key;
    std::int64_t epochs = 0, members = 0;
    double loss = 0, lipschitz = 0, threshold = undefined, sensitivity = undefined;
    std::int64_t test_rows = 0, test_positives = 0, patients = 0, pairs = 0;
    instruments::Estimate auroc{undefined, undefined, undefined, 0, false};
    double member_sd = undefined;
    std::int64_t unasked = 0;  ///< discordant cases without an output here or for their negative
    instruments::HeadMargins margins{0,
                                     0,
                                     0,
                                     {undefined, undefined, undefined},
                                     {undefined, undefined, undefined},
                                     {undefined, undefined, undefined}};
};

/// Every member's outputs at the rank that counts its (work, encoder, finding). Collective.
std::map<HeadKey, std::vector<MemberOutputs>> deliver_outputs(const parallel::Communicator& world,
                                                              const study::Study& study,
                                                              const std::vector<TaskWork>& work,
                                                              std::size_t which,
                                                              const std::vector<TrainedHead>& trained) {
    const auto owner = counting_owners(study, work, world.size());
    std::vector<ByteWriter> writers(static_cast<std::size_t>(world.size()));
    for (const TrainedHead& head : trained) {
        const HeadJob& job = head.job;
        if (job.work != which) continue;
        for (std::int64_t f = 0; f < head.result.asked.rows(); ++f) {
            const auto finding = static_cast<std::size_t>(f);
            ByteWriter& out = writers[static_cast<std::size_t>(owner(job.work, job.encoder, finding))];
            out.put(HeadKey{job.work, job.dataset, job.encoder, job.kind, finding});
            out.put(job.member);
            out.put(head.result.epochs);
            out.put(head.result.loss[finding]);
            out.put(head.result.lipschitz[finding]);
            out.put(head.result.validation.row(f));
            out.put(head.result.asked.row(f));
        }
    }
    std::vector<std::string> outgoing;
    for (ByteWriter& writer : writers) outgoing.push_back(writer.take());
    std::map<HeadKey, std::vector<MemberOutputs>> here;
    for (const std::string& bytes : world.exchange(outgoing)) {
        ByteReader in(bytes);
        while (!in.done()) {
            const auto key = in.get<HeadKey>();
            MemberOutputs one;
            one.member = in.get<std::int32_t>();
            one.epochs = in.get<std::int64_t>();
            one.loss = in.get<double>();
            one.lipschitz = in.get<double>();
            one.validation = in.get_many<double>();
            one.asked = in.get_many<double>();
            here[key].push_back(std::move(one));
        }
    }
    for (auto& [key, members] : here) std::ranges::sort(members, {}, &MemberOutputs::member);
    return here;
}

/// One context's labelled test rows: positions in HeadRows::test.
struct ContextSides {
    std::vector<std::size_t> rows[2];  // by label
};

std::map<std::int32_t, ContextSides> sides_of(const study::Pool& pool, const study::HeadRows& rows,
                                              std::size_t finding) {
    std::map<std::int32_t, ContextSides> sides;
    for (std::size_t i = 0; i < rows.test.size(); ++i) {
        const auto at = static_cast<std::size_t>(rows.test[i].value);
        const std::int8_t label = pool.labels[finding][at];
        if (label >= 0) sides[pool.context[at]].rows[label].push_back(i);
    }
    return sides;
}

std::vector<stats::PairCounter> counters_of(const study::Pool& pool, const study::HeadRows& rows,
                                            const std::map<std::int32_t, ContextSides>& sides,
                                            const std::vector<double>& z) {
    std::vector<stats::PairCounter> counters;
    for (const auto& [context, of] : sides) {
        std::vector<double> score[2];
        std::vector<std::int32_t> patient[2];
        for (const std::size_t label : {0, 1}) {
            for (const std::size_t i : of.rows[label]) {
                score[label].push_back(z[i]);
                patient[label].push_back(pool.patient[static_cast<std::size_t>(rows.test[i].value)]);
            }
        }
        if (score[0].empty() || score[1].empty()) continue;
        counters.emplace_back(score[1], patient[1], score[0], patient[0]);
    }
    return counters;
}

double observed_auroc(const std::vector<stats::PairCounter>& counters) {
    std::int64_t wins = 0, pairs = 0;
    for (const stats::PairCounter& one : counters) {
        wins += one.twice_wins();
        pairs += one.pairs();
    }
    return stats::auroc(wins, pairs);
}

/// Standard deviation of the members' AUROCs; NaN of fewer than two.
double spread(const std::vector<double>& values) {
    if (values.size() < 2) return undefined;
    double mean = 0, squares = 0;
    for (const double v : values) mean += v / static_cast<double>(values.size());
    for (const double v : values) squares += (v - mean) * (v - mean);
    return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

/// The head's outputs on the discordant cases of its cells and on their nearest negatives.
std::vector<instruments::HeadCase> cases_of(const TaskWork& work, const HeadKey& key, std::size_t dataset,
                                            const std::vector<PoolRow>& asked, const std::vector<double>& z,
                                            const std::vector<Found>& owned, std::int64_t& unasked) {
    std::map<std::int64_t, std::size_t> place;  // of a pool row among those asked
    for (std::size_t i = 0; i < asked.size(); ++i) place.emplace(asked[i].value, i);
    std::vector<instruments::HeadCase> cases;
    for (const Found& found : owned) {
        if (found.work != key.work || found.encoder != key.encoder) continue;
        const study::Cell& cell = work.cells[found.cell];
        if (static_cast<std::size_t>(cell.finding) != key.finding || !cell.in_figures()) continue;
        const auto& context = work.contexts[static_cast<std::size_t>(cell.context)].rows;
        const auto pool_row = [&](ContextRow row) { return context[static_cast<std::size_t>(row.value)]; };
        const std::vector<ContextRow>& negatives = cell.candidates.front().list[0];
        for (std::int64_t q = 0; q < cell.positive_queries; ++q) {
            const instruments::Discordance& says = found.primary[static_cast<std::size_t>(q)];
            if (says.margin() <= 0) continue;
            const PoolRow row = pool_row(cell.queries[static_cast<std::size_t>(q)]);
            if (static_cast<std::size_t>(work.pool.dataset[static_cast<std::size_t>(row.value)]) != dataset)
                continue;
            const auto x = place.find(row.value);
            const auto negative =
                place.find(pool_row(negatives[static_cast<std::size_t>(says.nearest_negative)]).value);
            if (x == place.end() || negative == place.end()) {
                ++unasked;
                continue;
            }
            cases.push_back({z[x->second], z[negative->second], says.s1});
        }
    }
    return cases;
}

/// A head while its resamples are drawn.
struct Measuring {
    Measures measures;
    std::vector<stats::PairCounter> counters;
    std::vector<std::int64_t> twice_wins, pairs;  // by resample
};

/// Patients of the pairs of a finding.
std::set<std::int32_t> patients_of(const study::Pool& pool, const study::HeadRows& rows,
                                   const std::map<std::int32_t, ContextSides>& sides) {
    std::set<std::int32_t> patients;
    for (const auto& [context, of] : sides) {
        if (of.rows[0].empty() || of.rows[1].empty()) continue;
        for (const auto& list : of.rows) {
            for (const std::size_t i : list)
                patients.insert(pool.patient[static_cast<std::size_t>(rows.test[i].value)]);
        }
    }
    return patients;
}

Measuring measure(const study::Study& study, const TaskWork& work, const HeadKey& key,
                  const study::HeadRows& rows, const std::vector<MemberOutputs>& members,
                  const std::vector<Found>& owned) {
    const MemberOutputs& head = members.front();
    Measuring measuring;
    Measures& m = measuring.measures;
    m.key = key;
    m.epochs = head.epochs;
    m.members = std::ssize(members);
    m.loss = head.loss;
    m.lipschitz = head.lipschitz;

    const std::vector<PoolRow> asked = asked_rows(study, work.pool, rows);
    const std::vector<std::size_t> tested = test_among(asked, rows);
    const auto outputs_of_test = [&](const MemberOutputs& of) {
        std::vector<double> z;
        for (const std::size_t at : tested) z.push_back(of.asked[at]);
        return z;
    };
    const auto sides = sides_of(work.pool, rows, key.finding);
    for (const auto& [context, of] : sides) {
        m.test_rows += std::ssize(of.rows[0]) + std::ssize(of.rows[1]);
        m.test_positives += std::ssize(of.rows[1]);
    }
    m.patients = std::ssize(patients_of(work.pool, rows, sides));
    // A head that did not see both labels has learnt nothing.
    if (std::isnan(head.loss)) return measuring;
    measuring.counters = counters_of(work.pool, rows, sides, outputs_of_test(head));
    for (const stats::PairCounter& one : measuring.counters) m.pairs += one.pairs();
    std::vector<double> by_member;
    for (const MemberOutputs& one : members)
        by_member.push_back(observed_auroc(counters_of(work.pool, rows, sides, outputs_of_test(one))));
    m.auroc.value = by_member.front();
    m.member_sd = spread(by_member);

    std::vector<double> positives;
    for (std::size_t i = 0; i < rows.validation.rows.size(); ++i) {
        if (rows.validation.labels[key.finding][i] == 1) positives.push_back(head.validation[i]);
    }
    const auto point = instruments::operating_point(positives, study.heads.sensitivity);
    if (!point) return measuring;
    m.threshold = point->threshold;
    m.sensitivity = point->sensitivity();
    const auto cases = cases_of(work, key, rows.dataset, asked, head.asked, owned, m.unasked);
    m.margins = instruments::head_margins(cases, m.threshold, m.lipschitz);
    return measuring;
}

std::vector<double> aurocs_of(const std::vector<std::int64_t>& twice_wins,
                              const std::vector<std::int64_t>& pairs) {
    std::vector<double> aurocs;
    for (std::size_t b = 0; b < pairs.size(); ++b) aurocs.push_back(stats::auroc(twice_wins[b], pairs[b]));
    return aurocs;
}

/// Draws every resample of a task once for all its heads on this rank.
void resample(const study::Study& study, const TaskWork& work, std::span<Measuring> all, int threads,
              parallel::StopRequest& stop, Progress& progress) {
    if (all.empty()) return;
    const stats::Resampling resampling(study.seed, study.tasks[work.task].id, work.pool.clusters,
                                       study.bootstrap.resamples);
    for (Measuring& one : all) {
        one.twice_wins.resize(static_cast<std::size_t>(resampling.resamples()));
        one.pairs.resize(one.twice_wins.size());
    }
    resampling.for_each_block([&](MatrixView<const stats::Weight> weights, std::int64_t first) {
        if (stop.requested()) return;
        const auto part = [&](std::vector<std::int64_t>& values) {
            return std::span(values).subspan(static_cast<std::size_t>(first),
                                             static_cast<std::size_t>(weights.cols));
        };
        for_each_on_threads(threads, std::ssize(all), [&](std::int64_t i) {
            Measuring& one = all[static_cast<std::size_t>(i)];
            for (const stats::PairCounter& counter : one.counters)
                counter.count(weights, part(one.twice_wins), part(one.pairs));
        });
        progress.advance(static_cast<double>(weights.cols) * static_cast<double>(all.size()));
    });
    for (Measuring& one : all) {
        if (one.counters.empty()) continue;
        const instruments::Replicates auroc{one.measures.auroc.value, aurocs_of(one.twice_wins, one.pairs)};
        one.measures.auroc = instruments::estimate(auroc, study.bootstrap.confidence);
    }
}

/// A finding's heads of one kind under one encoder, in all datasets of the task.
struct PooledKey {
    std::size_t work = 0, encoder = 0;
    instruments::HeadKind kind = instruments::HeadKind::linear;
    std::size_t finding = 0;

    auto operator<=>(const PooledKey&) const = default;
};

/// Their pairs summed.
std::map<PooledKey, instruments::Replicates> pool_datasets(const std::vector<Measuring>& all) {
    struct Sum {
        std::int64_t twice_wins = 0, pairs = 0;
        std::vector<std::int64_t> twice_wins_of, pairs_of;  // by resample
    };
    std::map<PooledKey, Sum> sums;
    for (const Measuring& one : all) {
        const HeadKey& key = one.measures.key;
        Sum& sum = sums[{key.work, key.encoder, key.kind, key.finding}];
        sum.twice_wins_of.resize(one.twice_wins.size());
        sum.pairs_of.resize(one.pairs.size());
        for (const stats::PairCounter& counter : one.counters) {
            sum.twice_wins += counter.twice_wins();
            sum.pairs += counter.pairs();
        }
        for (std::size_t b = 0; b < one.pairs.size(); ++b) {
            sum.twice_wins_of[b] += one.twice_wins[b];
            sum.pairs_of[b] += one.pairs[b];
        }
    }
    std::map<PooledKey, instruments::Replicates> pooled;
    for (const auto& [key, sum] : sums)
        pooled.emplace(key, instruments::Replicates{stats::auroc(sum.twice_wins, sum.pairs),
                                                    aurocs_of(sum.twice_wins_of, sum.pairs_of)});
    return pooled;
}

// ---- the table ----

struct Line {
    std::string task, level, dataset, encoder, kind, finding;
    std::int64_t heads = 0;  ///< whose pairs count
    std::int64_t training_rows = 0, training_positives = 0, validation_rows = 0, validation_positives = 0;
    Measures measures;
    std::string why_not;
};

void put_quartiles(Rows& rows, const stats::Quartiles& q, const std::array<const char*, 3>& names) {
    rows.put(names[0], q.lower);
    rows.put(names[1], q.median);
    rows.put(names[2], q.upper);
}

void put_line(Rows& rows, const Line& line) {
    const Measures& m = line.measures;
    rows.put("task", line.task);
    rows.put("level", line.level);
    rows.put("dataset", line.dataset);
    rows.put("encoder", line.encoder);
    rows.put("kind", line.kind);
    rows.put("finding", line.finding);
    rows.put("heads", line.heads);
    rows.put("training_rows", line.training_rows);
    rows.put("training_positives", line.training_positives);
    rows.put("validation_rows", line.validation_rows);
    rows.put("validation_positives", line.validation_positives);
    rows.put("test_rows", m.test_rows);
    rows.put("test_positives", m.test_positives);
    rows.put("pairs", m.pairs);
    rows.put("patients", m.patients);
    rows.put("epochs", m.epochs);
    rows.put("loss", m.loss);
    put_estimate(rows, "auroc", "auroc_low", "auroc_high", m.auroc);
    rows.put("n_boot_valid", m.auroc.valid);
    rows.put("few_patients", m.patients < few);
    rows.put("members", m.members);
    rows.put("member_sd", m.member_sd);
    rows.put("threshold", m.threshold);
    rows.put("sensitivity", m.sensitivity);
    rows.put("lipschitz", m.lipschitz);
    rows.put("cases", m.margins.cases);
    rows.put("cases_unasked", m.unasked);
    rows.put("separated", m.margins.separated);
    rows.put("violations", m.margins.violations);
    put_quartiles(rows, m.margins.margin, {"margin_q1", "margin_median", "margin_q3"});
    put_quartiles(rows, m.margins.cap1, {"cap1_q1", "cap1_median", "cap1_q3"});
    put_quartiles(rows, m.margins.share, {"margin_share_q1", "margin_share_median", "margin_share_q3"});
    rows.put("undefined", line.why_not);
}

std::int64_t labelled(const study::HeadSide& side, std::size_t finding) {
    return std::ssize(side.labels[finding]) - std::ranges::count(side.labels[finding], std::int8_t{-1});
}

/// Why the AUROC of a head is undefined; empty where it is not.
std::string why_no_auroc(const Line& line) {
    if (line.training_rows == 0) return "no training row is labelled";
    if (line.training_positives == 0 || line.training_positives == line.training_rows)
        return "training rows of one label alone";
    return line.measures.pairs == 0 ? "auroc: no test pair of one context" : "";
}

/// Says what of a line is undefined.
std::string why_not(const Line& line) {
    std::vector<std::string> reasons;
    if (const std::string reason = why_no_auroc(line); !reason.empty()) reasons.push_back(reason);
    if (line.validation_positives == 0) reasons.emplace_back("threshold: no positive in validation");
    return join_text(reasons, "; ");
}

Line line_of(const study::Study& study, const TaskWork& work, const study::HeadRows& rows,
             const Measures& measures) {
    const study::Task& task = study.tasks[work.task];
    const HeadKey& key = measures.key;
    Line line;
    line.task = task.id;
    line.level = "dataset";
    line.heads = measures.pairs > 0;
    line.dataset = study.datasets[rows.dataset].id;
    line.encoder = study.encoders[task.encoders[key.encoder]].id;
    line.kind = name_of(key.kind);
    line.finding = task.findings[key.finding];
    line.training_rows = labelled(rows.training, key.finding);
    line.training_positives = std::ranges::count(rows.training.labels[key.finding], std::int8_t{1});
    line.validation_rows = labelled(rows.validation, key.finding);
    line.validation_positives = std::ranges::count(rows.validation.labels[key.finding], std::int8_t{1});
    line.measures = measures;
    line.why_not = why_not(line);
    return line;
}

/// A line that puts others together: counts are sums, what is said of one head alone is undefined.
Line sum_of(std::span<const Line> parts, const std::string& level, const instruments::Replicates& auroc,
            double confidence) {
    Line sum;
    for (const Line& part : parts) {
        sum.heads += part.heads;
        sum.training_rows += part.training_rows;
        sum.training_positives += part.training_positives;
        sum.validation_rows += part.validation_rows;
        sum.validation_positives += part.validation_positives;
        Measures& m = sum.measures;
        m.test_rows += part.measures.test_rows;
        m.test_positives += part.measures.test_positives;
        m.pairs += part.measures.pairs;
        m.unasked += part.measures.unasked;
        m.margins.cases += part.measures.margins.cases;
        m.margins.separated += part.measures.margins.separated;
        m.margins.violations += part.measures.margins.violations;
    }
    sum.task = parts.front().task;
    sum.level = level;
    sum.encoder = parts.front().encoder;
    sum.kind = parts.front().kind;
    sum.measures.loss = sum.measures.lipschitz = undefined;
    sum.measures.epochs = parts.front().measures.epochs;
    sum.measures.members = parts.front().measures.members;
    sum.measures.auroc = instruments::estimate(auroc, confidence);
    if (std::isnan(auroc.observed)) {
        std::set<std::string> reasons;
        for (const Line& part : parts) reasons.insert(why_no_auroc(part));
        sum.why_not = level == "task" ? "auroc: a finding has none"
                                      : join_text(std::vector(reasons.begin(), reasons.end()), ", ");
    }
    return sum;
}

/// Lines of the findings of a task, and of the task, for one encoder and kind.
/// @param lines   those of the datasets
/// @param aurocs  by finding, of `pool_datasets`
void add_pooled_lines(const study::Study& study, const TaskWork& work,
                      const std::vector<study::HeadRows>& heads, std::span<const Line> lines,
                      const std::vector<instruments::Replicates>& aurocs, std::vector<Line>& of_findings,
                      std::vector<Line>& of_tasks) {
    const study::Task& task = study.tasks[work.task];
    std::vector<Line> mine;
    std::set<std::int32_t> everyone;
    for (std::size_t f = 0; f < task.findings.size(); ++f) {
        std::vector<Line> parts;
        std::ranges::copy_if(lines, std::back_inserter(parts),
                             [&](const Line& line) { return line.finding == task.findings[f]; });
        mine.push_back(sum_of(parts, "finding", aurocs[f], study.bootstrap.confidence));
        mine.back().finding = task.findings[f];
        std::set<std::int32_t> patients;
        for (const study::HeadRows& rows : heads) {
            if (rows.why_none.empty())
                patients.merge(patients_of(work.pool, rows, sides_of(work.pool, rows, f)));
        }
        mine.back().measures.patients = std::ssize(patients);
        everyone.merge(patients);
    }
    of_tasks.push_back(sum_of(mine, "task", instruments::mean_of(aurocs), study.bootstrap.confidence));
    of_tasks.back().measures.patients = std::ssize(everyone);
    std::ranges::move(mine, std::back_inserter(of_findings));
}

}  // namespace

HeadResults head_table_mpi(const parallel::Communicator& world, const study::Study& study,
                           const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                           const std::vector<TrainedHead>& trained, const std::vector<Found>& owned,
                           int threads, parallel::StopRequest& stop, const Log& log) {
    ByteWriter mine;
    for (std::size_t w = 0; w < work.size(); ++w) {
        const auto outputs = deliver_outputs(world, study, work, w, trained);
        std::vector<std::pair<HeadKey, const std::vector<MemberOutputs>*>> keys;
        for (const auto& [key, members] : outputs) keys.emplace_back(key, &members);
        std::vector<Measuring> measuring(keys.size());
        for_each_on_threads(threads, std::ssize(keys), [&](std::int64_t i) {
            const auto& [key, members] = keys[static_cast<std::size_t>(i)];
            measuring[static_cast<std::size_t>(i)] =
                measure(study, work[w], key, heads[w][key.dataset], *members, owned);
        });
        Progress progress(log, "resampling heads",
                          static_cast<double>(study.bootstrap.resamples) * static_cast<double>(keys.size()));
        resample(study, work[w], measuring, threads, stop, progress);
        for (const Measuring& one : measuring) {
            mine.put('m');
            mine.put(one.measures);
        }
        for (const auto& [key, auroc] : pool_datasets(measuring)) {
            mine.put('p');
            mine.put(key);
            mine.put(auroc.observed);
            mine.put(std::span<const double>(auroc.resampled));
        }
    }

    stop.rendezvous();
    std::map<HeadKey, Measures> all;
    std::map<PooledKey, instruments::Replicates> pooled;
    for (const std::string& bytes : world.gather(mine.take())) {
        ByteReader in(bytes);
        while (!in.done()) {
            if (in.get<char>() == 'm') {
                const auto measures = in.get<Measures>();
                all.emplace(measures.key, measures);
                continue;
            }
            const auto key = in.get<PooledKey>();
            instruments::Replicates& auroc = pooled[key];
            auroc.observed = in.get<double>();
            auroc.resampled = in.get_many<double>();
        }
    }
    HeadResults results;
    if (world.rank() != 0) return results;
    std::vector<Line> lines;
    for (std::size_t w = 0; w < work.size(); ++w) {
        const study::Task& task = study.tasks[work[w].task];
        std::map<std::pair<std::size_t, instruments::HeadKind>, std::vector<Line>> of_encoder;
        for (std::size_t d = 0; d < heads[w].size(); ++d) {
            const study::HeadRows& rows = heads[w][d];
            if (!rows.why_none.empty()) {
                Line none;
                none.task = task.id;
                none.level = "dataset";
                none.dataset = study.datasets[rows.dataset].id;
                none.why_not = rows.why_none;
                none.measures.loss = none.measures.lipschitz = undefined;
                lines.push_back(std::move(none));
                continue;
            }
            for (auto at = all.lower_bound({w, d, 0, {}, 0});
                 at != all.end() && at->first.work == w && at->first.dataset == d; ++at) {
                lines.push_back(line_of(study, work[w], rows, at->second));
                of_encoder[{at->first.encoder, at->first.kind}].push_back(lines.back());
            }
        }
        auto& of_finding = results.aurocs.finding.emplace_back(
            task.encoders.size(), std::vector<double>(task.findings.size(), undefined));
        auto& of_task = results.aurocs.task.emplace_back(task.encoders.size(), undefined);
        std::vector<Line> findings, tasks;
        for (const auto& [key, parts] : of_encoder) {
            const auto& [encoder, kind] = key;
            std::vector<instruments::Replicates> aurocs;
            for (std::size_t f = 0; f < task.findings.size(); ++f)
                aurocs.push_back(pooled.at({w, encoder, kind, f}));
            add_pooled_lines(study, work[w], heads[w], parts, aurocs, findings, tasks);
            if (kind != primary_head) continue;
            for (std::size_t f = 0; f < aurocs.size(); ++f) of_finding[encoder][f] = aurocs[f].observed;
            of_task[encoder] = tasks.back().measures.auroc.value;
        }
        std::ranges::move(findings, std::back_inserter(lines));
        std::ranges::move(tasks, std::back_inserter(lines));
    }
    results.table = table_of("heads", lines, put_line);
    return results;
}

}  // namespace candor::campaign
