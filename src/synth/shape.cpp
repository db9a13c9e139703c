#include "candor/synth/shape.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "synth/study_text.hpp"

namespace candor::synth {

namespace {

constexpr std::int64_t fewest_images = 400;

/// The paper's 605,443 images are fewer than its datasets hold, so that its pools were subsampled; how, it
/// does not say. Here every dataset has its public size except the five largest, which are cut to one size:
/// the one that makes the sum right (4 x 89,845 + 89,844).
constexpr std::int64_t cut = 89'845;

Shape paper() {
    const std::vector<std::string> views{"AP", "PA", "lateral"};
    const auto without_context = [](std::string id, std::int64_t images, bool patients, bool splits = true) {
        return DatasetShape{std::move(id), images, {}, patients, splits, {}, {}, false};
    };
    Shape shape{"paper", paper_study_text, {}, {}, {"birds", "aircraft"}};
    shape.datasets = {
        {"mimic-cxr", cut, views, true, true, {}, {}, false},
        {"chexpert", cut, views, true, true, {}, {}, false},
        {"padchest", cut, views, true, true, {"enlarged_cardiomediastinum"}, {}, false},
        {"vindr-cxr", 18'000, {"PA"}, true, true, {"edema", "pneumothorax"}, {}, false},
        {"pedicxr", 9'125, {"PA"}, true, true, {"fracture", "lung_lesion", "pleural_other"}, {}, false},
        {"indiana", 7'470, {"PA", "lateral"}, true, true, {"enlarged_cardiomediastinum"}, {}, false},
        {"ms-cxr", 1'047, {}, true, false, {}, {}, true},
        // A few views that no MIMIC-CXR context has: their queries ask the pooled reference.
        {"rsna", 26'684, {"AP", "PA", "unknown"}, true, false, {}, {}, false},
        without_context("nct-crc", cut, false),
        without_context("pcam", cut - 1, false),
        without_context("cub", 11'788, false),
        without_context("aircraft", 10'000, false),
        without_context("messidor", 1'748, true),
        without_context("aptos", 3'662, true),
        {"idrid",
         516,
         {},
         true,
         true,
         {},
         {"microaneurysms", "haemorrhages", "hard_exudates", "soft_exudates"},
         false},
        without_context("fairvision", 10'000, true),
        without_context("ddi", 656, true, false),
        without_context("fitzpatrick", 16'577, true),
        without_context("bcn", 18'946, true),
        without_context("vindr-mammo", 20'000, true),
    };
    shape.encoders = {{"rad-dino", 768},   {"txrv-densenet", 1024}, {"biomedclip", 512}, {"uni", 1024},
                      {"uni2-h", 1536},    {"conch", 512},          {"virchow", 2560},   {"virchow2", 2560},
                      {"phikon-v2", 1024}, {"gigapath", 1536},      {"retfound", 1024},  {"flair", 2048},
                      {"monet", 768},      {"panderm", 1024},       {"dinov3-s", 384},   {"dinov3-b", 768},
                      {"dinov3-l", 1024},  {"dinov3-h", 1280},      {"dinov2-l", 1024},  {"clip-l", 768},
                      {"siglip2-l", 1024}, {"random-vit-l", 1024}};
    return shape;
}

Shape small() {
    Shape shape{"small", small_study_text, {}, {}, {"kinds"}};
    shape.datasets = {
        {"site-a", 1'200, {"AP", "PA"}, true, true, {}, {}, false},
        {"site-b", 800, {"PA"}, true, true, {"nodule"}, {"scar"}, false},
        {"boxed", 60, {}, true, false, {}, {}, true},
        {"outside", 240, {"AP", "PA", "unknown"}, true, false, {}, {}, false},
        {"kinds", 500, {}, false, true, {}, {}, false},
    };
    shape.encoders = {{"seeing", 48}, {"good", 96}, {"fair", 40}, {"poor", 64}, {"random", 32}};
    return shape;
}

/// Positions whose studies' entries must stand in the same order as the shape's.
template <class Facts, class Entries>
void require_same_ids(const Facts& facts, const Entries& entries) {
    CANDOR_REQUIRE(facts.size() == entries.size(), std::to_string(facts.size()));
    for (std::size_t i = 0; i < facts.size(); ++i)
        CANDOR_REQUIRE(facts[i].id == entries[i].id, entries[i].id);
}

}  // namespace

Shape shape_named(const std::string& name) {
    const std::vector<std::string> names{"paper", "small"};
    if (name == names[0]) return paper();
    if (name == names[1]) return small();
    const std::string near = nearest_name(name, names);
    throw UsageError("--shape " + name, near.empty() ? "no such shape; there are " + join_text(names, ", ")
                                                     : "no such shape; did you mean " + near + "?");
}

std::vector<std::int64_t> images_at(const Shape& shape, double scale) {
    std::vector<std::int64_t> images;
    for (const DatasetShape& dataset : shape.datasets) {
        const auto scaled =
            static_cast<std::int64_t>(std::llround(static_cast<double>(dataset.images) * scale));
        images.push_back(std::max(scaled, std::min(dataset.images, fewest_images)));
    }
    return images;
}

std::vector<Subject> subjects_of(const study::Study& study, const Shape& shape) {
    require_same_ids(shape.datasets, study.datasets);
    require_same_ids(shape.encoders, study.encoders);
    std::vector<std::size_t> subject(study.datasets.size());
    std::iota(subject.begin(), subject.end(), std::size_t{0});
    const auto join = [&](std::size_t a, std::size_t b) {
        const std::size_t to = std::min(subject[a], subject[b]), from = std::max(subject[a], subject[b]);
        std::ranges::replace(subject, from, to);
    };
    const auto position_of = [&](const std::string& id) {
        return static_cast<std::size_t>(std::ranges::find(study.datasets, id, &study::Dataset::id) -
                                        study.datasets.begin());
    };
    for (const study::Task& task : study.tasks) {
        for (const std::size_t d : task.datasets) join(task.datasets[0], d);
    }
    for (std::size_t d = 0; d < study.datasets.size(); ++d) {
        if (!study.datasets[d].reference.empty()) join(d, position_of(study.datasets[d].reference));
    }

    std::vector<Subject> subjects;
    for (std::size_t first = 0; first < subject.size(); ++first) {
        if (subject[first] != first) continue;
        Subject& made = subjects.emplace_back();
        for (std::size_t d = first; d < subject.size(); ++d) {
            if (subject[d] == first) made.datasets.push_back(d);
        }
        for (const study::Task& task : study.tasks) {
            if (subject[task.datasets[0]] != first) continue;
            made.exclusive |=
                std::ranges::find(shape.exclusive_tasks, task.id) != shape.exclusive_tasks.end();
            for (const std::string& finding : task.findings) {
                if (std::ranges::find(made.findings, finding) == made.findings.end())
                    made.findings.push_back(finding);
            }
            made.encoders.insert(made.encoders.end(), task.encoders.begin(), task.encoders.end());
        }
        std::ranges::sort(made.encoders);
        made.encoders.erase(std::ranges::unique(made.encoders).begin(), made.encoders.end());
    }
    return subjects;
}

}  // namespace candor::synth
