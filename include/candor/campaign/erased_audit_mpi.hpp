#pragma once

/// Which erased features a task may use (METHODS 7): those that every encoder of its panel has, in files that
/// name image and region of each row, with the evidence boxes beside them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/index.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/campaign/work.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/parallel/stop.hpp"
#include "candor/store/feature_file.hpp"
#include "candor/study/boxes.hpp"
#include "candor/study/pool.hpp"

namespace candor::campaign {

/// What was seen of one erased file, over the rows that some task may use.
struct ErasedReport {
    std::string encoder, dataset;
    InputFile file;
    std::int64_t rows = 0, dimension = 0;
    std::int64_t missing = 0;  ///< (image, region) rows that another encoder of a task has and this one lacks
    std::int64_t unknown = 0;  ///< rows of images that the table does not know
    std::int64_t bad = 0;      ///< rows with NaN, Inf or norm 0
    std::pair<std::string, std::string> first_missing, first_bad;  ///< image id and region
};

/// One erased row that a task uses under all of its encoders.
struct ErasedRow {
    std::size_t dataset = 0;  ///< position in Study::datasets
    TableRow row;
    std::size_t region = 0;  ///< position in TaskErased::regions
};

/// One region of one image that no encoder of the task uses. Images of other splits are none.
struct LeftOut {
    std::size_t dataset = 0;
    std::string what;  ///< "missing erased features", "bad erased features", "erased features of an image
                       ///< that is not positive"
    std::string region;
    TableRow row;
};

struct TaskErased {
    std::vector<std::string> regions;  ///< the task's findings in its order, then others in byte order
    std::vector<ErasedRow> rows;       ///< by region, then in the order of the draft pool
    std::vector<LeftOut> left_out;     ///< by dataset, what, region and row
};

struct ErasedAudit {
    std::vector<ErasedReport> reports;  ///< by encoder, then dataset
    std::vector<study::Boxes> boxes;    ///< by dataset; empty where it has none
    std::vector<InputFile> files;       ///< the erased files as in `reports`, then the boxes by dataset
    std::vector<TaskErased> tasks;      ///< one a task
    std::vector<std::string> notes;     ///< what a user should know although it does not stop a run

    /// What the study's policies (on_missing, on_bad_row) do not allow, in order.
    std::vector<DataError> problems(const study::Study& study) const;

    /// Counts what was left out of a task among the exclusions of its final pool, as far as that holds the
    /// images: by dataset and what, the region as detail.
    void count_exclusions(const study::Study& study, std::size_t task, study::Pool& pool) const;
};

/// Reads the boxes and every erased file of the study's tasks once; encoders are shared over ranks. A row is
/// used where every encoder of the task has it and none has it spoilt, where its image asks in the draft
/// pool and, for a region named like a finding of the task, where the image is positive.
/// Collective; the same on every rank. @throws DataError where a file cannot be used at all: also where an
/// erased file lacks /image_id or /finding, names a blank region or has another dimension than the features.
ErasedAudit audit_erased_mpi(const parallel::Communicator& world, const Inputs& inputs,
                             const std::vector<study::Pool>& drafts, parallel::StopRequest& stop);

/// A region of a task as its final pool holds it.
struct EvidenceRegion {
    std::string name;
    std::optional<std::size_t> finding;  ///< of the task, where one is named so
    std::vector<PoolRow> rows;           ///< erased under every encoder, ascending
    std::vector<double> area;            ///< of each, as a share of the image; NaN without a box
};

/// The regions of a task that have rows, in the order of TaskErased::regions.
std::vector<EvidenceRegion> evidence_regions(const study::Study& study, const TaskWork& work,
                                             const ErasedAudit& erased);

/// The finding of a task that a region is named like.
std::optional<std::size_t> finding_of(const study::Task& task, const std::string& region);

/// The erased file of an encoder and dataset. @throws DataError where it does not name image and region of
/// each row.
store::FeatureFile open_erased(const study::Study& study, std::size_t encoder, std::size_t dataset);

}  // namespace candor::campaign
