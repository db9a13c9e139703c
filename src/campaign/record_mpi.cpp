#include "candor/campaign/record_mpi.hpp"

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <limits>

#include "candor/base/memory.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/parallel/session.hpp"
#include "candor/store/results_file.hpp"

namespace candor::campaign {

namespace {

void write_run(store::ResultsWriter& file, const parallel::Communicator& world, const Prepared& prepared,
               const RunRecord& record) {
    const parallel::Machine machine = parallel::describe_machine(world);
    std::int64_t sums[] = {record.cost.kept, record.cost.searches};
    std::int64_t largest[] = {record.cost.kept_max, peak_resident_bytes()};
    world.sum(sums);
    world.maximum(largest);
    const char* job = std::getenv("SLURM_JOB_ID");

    const auto put = [&](const char* name, const store::AttributeValue& value) {
        file.attribute("/run", name, value);
    };
    put("format", std::string(store::results_format));
    put("format_version", store::results_format_version);
    put("version", record.program.version);
    put("commit", record.program.commit);
    put("dirty", static_cast<std::int64_t>(record.program.dirty));
    put("compiler", record.program.compiler);
    put("blas", linalg::blas_description());
    put("blas_core", linalg::blas_core());
    put("mpi", machine.mpi);
    put("hdf5", store::hdf5_version());
    put("hosts", machine.hosts);
    put("ranks", static_cast<std::int64_t>(machine.ranks));
    put("threads", static_cast<std::int64_t>(record.threads));
    put("job_id", std::string(job == nullptr ? "" : job));
    put("start", record.start);
    put("end", utc_now());
    put("seed", static_cast<std::int64_t>(prepared.inputs.study.seed));
    put("study_file", prepared.inputs.study.file);
    put("study", prepared.inputs.study.effective);
    put("inputs", record.inputs);
    put("ablations", static_cast<std::int64_t>(record.ablations));
    put("block_rows", record.block_rows);
    put("kept_mean", sums[1] == 0 ? 0.0 : static_cast<double>(sums[0]) / static_cast<double>(sums[1]));
    put("kept_max", largest[0]);
    put("memory", record.memory);
    put("peak_memory", largest[1]);
}

/// The cases of one task in their order: finding, context, positives then negatives, key order.
struct CaseColumns {
    std::vector<std::string> image, dataset, patient, context, finding;
    std::vector<std::int64_t> label;
};

CaseColumns case_columns(const Inputs& inputs, const TaskWork& work) {
    const study::Task& task = inputs.study.tasks[work.task];
    CaseColumns columns;
    for (const study::Cell& cell : work.cells) {
        if (!cell.scored()) continue;
        const study::Context& context = work.contexts[static_cast<std::size_t>(cell.context)];
        for (std::size_t q = 0; q < cell.queries.size(); ++q) {
            const PoolRow row = context.rows[static_cast<std::size_t>(cell.queries[q].value)];
            const auto at = static_cast<std::size_t>(row.value);
            const auto dataset = static_cast<std::size_t>(work.pool.dataset[at]);
            const auto table_row = static_cast<std::size_t>(work.pool.table_row[at].value);
            columns.image.push_back(inputs.tables[dataset].image[table_row]);
            columns.dataset.push_back(inputs.study.datasets[dataset].id);
            columns.patient.push_back(inputs.tables[dataset].patient[table_row]);
            columns.context.push_back(work.contexts[static_cast<std::size_t>(cell.context)].name);
            columns.finding.push_back(task.findings[static_cast<std::size_t>(cell.finding)]);
            columns.label.push_back(static_cast<std::int64_t>(q) < cell.positive_queries ? 1 : 0);
        }
    }
    return columns;
}

/// One number a case and encoder.
struct CaseMatrix {
    const char* name;
    double (*value)(const instruments::Discordance&);
};

constexpr CaseMatrix case_matrices[] = {
    {"dm", [](const instruments::Discordance& one) { return one.margin(); }},
    {"c_pos", [](const instruments::Discordance& one) { return one.c_pos; }},
    {"c_neg", [](const instruments::Discordance& one) { return one.c_neg; }},
    {"s1", [](const instruments::Discordance& one) { return one.s1; }},
};

void write_cases(store::ResultsWriter& file, const parallel::Communicator& world, const Inputs& inputs,
                 const TaskWork& work, std::size_t position, const std::vector<std::int64_t>& blind_encoders,
                 const std::vector<Found>& found) {
    const study::Task& task = inputs.study.tasks[work.task];
    const std::string group = "/cases/" + task.id + "/";
    const CaseColumns columns = world.rank() == 0 ? case_columns(inputs, work) : CaseColumns();
    std::vector<std::string> encoders;
    for (const std::size_t e : task.encoders) encoders.push_back(inputs.study.encoders[e].id);
    file.texts(group + "encoder", encoders);
    file.texts(group + "image_id", columns.image);
    file.texts(group + "dataset", columns.dataset);
    file.texts(group + "patient_id", columns.patient);
    file.texts(group + "context", columns.context);
    file.texts(group + "finding", columns.finding);
    file.integers(group + "label", columns.label);
    file.integers(group + "blind_encoders", blind_encoders);

    for (const CaseMatrix& matrix : case_matrices) {
        std::vector<std::vector<double>> values;
        for (const Found& one : found) {
            if (one.work != position) continue;
            values.emplace_back();
            for (const instruments::Discordance& query : one.primary)
                values.back().push_back(matrix.value(query));
        }
        std::vector<store::ResultsWriter::Piece> pieces;
        for (const Found& one : found) {
            if (one.work != position) continue;
            pieces.push_back(
                {static_cast<std::int64_t>(one.encoder), work.first_case[one.cell], values[pieces.size()]});
        }
        file.matrix(group + matrix.name, static_cast<std::int64_t>(task.encoders.size()), work.cases);
        file.write(group + matrix.name, pieces);
    }
}

/// The rows of one dataset's heads: validation, then test.
void write_head_rows(store::ResultsWriter& file, const parallel::Communicator& world,
                     const Prepared& prepared, const TaskWork& work, const study::HeadRows& rows,
                     const std::string& group) {
    const Inputs& inputs = prepared.inputs;
    const study::Table& table = inputs.tables[rows.dataset];
    const std::int64_t validation = std::ssize(rows.validation.rows),
                       all = validation + std::ssize(rows.test);
    std::vector<std::string> image, patient, context, split;
    const auto add = [&](TableRow row, std::int32_t position, const char* name) {
        image.push_back(table.image[static_cast<std::size_t>(row.value)]);
        patient.push_back(table.patient[static_cast<std::size_t>(row.value)]);
        context.push_back(position < 0 ? "" : work.pool.contexts[static_cast<std::size_t>(position)]);
        split.emplace_back(name);
    };
    if (world.rank() == 0) {
        for (std::size_t i = 0; i < rows.validation.rows.size(); ++i)
            add(rows.validation.rows[i], rows.validation.context[i], "val");
        for (const PoolRow row : rows.test) {
            const auto at = static_cast<std::size_t>(row.value);
            add(work.pool.table_row[at], work.pool.context[at], "test");
        }
    }
    file.texts(group + "image_id", image);
    file.texts(group + "patient_id", patient);
    file.texts(group + "context", context);
    file.texts(group + "split", split);
    const std::size_t findings = rows.validation.labels.size();
    std::vector<std::vector<double>> labels(world.rank() == 0 ? findings : 0);
    std::vector<store::ResultsWriter::Piece> pieces;
    for (std::size_t f = 0; f < labels.size(); ++f) {
        const auto put_label = [&](std::int8_t label) {
            labels[f].push_back(label < 0 ? std::numeric_limits<double>::quiet_NaN() : label);
        };
        for (const std::int8_t label : rows.validation.labels[f]) put_label(label);
        for (const PoolRow row : rows.test)
            put_label(work.pool.labels[f][static_cast<std::size_t>(row.value)]);
        pieces.push_back({static_cast<std::int64_t>(f), 0, labels[f]});
    }
    file.matrix(group + "label", static_cast<std::int64_t>(findings), all);
    file.write(group + "label", pieces);
}

/// What the heads of one dataset say of its validation and test rows, and what detection says of the latter.
void write_heads(store::ResultsWriter& file, const parallel::Communicator& world, const Prepared& prepared,
                 std::size_t w, std::size_t d, const RecordedHeads& heads) {
    const study::Study& study = prepared.inputs.study;
    const TaskWork& work = prepared.work[w];
    const study::Task& task = study.tasks[work.task];
    const study::HeadRows& rows = prepared.heads[w][d];
    const std::string group = "/heads/" + task.id + "/" + study.datasets[rows.dataset].id + "/";
    std::vector<std::string> encoders;
    for (const std::size_t e : task.encoders) encoders.push_back(study.encoders[e].id);
    file.texts(group + "encoder", encoders);
    file.texts(group + "finding", task.findings);
    write_head_rows(file, world, prepared, work, rows, group);

    const auto findings = std::ssize(task.findings);
    const std::int64_t validation = std::ssize(rows.validation.rows),
                       all = validation + std::ssize(rows.test);
    const auto write = [&](const std::string& name, const std::vector<store::ResultsWriter::Piece>& pieces) {
        file.matrix(group + name, std::ssize(task.encoders) * findings, all);
        file.write(group + name, pieces);
    };
    const auto row_of = [&](std::size_t encoder, std::int64_t f) {
        return static_cast<std::int64_t>(encoder) * findings + f;
    };
    const std::vector<std::size_t> tested = test_among(asked_rows(study, work.pool, rows), rows);
    for (const instruments::HeadKind kind : head_kinds(study)) {
        std::vector<std::vector<double>> values;
        std::vector<std::int64_t> row;
        for (const TrainedHead& one : heads.trained) {
            const HeadJob& job = one.job;
            if (job.work != w || job.dataset != d || job.kind != kind || job.member != 0) continue;
            for (std::int64_t f = 0; f < findings; ++f) {
                const auto known = one.result.validation.row(f);
                std::vector<double>& z = values.emplace_back(known.begin(), known.end());
                for (const std::size_t i : tested) z.push_back(one.result.asked.row(f)[i]);
                row.push_back(row_of(job.encoder, f));
            }
        }
        std::vector<store::ResultsWriter::Piece> pieces;
        for (std::size_t i = 0; i < values.size(); ++i) pieces.push_back({row[i], 0, values[i]});
        write("z_" + name_of(kind), pieces);
    }
    if (detection_jobs(study, prepared.work, prepared.heads).empty()) return;
    const auto write_scores = [&](const char* name, auto matrix_of) {
        std::vector<store::ResultsWriter::Piece> pieces;
        for (const ScoredHeads& one : heads.scored) {
            if (one.job.work != w || one.job.dataset != d) continue;
            for (std::int64_t f = 0; f < findings; ++f)
                pieces.push_back({row_of(one.job.encoder, f), validation, matrix_of(one).row(f)});
        }
        write(name, pieces);
    };
    using Scored = const ScoredHeads&;
    write_scores("impurity", [](Scored s) -> const Matrix<double>& { return s.geometry.impurity; });
    write_scores("ensemble", [](Scored s) -> const Matrix<double>& { return s.ensemble; });
    write_scores("mahalanobis", [](Scored s) -> const Matrix<double>& { return s.geometry.mahalanobis; });
    write_scores("neighbor_distance", [](Scored s) -> const Matrix<double>& { return s.geometry.distance; });
}

}  // namespace

std::string utc_now() {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm utc{};
    gmtime_r(&now, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

std::string describe_inputs(const Prepared& prepared) {
    std::string text;
    const auto add = [&](const InputFile& file) {
        text += file.digest + " " + std::to_string(file.bytes) + " " + file.path + "\n";
    };
    for (const InputFile& file : prepared.inputs.files) add(file);
    for (const FeatureReport& report : prepared.audit.reports) add(report.file);
    for (const InputFile& file : prepared.erased.files) add(file);
    return text;
}

void record_mpi(const parallel::Communicator& world, const std::string& output, const Prepared& prepared,
                const RecordedResults& results, const std::vector<Found>& found, const RecordedHeads& heads,
                const RunRecord& record, StageClock& clock, const Log& log) {
    store::ResultsWriter file(output, world);
    // Rank 0 knows how many tables there are; the others join each one with nothing to add.
    std::int64_t count[] = {static_cast<std::int64_t>(results.tables.size())};
    world.maximum(count);
    for (std::int64_t i = 0; i < count[0]; ++i) {
        file.table(world.rank() == 0 ? results.tables[static_cast<std::size_t>(i)] : store::ResultTable());
    }
    for (std::size_t w = 0; w < prepared.work.size(); ++w) {
        write_cases(file, world, prepared.inputs, prepared.work[w], w,
                    world.rank() == 0 ? results.blind_encoders[w] : std::vector<std::int64_t>(), found);
    }
    for (std::size_t w = 0; w < prepared.work.size(); ++w) {
        for (std::size_t d = 0; d < prepared.heads[w].size(); ++d) {
            if (prepared.heads[w][d].why_none.empty()) write_heads(file, world, prepared, w, d, heads);
        }
    }
    file.table(clock.table_mpi(world, log), "/run");
    write_run(file, world, prepared, record);
    file.finish();
}

}  // namespace candor::campaign
