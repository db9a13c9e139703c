#include "candor/campaign/head_work.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/instruments/batches.hpp"
#include "candor/instruments/logistic_loss.hpp"
#include "candor/parallel/schedule.hpp"

namespace candor::campaign {

namespace {

using instruments::HeadKind;

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

/// Outputs of so many rows are computed between two looks at whether to stop.
constexpr std::int64_t rows_at_once = 2048;
/// As METHODS 8 has it.
constexpr std::int64_t hidden_units = 256, padded_findings = 16;

std::int64_t rounded_up(std::int64_t n, std::int64_t step) {
    return (n + step - 1) / step * step;
}

bool has_both_labels(std::span<const std::int8_t> labels) {
    return std::ranges::find(labels, std::int8_t{0}) != labels.end() &&
           std::ranges::find(labels, std::int8_t{1}) != labels.end();
}

/// Heads::logits by parts; nothing where it is to stop.
std::optional<Matrix<double>> outputs(const instruments::Heads& heads, const Matrix<float>& features,
                                      const std::function<bool()>& stops) {
    Matrix<double> out(heads.findings(), features.rows());
    for (std::int64_t first = 0; first < features.rows(); first += rows_at_once) {
        if (stops()) return std::nullopt;
        const std::int64_t count = std::min(rows_at_once, features.rows() - first);
        const Matrix<double> part = heads.logits(features.view().block(first, count));
        for (std::int64_t f = 0; f < heads.findings(); ++f)
            std::ranges::copy(part.row(f), out.row(f).begin() + first);
    }
    return out;
}

}  // namespace

std::vector<study::HeadRows> final_heads(const Inputs& inputs, const study::Task& task,
                                         const std::vector<study::HeadRows>& drafts,
                                         const std::vector<FeatureAudit::HeadFaults>& faults,
                                         study::Pool& pool) {
    std::vector<study::HeadRows> heads;
    for (std::size_t d = 0; d < drafts.size(); ++d) {
        heads.push_back(study::final_head_rows(inputs.study, task, inputs.tables, drafts[d],
                                               faults[d].training, faults[d].validation, pool));
        const std::vector<study::Exclusion>& left_out = heads.back().exclusions;
        pool.exclusions.insert(pool.exclusions.end(), left_out.begin(), left_out.end());
    }
    return heads;
}

std::vector<PoolRow> asked_rows(const study::Study& study, const study::Pool& pool,
                                const study::HeadRows& rows) {
    std::vector<PoolRow> asked;
    std::int64_t others = 0;
    auto test = rows.test.begin();
    for (std::int64_t i = 0; i < pool.rows(); ++i) {
        if (static_cast<std::size_t>(pool.dataset[static_cast<std::size_t>(i)]) != rows.dataset) continue;
        if (test != rows.test.end() && test->value == i) {
            ++test;
        } else if (others++ >= study.heads.test_rows) {
            continue;
        }
        asked.emplace_back(i);
    }
    return asked;
}

std::vector<std::size_t> test_among(const std::vector<PoolRow>& asked, const study::HeadRows& rows) {
    std::vector<std::size_t> places;
    auto at = asked.begin();
    for (const PoolRow row : rows.test) {
        at = std::lower_bound(at, asked.end(), row);
        places.push_back(static_cast<std::size_t>(at - asked.begin()));
    }
    return places;
}

std::string file_name_of(const HeadJob& job) {
    std::string name = name_of(job.kind);
    for (const std::size_t n : {job.work, job.encoder, job.dataset, static_cast<std::size_t>(job.member)})
        name += "-" + std::to_string(n);
    return name;
}

std::string name_of(HeadKind kind) {
    return kind == HeadKind::linear ? "linear" : "hidden";
}

std::vector<HeadKind> head_kinds(const study::Study& study) {
    std::vector<HeadKind> kinds;
    for (const std::string& name : study.heads.kinds) {
        const HeadKind kind = name == name_of(HeadKind::linear) ? HeadKind::linear : HeadKind::hidden;
        if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
    }
    return kinds;
}

std::int32_t members_of(const study::Study& study, HeadKind kind) {
    return kind == primary_head ? study.heads.ensemble : 1;
}

std::vector<HeadJob> head_jobs(const study::Study& study, const std::vector<TaskWork>& work,
                               const HeadRowsOfWork& heads) {
    std::vector<HeadJob> jobs;
    for (std::size_t w = 0; w < work.size(); ++w) {
        const study::Task& task = study.tasks[work[w].task];
        for (std::size_t e = 0; e < task.encoders.size(); ++e) {
            for (std::size_t d = 0; d < heads[w].size(); ++d) {
                if (!heads[w][d].why_none.empty()) continue;
                for (const HeadKind kind : head_kinds(study)) {
                    for (std::int32_t member = 0; member < members_of(study, kind); ++member)
                        jobs.push_back({w, e, d, kind, member});
                }
            }
        }
    }
    std::ranges::sort(jobs);
    return jobs;
}

double head_cost(const study::Study& study, const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                 const HeadJob& job, std::int64_t dimension) {
    const study::HeadRows& rows = heads[job.work][job.dataset];
    const auto findings = std::ssize(study.tasks[work[job.work].task].findings);
    const std::int64_t width =
        job.kind == HeadKind::linear ? rounded_up(findings, padded_findings) : hidden_units * findings;
    const auto count = [](const auto& list) { return static_cast<double>(list.size()); };
    // Two products a batch, outputs and gradient; afterwards the outputs of all rows once.
    const double trained =
        2 * study.heads.epochs *
        static_cast<double>(rounded_up(std::ssize(rows.training.rows), instruments::batch_rows));
    const double looked_at = count(rows.training.rows) + count(rows.validation.rows) +
                             count(asked_rows(study, work[job.work].pool, rows));
    return 2 * static_cast<double>(width) * static_cast<double>(dimension) * (trained + looked_at);
}

std::int64_t head_memory(const study::Study& study, const std::vector<TaskWork>& work,
                         const HeadRowsOfWork& heads, const std::vector<std::int64_t>& dimensions, int ranks,
                         int threads) {
    const std::vector<HeadJob> jobs = head_jobs(study, work, heads);
    std::vector<double> costs;
    for (const HeadJob& job : jobs) {
        const std::size_t encoder = study.tasks[work[job.work].task].encoders[job.encoder];
        costs.push_back(head_cost(study, work, heads, job, dimensions[encoder]));
    }
    const std::vector<int> placed = parallel::place_longest_first(costs, ranks);
    std::vector<std::int64_t> kept(static_cast<std::size_t>(ranks)), passing(kept.size());
    std::map<std::pair<std::size_t, std::size_t>, std::int64_t> asked_of;  // by work and dataset
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const HeadJob& job = jobs[j];
        const study::HeadRows& rows = heads[job.work][job.dataset];
        const study::Task& task = study.tasks[work[job.work].task];
        const std::int64_t findings = std::ssize(task.findings), d = dimensions[task.encoders[job.encoder]];
        const auto [at, is_new] = asked_of.try_emplace({job.work, job.dataset});
        if (is_new) at->second = std::ssize(asked_rows(study, work[job.work].pool, rows));
        const std::int64_t training = std::ssize(rows.training.rows),
                           validation = std::ssize(rows.validation.rows), test = std::ssize(rows.test),
                           looked_at = training + validation + at->second;
        const std::int64_t parameters = job.kind == HeadKind::linear
                                            ? rounded_up(findings, padded_findings) * (d + 1)
                                            : findings * hidden_units * (d + 2);
        // Parameters, two moments and their gradient; of two encoders where one is done and the next begins.
        const std::int64_t train = (threads > 1 ? 2 : 1) * looked_at * d * 4 +
                                   threads * (parameters * 16 + findings * looked_at * 8);
        // A factor a thread; a scatter, and its axes while they are sought.
        const std::int64_t square = d * d * 8, squares = 2 * threads + 4;
        constexpr std::int64_t panels = 2 * 4096 * 16;  // values of two panels of a census
        const std::int64_t score =
            (training + test) * d * 8 + squares * square + panels * d + 4 * findings * test * 8;
        const auto rank = static_cast<std::size_t>(placed[j]);
        kept[rank] += findings * (validation + at->second) * 8;
        passing[rank] = std::max({passing[rank], train, score});
    }
    std::int64_t most = 0;
    // Outputs are there a second time on their way to those who count them, and a third where they arrive.
    for (std::size_t rank = 0; rank < kept.size(); ++rank)
        most = std::max(most, 3 * kept[rank] + passing[rank]);
    return most;
}

HeadInputs read_head_inputs(EncoderFeatures& features, const study::Study& study, const TaskWork& work,
                            const study::HeadRows& rows) {
    HeadInputs inputs;
    inputs.training = features.unit_rows(rows.dataset, rows.training.rows);
    inputs.validation = features.unit_rows(rows.dataset, rows.validation.rows);
    std::vector<TableRow> asked;
    for (const PoolRow row : asked_rows(study, work.pool, rows))
        asked.push_back(work.pool.table_row[static_cast<std::size_t>(row.value)]);
    inputs.asked = features.unit_rows(rows.dataset, asked);
    inputs.labels = Matrix<std::int8_t>(std::ssize(rows.training.labels), std::ssize(rows.training.rows));
    for (std::size_t f = 0; f < rows.training.labels.size(); ++f)
        std::ranges::copy(rows.training.labels[f], inputs.labels.row(static_cast<std::int64_t>(f)).begin());
    return inputs;
}

std::optional<HeadResult> train_head(const study::Study& study, const std::vector<TaskWork>& work,
                                     const HeadJob& job, const HeadInputs& inputs,
                                     const TrainingWatch& watch) {
    using Clock = std::chrono::steady_clock;
    const std::function<bool()>& stops = watch.stops;
    const study::Task& task = study.tasks[work[job.work].task];
    const instruments::HeadTask what{job.kind, inputs.training.cols(),
                                     study.datasets[task.datasets[job.dataset]].id, task.findings,
                                     study.seed + static_cast<std::uint64_t>(job.member)};
    instruments::Heads heads =
        watch.state.empty() ? instruments::Heads(what) : instruments::Heads(what, watch.state);
    const instruments::LabelledRows rows{inputs.training.view(), inputs.labels.view()};
    for (auto kept = Clock::now(); heads.epochs() < study.heads.epochs;) {
        if (!heads.train_epoch(rows, stops)) return std::nullopt;
        if (!watch.keep || Clock::now() - kept < watch.pause) continue;
        watch.keep(heads.state());
        kept = Clock::now();
    }
    HeadResult result;
    result.epochs = heads.epochs();
    const auto training = outputs(heads, inputs.training, stops);
    auto validation = training ? outputs(heads, inputs.validation, stops) : std::nullopt;
    auto asked = validation ? outputs(heads, inputs.asked, stops) : std::nullopt;
    if (!asked) return std::nullopt;
    result.validation = std::move(*validation);
    result.asked = std::move(*asked);
    for (std::int64_t f = 0; f < heads.findings(); ++f) {
        if (stops()) return std::nullopt;
        if (!has_both_labels(std::as_const(inputs.labels).row(f))) {
            std::ranges::fill(result.validation.row(f), undefined);
            std::ranges::fill(result.asked.row(f), undefined);
            result.loss.push_back(undefined);
            result.lipschitz.push_back(undefined);
            continue;
        }
        result.loss.push_back(
            instruments::mean_loss(std::as_const(*training).row(f), std::as_const(inputs.labels).row(f)));
        result.lipschitz.push_back(heads.lipschitz(f));
    }
    return result;
}

Matrix<double> columns_of(const Matrix<double>& all, std::span<const std::size_t> which) {
    Matrix<double> out(all.rows(), std::ssize(which));
    for (std::int64_t r = 0; r < all.rows(); ++r) {
        for (std::size_t i = 0; i < which.size(); ++i) out.row(r)[i] = all.row(r)[which[i]];
    }
    return out;
}

void put_matrix(ByteWriter& out, const Matrix<double>& matrix) {
    out.put(matrix.rows());
    out.put(matrix.cols());
    for (std::int64_t r = 0; r < matrix.rows(); ++r) out.put(matrix.row(r));
}

Matrix<double> get_matrix(ByteReader& in) {
    const auto rows = in.get<std::int64_t>(), cols = in.get<std::int64_t>();
    std::vector<std::vector<double>> values;
    for (std::int64_t r = 0; r < rows; ++r) {
        values.push_back(in.get_many<double>());
        CANDOR_REQUIRE(std::ssize(values.back()) == cols, std::to_string(values.back().size()) + " values");
    }
    Matrix<double> matrix(rows, cols);
    for (std::int64_t r = 0; r < rows; ++r)
        std::ranges::copy(values[static_cast<std::size_t>(r)], matrix.row(r).begin());
    return matrix;
}

void put(ByteWriter& out, const HeadJob& job) {
    for (const std::size_t n : {job.work, job.encoder, job.dataset}) out.put(n);
    out.put(job.kind);
    out.put(job.member);
}

HeadJob get_head_job(ByteReader& in) {
    HeadJob job;
    for (std::size_t* n : {&job.work, &job.encoder, &job.dataset}) *n = in.get<std::size_t>();
    job.kind = in.get<HeadKind>();
    job.member = in.get<std::int32_t>();
    return job;
}

void put(ByteWriter& out, const HeadResult& result) {
    out.put(result.epochs);
    out.put(std::span<const double>(result.loss));
    out.put(std::span<const double>(result.lipschitz));
    put_matrix(out, result.validation);
    put_matrix(out, result.asked);
}

HeadResult get_head_result(ByteReader& in) {
    HeadResult result;
    result.epochs = in.get<std::int64_t>();
    result.loss = in.get_many<double>();
    result.lipschitz = in.get_many<double>();
    result.validation = get_matrix(in);
    result.asked = get_matrix(in);
    CANDOR_REQUIRE(std::ssize(result.loss) == result.asked.rows() &&
                       std::ssize(result.lipschitz) == result.asked.rows() &&
                       result.validation.rows() == result.asked.rows(),
                   std::to_string(result.loss.size()) + " losses of " + std::to_string(result.asked.rows()));
    return result;
}

}  // namespace candor::campaign
