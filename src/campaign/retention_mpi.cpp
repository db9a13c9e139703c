#include "candor/campaign/retention_mpi.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "candor/base/bytes.hpp"
#include "candor/base/threads.hpp"
#include "candor/campaign/encoder_features.hpp"
#include "candor/campaign/inference_mpi.hpp"
#include "candor/campaign/lines.hpp"
#include "candor/instruments/retention.hpp"
#include "candor/parallel/schedule.hpp"
#include "candor/stats/bootstrap_p.hpp"
#include "candor/stats/resampling.hpp"
#include "candor/stats/spearman.hpp"
#include "candor/stats/weighted_spearman.hpp"

namespace candor::campaign {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t few = 10;  // METHODS 4
constexpr std::int64_t block_bytes = std::int64_t{64} << 20;

/// One encoder of one task, the unit that a rank computes.
struct Job {
    std::size_t work = 0, encoder = 0;
    auto operator<=>(const Job&) const = default;
};

/// What the rank of a job tells of one region.
struct RegionResult {
    instruments::RetentionTally tally;
    std::int64_t cases = 0;
    instruments::Replicates correlation{undefined, {}};
    std::string why_not;  // there is no correlation
};

/// rho of every row of every region, in their order.
std::vector<std::vector<double>> compute_rho(const Inputs& inputs, const TaskWork& work,
                                             EncoderFeatures& features,
                                             const std::vector<EvidenceRegion>& regions) {
    struct Wanted {
        std::vector<FeatureRow> original, erased;
        std::vector<std::pair<std::size_t, std::size_t>> target;  // region, row of it
    };
    std::map<std::size_t, store::FeatureFile> erased_files;
    std::map<std::size_t, std::unordered_map<std::string, std::int64_t>> erased_rows;
    std::map<std::size_t, Wanted> by_dataset;
    std::vector<std::vector<double>> rho;
    for (std::size_t r = 0; r < regions.size(); ++r) {
        rho.emplace_back(regions[r].rows.size());
        for (std::size_t i = 0; i < regions[r].rows.size(); ++i) {
            const auto at = static_cast<std::size_t>(regions[r].rows[i].value);
            const auto dataset = static_cast<std::size_t>(work.pool.dataset[at]);
            auto& place = erased_rows[dataset];
            if (place.empty()) {
                const store::FeatureFile& file =
                    erased_files.emplace(dataset, open_erased(inputs.study, features.encoder(), dataset))
                        .first->second;
                for (std::size_t row = 0; row < file.ids().size(); ++row) {
                    place.emplace(file.ids()[row] + '\0' + file.findings()[row],
                                  static_cast<std::int64_t>(row));
                }
            }
            Wanted& wanted = by_dataset[dataset];
            wanted.original.emplace_back(
                features.join(dataset).feature_row[static_cast<std::size_t>(work.pool.table_row[at].value)]);
            wanted.erased.emplace_back(place.at(work.pool.image[at] + '\0' + regions[r].name));
            wanted.target.emplace_back(r, i);
        }
    }
    for (const auto& [dataset, wanted] : by_dataset) {
        const store::FeatureFile& original = features.file(dataset);
        const store::FeatureFile& erased = erased_files.at(dataset);
        const auto row_bytes = 2 * original.dimension() * static_cast<std::int64_t>(sizeof(double));
        const auto block = static_cast<std::size_t>(std::max<std::int64_t>(1, block_bytes / row_bytes));
        for (std::size_t first = 0; first < wanted.target.size(); first += block) {
            const std::size_t count = std::min(block, wanted.target.size() - first);
            Matrix<double> a(static_cast<std::int64_t>(count), original.dimension());
            Matrix<double> b(static_cast<std::int64_t>(count), original.dimension());
            original.read(std::span(wanted.original).subspan(first, count), a.view());
            erased.read(std::span(wanted.erased).subspan(first, count), b.view());
            for (std::size_t i = 0; i < count; ++i) {
                const auto row = static_cast<std::int64_t>(i);
                const auto& [region, at] = wanted.target[first + i];
                rho[region][at] =
                    instruments::retention(std::as_const(a).row(row), std::as_const(b).row(row));
            }
        }
    }
    return rho;
}

/// DM of the positive queries of scored cells by (job, finding), each at its pool row.
using Margins = std::map<std::pair<Job, std::size_t>, std::map<std::int64_t, double>>;

/// Sends the margins that some job needs to the rank that computes it. Collective.
Margins deliver_margins(const parallel::Communicator& world, const std::vector<TaskWork>& work,
                        const std::vector<std::vector<EvidenceRegion>>& regions,
                        const std::map<Job, int>& rank_of, const std::vector<Found>& owned) {
    std::vector<ByteWriter> writers(static_cast<std::size_t>(world.size()));
    for (const Found& found : owned) {
        const TaskWork& here = work[found.work];
        const study::Cell& cell = here.cells[found.cell];
        const auto finding = static_cast<std::size_t>(cell.finding);
        const bool wanted = std::ranges::any_of(
            regions[found.work], [&](const EvidenceRegion& r) { return r.finding == finding; });
        if (!wanted || !cell.in_figures()) continue;
        const Job job{found.work, found.encoder};
        ByteWriter& out = writers[static_cast<std::size_t>(rank_of.at(job))];
        std::vector<std::int64_t> rows;
        std::vector<double> margins;
        for (std::int64_t q = 0; q < cell.positive_queries; ++q) {
            const ContextRow query = cell.queries[static_cast<std::size_t>(q)];
            const auto& context = here.contexts[static_cast<std::size_t>(cell.context)].rows;
            rows.push_back(context[static_cast<std::size_t>(query.value)].value);
            margins.push_back(found.primary[static_cast<std::size_t>(q)].margin());
        }
        out.put(job);
        out.put(finding);
        out.put(std::span<const std::int64_t>(rows));
        out.put(std::span<const double>(margins));
    }
    std::vector<std::string> outgoing;
    for (ByteWriter& writer : writers) outgoing.push_back(writer.take());
    Margins here;
    for (const std::string& bytes : world.exchange(outgoing)) {
        ByteReader in(bytes);
        while (!in.done()) {
            const Job job = in.get<Job>();
            const auto finding = in.get<std::size_t>();
            const auto rows = in.get_many<std::int64_t>();
            const auto margins = in.get_many<double>();
            std::map<std::int64_t, double>& at = here[{job, finding}];
            for (std::size_t i = 0; i < rows.size(); ++i) at.emplace(rows[i], margins[i]);
        }
    }
    return here;
}

/// One region of one job while its resamples are drawn.
struct Measured {
    Job job;
    std::size_t region = 0;
    RegionResult result;
    instruments::RetentionCounter counter;
    std::optional<stats::WeightedSpearman> spearman;
};

Measured measure(const TaskWork& work, const Job& job, std::size_t position, const EvidenceRegion& region,
                 const std::vector<double>& rho, const Margins& margins) {
    std::vector<std::int32_t> patient, patient_of_case;
    std::vector<double> rho_of_case, margin;
    const auto at = region.finding ? margins.find({job, *region.finding}) : margins.end();
    for (std::size_t i = 0; i < region.rows.size(); ++i) {
        const std::int64_t row = region.rows[i].value;
        patient.push_back(work.pool.patient[static_cast<std::size_t>(row)]);
        if (at == margins.end()) continue;
        const auto found = at->second.find(row);
        if (found == at->second.end()) continue;
        rho_of_case.push_back(rho[i]);
        margin.push_back(found->second);
        patient_of_case.push_back(patient.back());
    }
    Measured measured{job, position, {}, instruments::RetentionCounter(rho, patient), std::nullopt};
    RegionResult& result = measured.result;
    result.tally = measured.counter.observed();
    result.cases = std::ssize(margin);
    const stats::Spearman observed = stats::spearman(rho_of_case, margin);
    result.correlation.observed = observed.rho;
    if (!region.finding) {
        result.why_not = "the region is no finding of the task";
    } else if (observed.n < 3) {
        result.why_not = "fewer than 3 cases";
    } else if (!observed.undefined.empty()) {
        const bool first = std::ranges::all_of(rho_of_case, [&](double v) { return v == rho_of_case[0]; });
        result.why_not = first ? "constant retention" : "constant margin";
    } else {
        measured.spearman.emplace(rho_of_case, margin, patient_of_case);
    }
    return measured;
}

/// Draws every resample of the task once for all its regions on this rank.
void resample(const study::Study& study, const TaskWork& work, std::span<Measured> measured, int threads,
              parallel::StopRequest& stop, Progress& progress) {
    const stats::Resampling resampling(study.seed, study.tasks[work.task].id, work.pool.clusters,
                                       study.bootstrap.resamples);
    const auto all = static_cast<std::size_t>(resampling.resamples());
    for (Measured& one : measured) {
        one.result.tally.resampled_sum.resize(all);
        one.result.tally.resampled_rows.resize(all);
        one.result.correlation.resampled.assign(one.spearman ? all : 0, undefined);
    }
    resampling.for_each_block([&](MatrixView<const stats::Weight> weights, std::int64_t first) {
        if (stop.requested()) return;
        const auto part = [&](auto& values) {
            return std::span(values).subspan(static_cast<std::size_t>(first),
                                             static_cast<std::size_t>(weights.cols));
        };
        for_each_on_threads(threads, std::ssize(measured), [&](std::int64_t i) {
            Measured& one = measured[static_cast<std::size_t>(i)];
            one.counter.count(weights, part(one.result.tally.resampled_sum),
                              part(one.result.tally.resampled_rows));
            if (one.spearman) one.spearman->correlate(weights, part(one.result.correlation.resampled));
        });
        progress.advance(static_cast<double>(weights.cols) * static_cast<double>(measured.size()));
    });
}

void put_result(ByteWriter& out, const Measured& one) {
    const RegionResult& r = one.result;
    out.put(one.job);
    out.put(one.region);
    out.put(r.tally.sum);
    out.put(r.tally.rows);
    out.put(std::span<const double>(r.tally.resampled_sum));
    out.put(std::span<const std::int64_t>(r.tally.resampled_rows));
    out.put(r.cases);
    out.put(r.correlation.observed);
    out.put(std::span<const double>(r.correlation.resampled));
    out.put(r.why_not);
}

RegionResult get_result(ByteReader& in) {
    RegionResult r;
    r.tally.sum = in.get<double>();
    r.tally.rows = in.get<std::int64_t>();
    r.tally.resampled_sum = in.get_many<double>();
    r.tally.resampled_rows = in.get_many<std::int64_t>();
    r.cases = in.get<std::int64_t>();
    r.correlation.observed = in.get<double>();
    r.correlation.resampled = in.get_many<double>();
    r.why_not = in.get_text();
    return r;
}

// ---- the table ----

struct Line {
    std::string task, encoder, level, region;
    std::int64_t images = 0, patients = 0, boxes = 0, cases = 0;
    double area = undefined;
    instruments::Estimate retention{undefined, undefined, undefined, 0, false};
    instruments::Estimate correlation{undefined, undefined, undefined, 0, false};
    Verdict verdict;
    std::string why_not;
};

void put_line(Rows& rows, const Line& line) {
    rows.put("task", line.task);
    rows.put("encoder", line.encoder);
    rows.put("level", line.level);
    rows.put("region", line.region);
    rows.put("images", line.images);
    rows.put("patients", line.patients);
    rows.put("area", line.area);
    rows.put("boxes", line.boxes);
    put_estimate(rows, "retention", "low", "high", line.retention);
    rows.put("n_boot_valid", line.retention.valid);
    rows.put("few_patients", line.patients < few);
    rows.put("cases", line.cases);
    put_estimate(rows, "correlation", "correlation_low", "correlation_high", line.correlation);
    rows.put("correlation_n_boot_valid", line.correlation.valid);
    put_verdict(rows, line.verdict);
    rows.put("undefined", line.why_not);
}

double mean_of_known(std::span<const double> values) {
    double sum = 0, count = 0;
    for (const double v : values) {
        if (std::isnan(v)) continue;
        sum += v;
        count += 1;
    }
    return count == 0 ? undefined : sum / count;
}

/// A line of one task as far as it is the same for every encoder.
Line describe_rows(const study::Study& study, const TaskWork& work, const std::string& level,
                   std::span<const EvidenceRegion> regions) {
    Line line;
    line.task = study.tasks[work.task].id;
    line.level = level;
    std::set<std::int32_t> patients;
    double sum = 0;
    for (const EvidenceRegion& region : regions) {
        line.images += std::ssize(region.rows);
        for (const PoolRow row : region.rows)
            patients.insert(work.pool.patient[static_cast<std::size_t>(row.value)]);
        for (const double area : region.area) {
            if (std::isnan(area)) continue;
            ++line.boxes;
            sum += area;
        }
    }
    line.patients = std::ssize(patients);
    if (line.boxes > 0) line.area = sum / static_cast<double>(line.boxes);
    return line;
}

/// Lines of one task, all encoders, with the family of its correlations.
void add_task(const study::Study& study, const TaskWork& work, const std::vector<EvidenceRegion>& regions,
              const std::vector<std::vector<RegionResult>>& results, std::vector<Line>& lines,
              RetentionResults& out) {
    const study::Task& task = study.tasks[work.task];
    const double confidence = study.bootstrap.confidence;
    std::vector<Line> of_region;
    std::vector<double> areas;
    for (std::size_t r = 0; r < regions.size(); ++r) {
        of_region.push_back(describe_rows(study, work, "region", std::span(regions).subspan(r, 1)));
        of_region.back().region = regions[r].name;
        areas.push_back(of_region.back().area);
    }
    Line of_micro = describe_rows(study, work, "micro", regions);
    of_micro.why_not = "within regions only";
    Line of_macro = of_micro;
    of_macro.level = "macro";
    of_macro.area = mean_of_known(areas);

    TestFamily family = TestFamily::bootstrap("retention-margin correlation", task.id);
    std::vector<std::size_t> tested;  // lines
    for (std::size_t e = 0; e < task.encoders.size(); ++e) {
        const auto add = [&](Line line, const instruments::Replicates& retention) {
            line.encoder = study.encoders[task.encoders[e]].id;
            line.retention = instruments::estimate(retention, confidence);
            lines.push_back(std::move(line));
        };
        instruments::RetentionTally together;
        std::vector<instruments::Replicates> means;
        for (std::size_t r = 0; r < regions.size(); ++r) {
            const RegionResult& result = results[e][r];
            Line line = of_region[r];
            line.cases = result.cases;
            line.correlation = instruments::estimate(result.correlation, confidence);
            line.why_not = result.why_not;
            if (regions[r].finding) {
                family.add(result.correlation, 0);
                tested.push_back(lines.size());
            }
            means.push_back(instruments::mean_retention(result.tally));
            add(std::move(line), means.back());
            together += result.tally;
        }
        const instruments::Replicates micro = instruments::mean_retention(together);
        out.micro.back()[e] = micro.observed;
        add(of_micro, micro);
        add(of_macro, instruments::mean_of(means));
    }
    const std::vector<Verdict> verdicts = family.verdicts(study.test.alpha);
    for (std::size_t i = 0; i < tested.size(); ++i) lines[tested[i]].verdict = verdicts[i];
    if (!tested.empty()) out.families.push_back(std::move(family));
}

}  // namespace

std::vector<double> evidence_areas(const TaskWork& work, const study::Task& task,
                                   const std::vector<study::Boxes>& boxes) {
    std::vector<double> areas;
    for (std::size_t f = 0; f < task.findings.size(); ++f) {
        double sum = 0;
        std::int64_t count = 0;
        for (std::size_t i = 0; i < work.pool.image.size(); ++i) {
            if (!work.pool.asks[i] || work.pool.labels[f][i] != 1) continue;
            const auto& area = boxes[static_cast<std::size_t>(work.pool.dataset[i])].area;
            const auto at = area.find({work.pool.image[i], task.findings[f]});
            if (at == area.end()) continue;
            sum += at->second;
            ++count;
        }
        areas.push_back(count == 0 ? undefined : sum / static_cast<double>(count));
    }
    return areas;
}

RetentionResults retention_mpi(const parallel::Communicator& world, const Inputs& inputs,
                               const std::vector<TaskWork>& work, const ErasedAudit& erased,
                               const std::vector<Found>& owned, int threads, parallel::StopRequest& stop,
                               const Log& log) {
    const study::Study& study = inputs.study;
    std::vector<std::vector<EvidenceRegion>> regions;
    std::vector<Job> jobs;
    std::vector<double> costs;
    for (std::size_t w = 0; w < work.size(); ++w) {
        regions.push_back(evidence_regions(study, work[w], erased));
        double rows = 0;
        for (const EvidenceRegion& region : regions.back()) rows += static_cast<double>(region.rows.size());
        for (std::size_t e = 0; rows > 0 && e < study.tasks[work[w].task].encoders.size(); ++e) {
            jobs.push_back({w, e});
            costs.push_back(rows);
        }
    }
    std::map<Job, int> rank_of;
    const std::vector<int> placed = parallel::place_longest_first(costs, world.size());
    for (std::size_t j = 0; j < jobs.size(); ++j) rank_of.emplace(jobs[j], placed[j]);
    const Margins margins = deliver_margins(world, work, regions, rank_of, owned);

    double total = 0;
    for (const auto& [job, rank] : rank_of) {
        if (rank == world.rank())
            total += static_cast<double>(regions[job.work].size()) *
                     static_cast<double>(study.bootstrap.resamples);
    }
    Progress progress(log, "resampling retention", total);
    ByteWriter mine;
    for (std::size_t w = 0; w < work.size(); ++w) {
        std::vector<Measured> measured;
        for (const auto& [job, rank] : rank_of) {
            if (job.work != w || rank != world.rank() || stop.requested()) continue;
            EncoderFeatures features(inputs, study.tasks[work[w].task].encoders[job.encoder]);
            const auto rho = compute_rho(inputs, work[w], features, regions[w]);
            for (std::size_t r = 0; r < regions[w].size(); ++r)
                measured.push_back(measure(work[w], job, r, regions[w][r], rho[r], margins));
        }
        if (!measured.empty()) resample(study, work[w], measured, threads, stop, progress);
        for (const Measured& one : measured) put_result(mine, one);
    }

    stop.rendezvous();
    std::map<Job, std::vector<RegionResult>> results;
    for (const std::string& bytes : world.gather(mine.take())) {
        ByteReader in(bytes);
        while (!in.done()) {
            const Job job = in.get<Job>();
            std::vector<RegionResult>& of_job = results[job];
            of_job.resize(regions[job.work].size());
            const auto region = in.get<std::size_t>();
            of_job[region] = get_result(in);
        }
    }
    RetentionResults out;
    if (world.rank() != 0) return out;
    std::vector<Line> lines;
    for (std::size_t w = 0; w < work.size(); ++w) {
        const std::size_t encoders = study.tasks[work[w].task].encoders.size();
        out.micro.emplace_back(encoders, undefined);
        if (regions[w].empty()) continue;
        std::vector<std::vector<RegionResult>> of_task;
        for (std::size_t e = 0; e < encoders; ++e) of_task.push_back(std::move(results.at({w, e})));
        add_task(study, work[w], regions[w], of_task, lines, out);
    }
    out.table = table_of("retention", lines, put_line);
    return out;
}

}  // namespace candor::campaign
