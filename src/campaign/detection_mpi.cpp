#include "candor/campaign/detection_mpi.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "candor/base/bytes.hpp"
#include "candor/campaign/detection_cells.hpp"

namespace candor::campaign {

DetectionResults detection_mpi(const parallel::Communicator& world, const study::Study& study,
                               const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                               const std::vector<TrainedHead>& trained,
                               const std::vector<std::int64_t>& dimensions, const OpenScored& open,
                               int threads, std::int64_t memory, ResultJournal& journal,
                               parallel::StopRequest& stop, const Log& log) {
    DetectionResults results;
    results.here = score_heads_mpi(world, study, work, heads, trained, dimensions, open, threads, memory,
                                   journal, stop, log);
    std::vector<DetectionCell> told;
    std::map<DetectionGroup, PooledDetection> groups;
    Progress progress(log, "resampling failures", static_cast<double>(results.here.size()));
    for (const ScoredHeads& scored : results.here) {
        if (stop.requested()) break;
        count_detection(study, work[scored.job.work], heads[scored.job.work][scored.job.dataset], scored,
                        threads, told, groups);
        progress.advance(1);
    }
    stop.rendezvous();
    ByteWriter mine;
    for (const DetectionCell& cell : told) {
        mine.put('c');
        mine.put(cell);
    }
    for (const auto& [group, pooled] : groups) {
        mine.put('g');
        put_pooled(mine, group, pooled);
    }
    const std::vector<std::string> gathered = world.gather(mine.take());
    if (world.rank() != 0) return results;
    told.clear();
    groups.clear();
    for (const std::string& bytes : gathered) {
        ByteReader in(bytes);
        while (!in.done()) {
            if (in.get<char>() == 'c') {
                told.push_back(in.get<DetectionCell>());
            } else {
                add_pooled(in, groups);
            }
        }
    }
    std::ranges::sort(told, {}, [](const DetectionCell& cell) {
        return std::tuple(cell.group.work, cell.group.dataset, cell.group.encoder, cell.group.finding);
    });
    results.tables = detection_tables(study, work, told, groups);
    return results;
}

}  // namespace candor::campaign
