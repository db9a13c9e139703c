#include "candor/campaign/training_work.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace candor::campaign {

study::Study training_study(const study::Study& study) {
    study::Study training = study;
    training.op.also.clear();
    training.op.also_is_set = true;
    training.op.draws = 1;
    training.op.negative_queries = study::NegativeQueries::none;
    training.test.permutations = 0;  // its rates are compared with each other, never with chance
    return training;
}

std::vector<TaskWork> training_work(const Inputs& inputs, const study::Study& study,
                                    const std::vector<TaskWork>& work, const HeadRowsOfWork& heads) {
    const std::vector<instruments::HeadKind> kinds = head_kinds(study);
    const bool primary = std::ranges::find(kinds, primary_head) != kinds.end();
    std::vector<TaskWork> training;
    for (std::size_t w = 0; w < work.size(); ++w) {
        const study::Task& task = study.tasks[work[w].task];
        std::vector<std::pair<std::size_t, TableRow>> rows;
        for (const study::HeadRows& of : heads[w]) {
            if (!primary || !of.why_none.empty() || task.encoders.size() < 2) continue;
            // Rows of contexts that are not tested say nothing of those that are.
            for (std::size_t i = 0; i < of.training.rows.size(); ++i) {
                if (of.training.context[i] >= 0) rows.emplace_back(of.dataset, of.training.rows[i]);
            }
        }
        if (rows.empty()) {
            training.emplace_back().task = work[w].task;
            continue;
        }
        const study::Pool draft = study::draft_pool_of(study, task, inputs.tables, rows);
        training.push_back(make_work(study, work[w].task, study::final_pool(study, task, draft, {})));
    }
    return training;
}

TrainingRates training_rates_mpi(const parallel::Communicator& world, const study::Study& study,
                                 const std::vector<TaskWork>& training, const std::vector<Found>& found) {
    std::vector<std::size_t> first;  // place of a work's sums
    std::size_t places = 0;
    for (const TaskWork& work : training) {
        const study::Task& task = study.tasks[work.task];
        first.push_back(places);
        places += task.encoders.size() * task.findings.size();
    }
    std::vector<std::int64_t> sums(2 * places);  // twice the discordant and the ties, queries
    for (const Found& one : found) {
        const study::Cell& cell = training[one.work].cells[one.cell];
        if (!cell.in_figures()) continue;
        const std::size_t place = first[one.work] +
                                  one.encoder * study.tasks[training[one.work].task].findings.size() +
                                  static_cast<std::size_t>(cell.finding);
        for (std::int64_t q = 0; q < cell.positive_queries; ++q) {
            const double margin = one.primary[static_cast<std::size_t>(q)].margin();
            sums[2 * place] += margin > 0 ? 2 : margin == 0 ? 1 : 0;
            ++sums[2 * place + 1];
        }
    }
    world.sum(sums);
    TrainingRates rates;
    for (std::size_t w = 0, place = 0; w < training.size(); ++w) {
        const study::Task& task = study.tasks[training[w].task];
        auto& of_work = rates.emplace_back(task.encoders.size());
        for (std::vector<double>& of_encoder : of_work) {
            for (std::size_t f = 0; f < task.findings.size(); ++f, ++place) {
                const auto twice = static_cast<double>(sums[2 * place]);
                const auto queries = static_cast<double>(sums[2 * place + 1]);
                of_encoder.push_back(queries > 0 ? twice / (2 * queries)
                                                 : std::numeric_limits<double>::quiet_NaN());
            }
        }
    }
    return rates;
}

}  // namespace candor::campaign
