#include "candor/campaign/planned_study.hpp"

#include <algorithm>

#include "candor/base/error.hpp"
#include "candor/campaign/stages.hpp"
#include "candor/campaign/training_work.hpp"
#include "candor/store/element.hpp"

namespace candor::campaign {

namespace {

/// Reads the headers of the files of one task.
void read_headers(PlannedStudy& plan, const study::Task& task) {
    const study::Study& study = plan.inputs.study;
    for (const std::size_t encoder : task.encoders) {
        std::string first;  // file that the others must agree with
        for (const std::size_t dataset : study::pool_datasets(study, task)) {
            const study::Dataset& of = study.datasets[dataset];
            const std::string path = of.features_of(study.encoders[encoder].id);
            const std::pair key(encoder, dataset);
            if (!plan.features.contains(key)) plan.features.emplace(key, store::read_feature_header(path));
            const store::FeatureHeader& header = plan.features.at(key);
            const study::Table& table = plan.inputs.tables[dataset];
            if (!header.has_ids && header.rows != table.rows()) {
                throw DataError({path},
                                "carries no ids and has " + std::to_string(header.rows) + " rows where " +
                                    table.file + " has " + std::to_string(table.rows()),
                                "give it ids with candor import, or one row for each row of the table");
            }
            std::int64_t& dimension = plan.dimensions[encoder];
            if (first.empty()) first = path;
            if (dimension == 0) dimension = header.dimension;
            if (dimension != header.dimension) {
                throw DataError({path},
                                "has " + std::to_string(header.dimension) + " columns where " + first +
                                    " has " + std::to_string(dimension),
                                "one encoder gives every image of a task the same number of features");
            }
            const std::string erased = of.erased_of(study.encoders[encoder].id);
            if (!erased.empty() && !plan.erased.contains(key))
                plan.erased.emplace(key, store::read_feature_header(erased));
        }
    }
}

}  // namespace

std::int64_t PlannedStudy::width(const study::Task& task, std::size_t encoder) const {
    std::int64_t widest = 0;
    for (const std::size_t dataset : study::pool_datasets(inputs.study, task)) {
        const auto at = features.find({encoder, dataset});
        if (at != features.end()) widest = std::max(widest, store::size_of(at->second.type));
    }
    return widest;
}

PlannedStudy plan_study_mpi(const parallel::Communicator& world, const std::string& study_file,
                            const std::vector<std::string>& overrides, const Log& log) {
    PlannedStudy plan;
    const double start = processor_seconds();
    plan.inputs = load_inputs_mpi(world, study_file, overrides);
    plan.tables_seconds = processor_seconds() - start;
    const study::Study& study = plan.inputs.study;
    log.detail("reading the headers of the features");
    plan.dimensions.resize(study.encoders.size());
    for (const study::Task& task : study.tasks) read_headers(plan, task);

    const double pools = processor_seconds();
    for (std::size_t t = 0; t < study.tasks.size(); ++t) {
        const study::Pool draft = study::draft_pool(study, study.tasks[t], plan.inputs.tables);
        study::Pool pool = study::final_pool(study, study.tasks[t], draft, {});
        const auto heads = study::draft_head_rows(study, study.tasks[t], plan.inputs.tables);
        const std::vector<FeatureAudit::HeadFaults> no_faults(heads.size());
        plan.heads.push_back(final_heads(plan.inputs, study.tasks[t], heads, no_faults, pool));
        plan.work.push_back(make_work(study, t, std::move(pool)));
        if (const auto fault = why_nothing_is_scored(study, plan.work.back()))
            throw DataError({study.file}, *fault, "candor check lists every cell with its reason");
    }
    plan.training_study = training_study(study);
    plan.training = training_work(plan.inputs, plan.training_study, plan.work, plan.heads);
    plan.pools_seconds = processor_seconds() - pools;
    return plan;
}

}  // namespace candor::campaign
