#include "candor/synth/plan.hpp"

#include <algorithm>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"

namespace candor::synth {

namespace {

// Of the images of a dataset whose regions are no findings.
constexpr double annotated_share = 0.3, region_share = 0.7;

}  // namespace

Plan::Plan(const SynthOptions& options)
    : options_(options),
      shape_(shape_named(options.shape)),
      study_(study::parse_study("study.toml", shape_.text)),
      subjects_(subjects_of(study_, shape_)),
      subject_(study_.datasets.size()),
      asked_(images_at(shape_, options.scale)),
      regions_(study_.datasets.size()) {
    for (std::size_t s = 0; s < subjects_.size(); ++s) {
        for (const std::size_t d : subjects_[s].datasets) subject_[d] = s;
    }
    for (std::size_t d = 0; d < regions_.size(); ++d) {
        if (study_.datasets[d].boxes.empty()) continue;
        regions_[d] = shape_.datasets[d].regions;
        if (!regions_[d].empty()) continue;
        for (const study::Task& task : study_.tasks) {
            if (std::ranges::find(task.datasets, d) == task.datasets.end()) continue;
            for (const std::string& finding : task.findings) {
                if (std::ranges::find(regions_[d], finding) == regions_[d].end())
                    regions_[d].push_back(finding);
            }
        }
    }
}

std::string Plan::context_column(std::size_t dataset) const {
    for (const study::Task& task : study_.tasks) {
        if (std::ranges::find(task.datasets, dataset) == task.datasets.end()) continue;
        for (const std::string& column : task.context) {
            if (column != "dataset") return column;
        }
    }
    return {};
}

const Images& Plan::images(std::size_t dataset) {
    const auto known = images_.find(dataset);
    if (known != images_.end()) return known->second;
    const DatasetShape& shape = shape_.datasets[dataset];
    const Subject& subject = subject_of(dataset);
    const Images* reference = nullptr;
    std::vector<std::size_t> asked;
    if (shape.describes_reference) {
        const auto at =
            std::ranges::find(study_.datasets, study_.datasets[dataset].reference, &study::Dataset::id);
        reference = &images(static_cast<std::size_t>(at - study_.datasets.begin()));
        for (std::size_t f = 0; f < subject.findings.size(); ++f) {
            const auto& names = regions_[dataset];
            if (std::ranges::find(names, subject.findings[f]) != names.end()) asked.push_back(f);
        }
    }
    return images_
        .emplace(dataset,
                 draw_images(subject, shape, dataset, asked_[dataset], options_.seed, reference, asked))
        .first->second;
}

const std::vector<study::Label>& Plan::labels(std::size_t dataset) {
    const auto known = labels_.find(dataset);
    if (known != labels_.end()) return known->second;
    const Images& of = images(dataset);
    const Subject& subject = subject_of(dataset);
    std::vector<study::Label> labels;
    for (std::size_t f = 0; f < subject.findings.size(); ++f) {
        for (std::int64_t row = 0; row < of.rows(); ++row) {
            labels.push_back(stated_label(of, subject, shape_.datasets[dataset], row, f, options_.seed));
        }
    }
    return labels_.emplace(dataset, std::move(labels)).first->second;
}

const std::vector<Evidence>& Plan::evidence(std::size_t dataset) {
    const auto known = evidence_.find(dataset);
    if (known != evidence_.end()) return known->second;
    const Images& of = images(dataset);
    const std::vector<study::Label>& stated = labels(dataset);
    const Subject& subject = subject_of(dataset);
    std::vector<Evidence> rows;
    for (std::int64_t row = 0; row < of.rows(); ++row) {
        const Stream stream(options_.seed, "annotation/" + study_.datasets[dataset].id,
                            static_cast<std::uint64_t>(row));
        for (std::size_t r = 0; r < regions_[dataset].size(); ++r) {
            const auto f =
                std::ranges::find(subject.findings, regions_[dataset][r]) - subject.findings.begin();
            const bool is_finding = f < std::ssize(subject.findings);
            const bool has_region =
                is_finding ? stated[static_cast<std::size_t>(f * of.rows() + row)] == study::Label::positive
                           : stream.uniform(0) < annotated_share && stream.uniform(1 + r) < region_share;
            if (has_region) rows.push_back({row, r});
        }
    }
    return evidence_.emplace(dataset, std::move(rows)).first->second;
}

const Geometry& Plan::geometry(std::size_t dataset, std::size_t encoder) {
    std::unique_ptr<Geometry>& kept = geometries_[{subject_[dataset], encoder}];
    if (!kept) {
        const Subject& subject = subject_of(dataset);
        const auto rank =
            static_cast<std::size_t>(std::ranges::find(subject.encoders, encoder) - subject.encoders.begin());
        const study::Encoder& of = study_.encoders[encoder];
        kept = std::make_unique<Geometry>(subject, rank, of.id, of.anchor, dimension(encoder), study_.op.k,
                                          options_.seed);
    }
    return *kept;
}

const std::vector<CellCounts>& Plan::cells(std::size_t task) {
    const auto known = cells_.find(task);
    if (known != cells_.end()) return known->second;
    const Subject& subject = subject_of(study_.tasks[task].datasets[0]);
    std::vector<const Images*> of(study_.datasets.size());
    std::vector<const std::vector<study::Label>*> stated(study_.datasets.size());
    for (const std::size_t d : subject.datasets) {
        of[d] = &images(d);
        stated[d] = &labels(d);
    }
    return cells_.emplace(task, count_cells(study_, study_.tasks[task], subject, of, stated)).first->second;
}

}  // namespace candor::synth
