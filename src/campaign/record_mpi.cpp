#include "candor/campaign/record_mpi.hpp"

#include <chrono>
#include <cstdlib>
#include <ctime>

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
                const RecordedResults& results, const std::vector<Found>& found, const RunRecord& record,
                StageClock& clock, const Log& log) {
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
    file.table(clock.table_mpi(world, log), "/run");
    write_run(file, world, prepared, record);
    file.finish();
}

}  // namespace candor::campaign
