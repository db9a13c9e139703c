#include "candor/app/results_study.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "candor/base/text.hpp"
#include "candor/study/study.hpp"

namespace candor::app {

namespace {

std::string attribute_text(const store::ResultsReader& results, const std::string& name) {
    const store::AttributeValue value = results.attribute("/run", name);
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
    return format_real(std::get<double>(value));
}

std::string describe_run(const store::ResultsReader& results, const study::Study& study) {
    const std::string ranks = attribute_text(results, "ranks");
    const bool dirty = attribute_text(results, "dirty") != "0";
    return (study.name.empty() ? "Study" : "Study " + study.name) + ", seed " + std::to_string(study.seed) +
           "; candor " + attribute_text(results, "version") + ", commit " +
           attribute_text(results, "commit").substr(0, 10) + (dirty ? " with changes" : "") + ", on " +
           ranks + (ranks == "1" ? " rank" : " ranks") + ", " + attribute_text(results, "start");
}

/// Counts the distinct images and patients of a task's cases.
report::OverviewTask describe_task(const store::ResultsReader& results, const study::Task& task) {
    const std::string group = "/cases/" + task.id + "/";
    const auto datasets = results.texts(group + "dataset");
    const auto images = results.texts(group + "image_id");
    const auto patients = results.texts(group + "patient_id");
    std::set<std::pair<std::string_view, std::string_view>> image_set;
    std::set<std::tuple<std::string_view, bool, std::string_view>> patient_set;
    for (std::size_t i = 0; i < images.size(); ++i) {
        image_set.emplace(datasets[i], images[i]);
        const bool own = patients[i].empty();
        patient_set.emplace(datasets[i], own, own ? images[i] : patients[i]);
    }
    return {task.id, task.label, static_cast<std::int64_t>(image_set.size()),
            static_cast<std::int64_t>(patient_set.size())};
}

/// Puts how encoders are shown in the place of their ids.
void show_labels(const report::ReportData& data, store::ResultTable& table, std::string_view column) {
    for (store::Column& one : table.columns) {
        if (one.name != column) continue;
        for (std::string& id : std::get<std::vector<std::string>>(one.values)) id = data.encoder(id);
    }
}

}  // namespace

report::Overview read_overview(const store::ResultsReader& results) {
    const study::Study study = study::parse_study(results.path(), attribute_text(results, "study"));
    report::Overview overview;
    overview.file = results.path();
    overview.run = describe_run(results, study);
    overview.rule = study::name_of(study.op.candidates);
    overview.k = study.op.k;
    overview.confidence = study.bootstrap.confidence;
    overview.resamples = study.bootstrap.resamples;
    for (const study::Task& task : study.tasks) overview.tasks.push_back(describe_task(results, task));
    overview.cells = results.table("cells");
    overview.findings = results.table("findings");
    overview.task_rows = results.table("tasks");
    overview.panels = results.table("panels");
    overview.rules = results.table("rules");
    overview.families = results.table("families");
    overview.skipped = results.table("skipped");
    overview.exclusions = results.table("exclusions");
    overview.across = {results.table("overlap_summary"), results.table("consensus"),
                       results.table("retention"), results.table("associations"), results.table("distances")};
    const std::vector<std::string> tables = results.tables();
    if (std::ranges::find(tables, "selection") != tables.end())
        overview.heads = {results.table("heads"), results.table("detection"), results.table("selection")};
    return overview;
}

report::ReportData read_report_data(const store::ResultsReader& results) {
    const study::Study study = study::parse_study(results.path(), attribute_text(results, "study"));
    report::ReportData data;
    data.overview = read_overview(results);
    data.alpha = study.test.alpha;
    for (const std::string& name : results.tables()) data.tables[name] = results.table(name);
    for (const study::Encoder& encoder : study.encoders) {
        data.encoders.push_back({encoder.id,
                                 encoder.label.empty() ? encoder.id : encoder.label,
                                 encoder.domain,
                                 encoder.objective,
                                 encoder.parameters,
                                 encoder.year,
                                 encoder.anchor,
                                 {}});
    }
    for (const study::Dataset& dataset : study.datasets) {
        data.datasets.push_back(
            {dataset.id, dataset.label.empty() ? dataset.id : dataset.label, dataset.reference, {}, 0, 0});
    }
    // Of these only sentences are made; exhibits and figures look encoders up by id, in `tables`.
    show_labels(data, data.overview.panels, "encoder");
    show_labels(data, data.overview.across.retention, "encoder");
    show_labels(data, data.overview.across.distances, "anchor");
    show_labels(data, data.overview.heads.heads, "encoder");
    // Images and patients by data set, over all tasks: a task that shares a data set asks the same images.
    std::map<std::string, std::set<std::string>> images;
    std::map<std::string, std::set<std::pair<bool, std::string>>> patients;
    for (const study::Task& task : study.tasks) {
        data.tasks.push_back(
            {task.id, task.label.empty() ? task.id : task.label, task.domain, task.findings, task.context});
        for (const std::size_t encoder : task.encoders) data.encoders[encoder].tasks.push_back(task.id);
        for (const std::size_t dataset : task.datasets) data.datasets[dataset].tasks.push_back(task.id);
        const std::string group = "/cases/" + task.id + "/";
        const auto datasets = results.texts(group + "dataset");
        const auto ids = results.texts(group + "image_id");
        const auto persons = results.texts(group + "patient_id");
        for (std::size_t i = 0; i < ids.size(); ++i) {
            images[datasets[i]].insert(ids[i]);
            const bool own = persons[i].empty();
            patients[datasets[i]].emplace(own, own ? ids[i] : persons[i]);
        }
    }
    for (report::DatasetFacts& dataset : data.datasets) {
        dataset.images = std::ssize(images[dataset.id]);
        dataset.patients = std::ssize(patients[dataset.id]);
    }
    return data;
}

}  // namespace candor::app
