#pragma once

// A study made in memory: two datasets, two tasks (of three contexts and of one), three encoders; patients
// repeat, some labels and patients are blank, one cell is too small, and one encoder gives so few different
// rows that DM ties.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/base/random.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/campaign/search_mpi.hpp"
#include "candor/campaign/work.hpp"
#include "candor/neighbors/row_set.hpp"
#include "candor/study/pool.hpp"
#include "candor/study/study.hpp"
#include "candor/study/table.hpp"

namespace candor::testing {

/// Feature columns by position in Study::encoders.
inline const std::vector<std::int64_t> made_dimensions{16, 3, 40};

inline std::string made_study_text() {
    return "[study]\nname = \"made\"\n"
           "[operator]\nk = 3\nbank_cap = 12\nalso = [\"distinct\", \"literal\", \"unequal\"]\ndraws = 2\n"
           "[bootstrap]\nresamples = 100\n"
           "[[encoder]]\nid = \"wide\"\n[[encoder]]\nid = \"coarse\"\n[[encoder]]\nid = \"anchor\"\nanchor = "
           "true\n"
           "[[dataset]]\nid = \"a\"\ntable = \"a.csv\"\nfeatures = \"{encoder}-{dataset}.h5\"\n"
           "[[dataset]]\nid = \"b\"\ntable = \"b.csv\"\nfeatures = \"{encoder}-{dataset}.h5\"\n"
           "[[task]]\nid = \"both\"\ndatasets = [\"a\", \"b\"]\nfindings = [\"edema\", \"mass\"]\n"
           "context = [\"dataset\", \"view\"]\n"
           "[[task]]\nid = \"alone\"\ndatasets = [\"a\"]\nfindings = [\"mass\"]\nencoders = [\"anchor\", "
           "\"wide\"]\n"
           "context = [\"dataset\"]\n";
}

/// Dataset a: 70 images of two views, two or three a patient. Dataset b: 24 of one view; of edema it has two
/// positives.
inline std::string made_table_text(const std::string& dataset) {
    const bool a = dataset == "a";
    const Stream stream(13, "table/" + dataset, 0);
    std::string text = "image_id,patient_id,split,view,edema,mass\n";
    const int rows = a ? 70 : 24;
    for (int i = 0; i < rows; ++i) {
        const auto label = [&](std::uint64_t draw) -> std::string {
            const std::uint64_t v = stream.below(draw, 20);
            return v < 8 ? "1" : v < 17 ? "0" : v == 17 ? "-1" : "";
        };
        const auto at = static_cast<std::uint64_t>(3 * i);
        const std::string patient = i % 11 == 0 ? "" : "p" + std::to_string(i * 2 / 5);
        const std::string view = a && stream.below(at, 3) == 0 ? "pa" : "ap";
        const std::string edema = a ? label(at + 1) : i < 2 ? "1" : "0";
        text += dataset + std::to_string(i) + "," + patient + ",test," + view + "," + edema + "," +
                label(at + 2) + "\n";
    }
    return text;
}

inline campaign::Inputs made_inputs(const std::string& study_file = "made.toml",
                                    const std::vector<std::string>& overrides = {}) {
    campaign::Inputs inputs;
    inputs.study = study::parse_study(study_file, made_study_text(), overrides);
    for (const study::Dataset& dataset : inputs.study.datasets) {
        inputs.tables.push_back(
            study::parse_table(dataset, made_table_text(dataset.id), {"edema", "mass"}, {"view"}));
    }
    return inputs;
}

inline std::vector<campaign::TaskWork> made_work(const campaign::Inputs& inputs) {
    std::vector<campaign::TaskWork> work;
    for (std::size_t t = 0; t < inputs.study.tasks.size(); ++t) {
        const study::Task& task = inputs.study.tasks[t];
        const study::Pool draft = study::draft_pool(inputs.study, task, inputs.tables);
        work.push_back(
            campaign::make_work(inputs.study, t, study::final_pool(inputs.study, task, draft, {})));
    }
    return work;
}

/// Features of an image: floats, a function of encoder and id. The encoder "coarse" knows three values an
/// entry.
inline std::vector<float> made_features(std::size_t encoder, const std::string& image) {
    const Stream stream(14, "features/" + image, encoder);
    std::vector<float> row;
    for (std::uint64_t j = 0; j < static_cast<std::uint64_t>(made_dimensions[encoder]); ++j) {
        row.push_back(encoder == 1 ? static_cast<float>(stream.below(j, 3)) - 1
                                   : static_cast<float>(2 * stream.uniform(j) - 1));
    }
    if (std::ranges::all_of(row, [](float v) { return v == 0; })) row[0] = 1;
    return row;
}

/// The rows of one context of a task under one encoder of the study.
inline neighbors::RowSet made_rows(const campaign::TaskWork& work, std::size_t encoder, std::size_t context) {
    const auto& which = work.contexts[context].rows;
    Matrix<float> matrix(static_cast<std::int64_t>(which.size()), made_dimensions[encoder]);
    for (std::size_t i = 0; i < which.size(); ++i) {
        std::ranges::copy(made_features(encoder, work.pool.image[static_cast<std::size_t>(which[i].value)]),
                          matrix.row(static_cast<std::int64_t>(i)).begin());
    }
    return neighbors::RowSet(std::move(matrix));
}

/// Rows of the made study for a search. The study and the work must outlive it.
inline campaign::OpenRows open_made(const study::Study& study, const std::vector<campaign::TaskWork>& work) {
    return [&study, &work](const campaign::SearchGroup& group) -> std::unique_ptr<neighbors::RowSource> {
        const campaign::TaskWork& here = work[group.work];
        return std::make_unique<neighbors::RowSet>(made_rows(
            here, study.tasks[here.task].encoders[group.encoder], static_cast<std::size_t>(group.context)));
    };
}

/// search_mpi from the beginning, of which nothing is kept.
inline std::vector<campaign::FoundPart> search_all_mpi(
    const parallel::Communicator& world, const study::Study& study,
    const std::vector<campaign::TaskWork>& work, const campaign::SearchPlan& plan,
    const campaign::OpenRows& open, const neighbors::SearchOptions& options, campaign::SearchCost& cost) {
    const Log silent(Verbosity::quiet, false);
    campaign::SearchJournal none;
    parallel::StopRequest never;
    return campaign::search_mpi(world, study, work, plan, {}, open, options,
                                {none, campaign::Search::matched, never, silent}, cost);
}

}  // namespace candor::testing
