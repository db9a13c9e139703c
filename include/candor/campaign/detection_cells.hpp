#pragma once

/// What failure detection (METHODS 9) counts of each linear head, and what of them together.

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "candor/base/bytes.hpp"
#include "candor/campaign/head_work.hpp"
#include "candor/campaign/scored_heads_mpi.hpp"
#include "candor/campaign/work.hpp"
#include "candor/instruments/detection.hpp"

namespace candor::campaign {

/// What a row of the table is about. The order of the levels is the table's.
enum class DetectionLevel : std::int32_t { cell, encoder, dataset, context, task };

/// Positions where the level has one, else 0.
struct DetectionGroup {
    std::size_t work = 0;
    DetectionLevel level = DetectionLevel::cell;
    std::size_t encoder = 0, dataset = 0, finding = 0, context = 0;

    auto operator<=>(const DetectionGroup&) const = default;
};

/// Why a cell, or its comparison, is undefined.
enum class DetectionReason : std::int32_t {
    defined,
    untrained,
    one_label,
    no_threshold,
    no_rows,
    no_error,
    all_errors
};

/// What is told of a cell. Plain numbers only: it travels between ranks as bytes.
struct DetectionCell {
    DetectionGroup group;
    DetectionReason why = DetectionReason::defined;
    std::int64_t without_neighbors = 0;
    instruments::DetectionSummary summary{};
    instruments::ByScore<instruments::Estimate> aurc{};
    instruments::RiskCurves risk{};
};

/// Pooled over parts of cells: counts, and who they are of.
struct PooledDetection {
    instruments::DetectionTally tally;
    std::set<std::int32_t> patients;
    std::int64_t without_neighbors = 0;
    instruments::ByScore<std::vector<instruments::Estimate>> gaps;  // of the parts
};

/// Counts one job's cells, adds them to the groups that they belong to, and tells of each.
void count_detection(const study::Study& study, const TaskWork& work, const study::HeadRows& heads,
                     const ScoredHeads& scored, int threads, std::vector<DetectionCell>& told,
                     std::map<DetectionGroup, PooledDetection>& groups);

/// A group on its way to another rank, which adds it to its own.
void put_pooled(ByteWriter& out, const DetectionGroup& group, const PooledDetection& pooled);
void add_pooled(ByteReader& in, std::map<DetectionGroup, PooledDetection>& groups);

}  // namespace candor::campaign
