#pragma once

/// The heads of a study as work that can be done anywhere (METHODS 8): what there is to train, what it costs,
/// one training from its rows to what is kept of it, and its way through messages and journals.

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "candor/base/bytes.hpp"
#include "candor/base/matrix.hpp"
#include "candor/campaign/audit.hpp"
#include "candor/campaign/encoder_features.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/campaign/work.hpp"
#include "candor/instruments/heads.hpp"
#include "candor/study/head_rows.hpp"
#include "candor/study/pool.hpp"
#include "candor/study/study.hpp"

namespace candor::campaign {

/// Rows of heads, by work, then by dataset of the task.
using HeadRowsOfWork = std::vector<std::vector<study::HeadRows>>;

/// Rows of the heads of a task in its final pool, by its datasets; what faults and rules left out is added to
/// the pool's exclusions.
std::vector<study::HeadRows> final_heads(const Inputs& inputs, const study::Task& task,
                                         const std::vector<study::HeadRows>& drafts,
                                         const std::vector<FeatureAudit::HeadFaults>& faults,
                                         study::Pool& pool);

/// The pool rows that a head is asked about, ascending: those it is tested on, and of its dataset's others as
/// many as `[heads] test_rows`, in their order. The others are there where `[heads] split` draws the splits,
/// for the caps of METHODS 3.3, which hold for any row.
std::vector<PoolRow> asked_rows(const study::Study& study, const study::Pool& pool,
                                const study::HeadRows& rows);
/// Where those it is tested on stand among them.
std::vector<std::size_t> test_among(const std::vector<PoolRow>& asked, const study::HeadRows& rows);

/// One training: a member of the ensemble for all findings of one dataset under one encoder. It is a function
/// of the study and of these, never of ranks and threads.
struct HeadJob {
    std::size_t work = 0;     ///< position among the TaskWorks
    std::size_t encoder = 0;  ///< position in Task::encoders
    std::size_t dataset = 0;  ///< position in Task::datasets
    instruments::HeadKind kind = instruments::HeadKind::linear;
    std::int32_t member = 0;  ///< 0 is the head

    auto operator<=>(const HeadJob&) const = default;
};

/// The kind whose errors are detected and which selection chooses among.
inline constexpr instruments::HeadKind primary_head = instruments::HeadKind::linear;

/// As study files and tables name it.
std::string name_of(instruments::HeadKind kind);
/// The kinds a study asks for, each once, in its order.
std::vector<instruments::HeadKind> head_kinds(const study::Study& study);
/// How many members of a kind are trained: an ensemble of the primary one, whose spread is a score of its
/// errors (METHODS 9); of others the head alone.
std::int32_t members_of(const study::Study& study, instruments::HeadKind kind);

/// A file name that is the job's own.
std::string file_name_of(const HeadJob& job);

/// All trainings of a study, ascending. @param heads  where `why_none` is not empty there are none
std::vector<HeadJob> head_jobs(const study::Study& study, const std::vector<TaskWork>& work,
                               const HeadRowsOfWork& heads);

/// Flops of a training whose rows have `dimension` columns: what it is placed by.
double head_cost(const study::Study& study, const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                 const HeadJob& job, std::int64_t dimension);

/// Bytes that the rank which takes most holds of heads, about: those it trains, their outputs, and afterwards
/// the rows that detection looks at. @param dimensions  feature columns by encoder of the study
std::int64_t head_memory(const study::Study& study, const std::vector<TaskWork>& work,
                         const HeadRowsOfWork& heads, const std::vector<std::int64_t>& dimensions, int ranks,
                         int threads);

/// What the trainings of one (work, encoder, dataset) look at. Rows of features are of length one.
struct HeadInputs {
    Matrix<float> training, validation, asked;  ///< rows of each x d
    Matrix<std::int8_t> labels;                 ///< findings x training rows: 1, 0 or missing_label
};
/// From the feature files.
HeadInputs read_head_inputs(EncoderFeatures& features, const study::Study& study, const TaskWork& work,
                            const study::HeadRows& rows);

/// What is kept of a training, one entry a finding.
struct HeadResult {
    // All NaN of a finding whose training rows have no label or one alone: there is nothing to be learnt.
    Matrix<double> validation, asked;  ///< findings x rows: raw outputs z
    std::vector<double> loss;          ///< mean over the labelled training rows at the end
    std::vector<double> lipschitz;     ///< L of METHODS 3.3
    std::int64_t epochs = 0;
};

/// What a training heeds and leaves behind on its way.
struct TrainingWatch {
    std::function<bool()> stops;  ///< asked before each batch
    std::string state;            ///< instruments::Heads::state() to go on from; empty: from the beginning
    /// Called with the state after an epoch, at most once in `pause`; may be empty.
    std::function<void(const std::string& state)> keep{};
    std::chrono::milliseconds pause{30000};
};

/// Trains for `[heads] epochs`. @returns nothing where it was stopped: what was done since the last state
/// that was kept is lost. @throws InternalError as Heads.
std::optional<HeadResult> train_head(const study::Study& study, const std::vector<TaskWork>& work,
                                     const HeadJob& job, const HeadInputs& inputs,
                                     const TrainingWatch& watch);

/// The columns `which` of a matrix, in that order.
Matrix<double> columns_of(const Matrix<double>& all, std::span<const std::size_t> which);

void put_matrix(ByteWriter& out, const Matrix<double>& matrix);
/// @throws InternalError where rows are of another length than they say.
Matrix<double> get_matrix(ByteReader& in);
void put(ByteWriter& out, const HeadJob& job);
HeadJob get_head_job(ByteReader& in);
void put(ByteWriter& out, const HeadResult& result);
/// @throws InternalError where the bytes are no result.
HeadResult get_head_result(ByteReader& in);

}  // namespace candor::campaign
