#pragma once

/// Failure detection as work that can be done anywhere (METHODS 9): what the geometry of the training rows
/// says of the test rows of a dataset's heads, and its way through messages and journals.

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "candor/base/bytes.hpp"
#include "candor/base/matrix.hpp"
#include "candor/campaign/head_work.hpp"
#include "candor/campaign/work.hpp"
#include "candor/neighbors/row_source.hpp"
#include "candor/study/head_rows.hpp"
#include "candor/study/study.hpp"

namespace candor::campaign {

/// The linear heads of all findings of one dataset under one encoder.
struct DetectionJob {
    std::size_t work = 0, encoder = 0, dataset = 0;  ///< positions among works and in the task

    auto operator<=>(const DetectionJob&) const = default;
};

/// All of a study, ascending; none where it trains no linear heads.
std::vector<DetectionJob> detection_jobs(const study::Study& study, const std::vector<TaskWork>& work,
                                         const HeadRowsOfWork& heads);

/// Flops of one whose rows have `dimension` columns: what it is placed by.
double detection_cost(const std::vector<TaskWork>& work, const HeadRowsOfWork& heads, const DetectionJob& job,
                      std::int64_t dimension);

/// Scores of METHODS 9 that look at features, findings x HeadRows::test. NaN: the row is not labelled for the
/// finding, or the score is undefined there.
struct GeometricScores {
    Matrix<double> impurity, distance, mahalanobis;
};

/// @param rows  the training rows of `heads`, then its test rows, as stored
/// @param memory bytes that the search for neighbours may take; 0: as many as it likes
/// @param stops  asked every few seconds
/// @returns nothing where it said yes.
std::optional<GeometricScores> geometric_scores(const study::Study& study, const TaskWork& work,
                                                const study::HeadRows& heads,
                                                const neighbors::RowSource& rows, int threads,
                                                std::int64_t memory, const std::function<bool()>& stops);

void put(ByteWriter& out, const DetectionJob& job);
DetectionJob get_detection_job(ByteReader& in);
void put(ByteWriter& out, const GeometricScores& scores);
/// @throws InternalError where the bytes are no scores.
GeometricScores get_geometric_scores(ByteReader& in);

}  // namespace candor::campaign
