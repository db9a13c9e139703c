#include "candor/campaign/detection_mpi.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "candor/base/bytes.hpp"
#include "candor/campaign/detection_cells.hpp"

namespace candor::campaign {

DetectionTables detection_mpi(const parallel::Communicator& world, const study::Study& study,
                              const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                              const std::vector<ScoredHeads>& scored, int threads,
                              parallel::StopRequest& stop, const Log& log) {
    std::vector<DetectionCell> told;
    std::map<DetectionGroup, PooledDetection> groups;
    Progress progress(log, "resampling failures", static_cast<double>(scored.size()));
    for (const ScoredHeads& one : scored) {
        if (stop.requested()) break;
        count_detection(study, work[one.job.work], heads[one.job.work][one.job.dataset], one, threads, told,
                        groups);
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
    if (world.rank() != 0) return {};
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
    return detection_tables(study, work, told, groups);
}

}  // namespace candor::campaign
