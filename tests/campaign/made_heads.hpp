#pragma once

// Heads of the made study, each trained alone.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "candor/campaign/head_work.hpp"
#include "candor/campaign/heads_mpi.hpp"
#include "candor/linalg/gemm.hpp"
#include "made_study.hpp"

namespace candor::testing {

/// The made study with drawn splits: every row is in the pool, a share of the patients is learnt from. What
/// every training gives is known from training each alone.
struct MadeHeads {
    campaign::Inputs inputs =
        made_inputs("made.toml", {"heads.split=[0.5, 0.25, 0.25]", "heads.epochs=3", "heads.ensemble=2"});
    std::vector<campaign::TaskWork> work;
    campaign::HeadRowsOfWork heads;
    std::vector<campaign::TrainedHead> all;

    MadeHeads() {
        linalg::open_blas();
        for (study::Table& table : inputs.tables) table.split.clear();
        work = made_work(inputs);
        for (std::size_t t = 0; t < work.size(); ++t) {
            const study::Task& task = inputs.study.tasks[t];
            const auto drafts = study::draft_head_rows(inputs.study, task, inputs.tables);
            const std::vector<campaign::FeatureAudit::HeadFaults> none(drafts.size());
            heads.push_back(campaign::final_heads(inputs, task, drafts, none, work[t].pool));
        }
        for (const campaign::HeadJob& job : campaign::head_jobs(inputs.study, work, heads))
            all.push_back(
                {job, *campaign::train_head(inputs.study, work, job, open(job), {[] { return false; }, ""})});
    }

    /// Rows of length one of some rows of a job's dataset.
    Matrix<float> rows(const campaign::HeadJob& job, const std::vector<TableRow>& which) const {
        const study::Task& task = inputs.study.tasks[work[job.work].task];
        const std::size_t encoder = task.encoders[job.encoder];
        Matrix<float> out(std::ssize(which), made_dimensions[encoder]);
        for (std::size_t i = 0; i < which.size(); ++i) {
            const auto row = made_features(
                encoder,
                inputs.tables[task.datasets[job.dataset]].image[static_cast<std::size_t>(which[i].value)]);
            double squares = 0;
            for (const float v : row) squares += static_cast<double>(v) * static_cast<double>(v);
            for (std::size_t j = 0; j < row.size(); ++j)
                out.row(static_cast<std::int64_t>(i))[j] =
                    static_cast<float>(static_cast<double>(row[j]) / std::sqrt(squares));
        }
        return out;
    }

    campaign::HeadInputs open(const campaign::HeadJob& job) const {
        const study::HeadRows& of = heads[job.work][job.dataset];
        std::vector<TableRow> asked;
        for (const PoolRow row : campaign::asked_rows(inputs.study, work[job.work].pool, of))
            asked.push_back(work[job.work].pool.table_row[static_cast<std::size_t>(row.value)]);
        campaign::HeadInputs out{
            rows(job, of.training.rows), rows(job, of.validation.rows), rows(job, asked),
            Matrix<std::int8_t>(std::ssize(of.training.labels), std::ssize(of.training.rows))};
        for (std::size_t f = 0; f < of.training.labels.size(); ++f)
            std::ranges::copy(of.training.labels[f], out.labels.row(static_cast<std::int64_t>(f)).begin());
        return out;
    }
};

inline const MadeHeads& made_heads() {
    static const MadeHeads one;
    return one;
}

}  // namespace candor::testing
