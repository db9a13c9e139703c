#include "candor/campaign/heads_mpi.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "candor/parallel/schedule.hpp"

namespace candor::campaign {

namespace {

/// Jobs with the same rows.
std::tuple<std::size_t, std::size_t, std::size_t> rows_of(const HeadJob& job) {
    return {job.work, job.encoder, job.dataset};
}

std::string key_of(const HeadJob& job) {
    ByteWriter out;
    put(out, job);
    return out.take();
}

/// A training on a thread of its own.
struct Running {
    HeadJob job;
    double cost = 0;
    std::future<std::optional<HeadResult>> result;
};

/// Tells the trainings to stop when it goes, so that nobody waits for them to come to their ends.
class StopFlag {
  public:
    ~StopFlag() { raise(); }
    void raise() { raised_->store(true, std::memory_order_relaxed); }
    std::function<bool()> question() const {
        return [raised = raised_] { return raised->load(std::memory_order_relaxed); };
    }

  private:
    std::shared_ptr<std::atomic<bool>> raised_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

OpenHeads heads_from_files(const Inputs& inputs, const std::vector<TaskWork>& work,
                           const HeadRowsOfWork& heads) {
    return [&](const HeadJob& job) {
        const study::Task& task = inputs.study.tasks[work[job.work].task];
        EncoderFeatures features(inputs, task.encoders[job.encoder]);
        return read_head_inputs(features, inputs.study, work[job.work], heads[job.work][job.dataset]);
    };
}

std::vector<TrainedHead> train_heads_mpi(const parallel::Communicator& world, const study::Study& study,
                                         const std::vector<TaskWork>& work, const HeadRowsOfWork& heads,
                                         const std::vector<std::int64_t>& dimensions, const OpenHeads& open,
                                         int threads, ResultJournal& journal, parallel::StopRequest& stop,
                                         const Log& log, std::chrono::milliseconds pause) {
    const ResultJournal::Earlier earlier = journal.earlier_mpi(world, Kept::head);
    std::vector<TrainedHead> trained;
    for (const auto& [key, result] : earlier.here) {
        ByteReader of_key(key), of_result(result);
        trained.push_back({get_head_job(of_key), get_head_result(of_result)});
    }
    std::vector<HeadJob> jobs = head_jobs(study, work, heads);
    std::erase_if(jobs, [&](const HeadJob& job) { return earlier.done.contains(key_of(job)); });
    std::vector<double> costs;
    for (const HeadJob& job : jobs) {
        const std::size_t encoder = study.tasks[work[job.work].task].encoders[job.encoder];
        costs.push_back(head_cost(study, work, heads, job, dimensions[encoder]));
    }
    const std::vector<int> placed = parallel::place_longest_first(costs, world.size());
    std::vector<std::size_t> mine;  // in the order of the jobs, so that rows are read once
    double total = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        if (placed[j] != world.rank()) continue;
        mine.push_back(j);
        total += costs[j];
    }

    Progress progress(log, "training heads", total);
    std::shared_ptr<const HeadInputs> rows;
    std::vector<Running> running;
    StopFlag flag;
    bool stops = false;
    for (std::size_t next = 0; !running.empty() || (next < mine.size() && !stops);) {
        // This thread reads, keeps and listens; others train.
        while (next < mine.size() && std::ssize(running) < threads && !stops) {
            const HeadJob& job = jobs[mine[next]];
            if (next == 0 || rows_of(jobs[mine[next - 1]]) != rows_of(job))
                rows = std::make_shared<const HeadInputs>(open(job));
            running.push_back({job, costs[mine[next]],
                               std::async(std::launch::async, [&study, &work, &journal, job, rows, pause,
                                                               question = flag.question()] {
                                   const std::string name = file_name_of(job);
                                   const auto keep = [&](const std::string& state) {
                                       journal.keep_checkpoint(name, state);
                                   };
                                   return train_head(
                                       study, work, job, *rows,
                                       {question, journal.checkpoint(name).value_or(""), keep, pause});
                               })});
            ++next;
            stops = stop.requested();
        }
        stops = stops || stop.requested();
        if (stops) flag.raise();
        running.front().result.wait_for(std::chrono::milliseconds(20));
        for (Running& one : running) {
            if (one.result.wait_for(std::chrono::seconds(0)) != std::future_status::ready) continue;
            std::optional<HeadResult> result = one.result.get();
            progress.advance(one.cost);
            if (!result) continue;
            trained.push_back({one.job, std::move(*result)});
            ByteWriter bytes;
            put(bytes, trained.back().result);
            journal.keep(Kept::head, key_of(one.job), bytes.take());
            journal.drop_checkpoint(file_name_of(one.job));
        }
        std::erase_if(running, [](const Running& one) { return !one.result.valid(); });
    }
    if (stops) journal.sync();
    stop.rendezvous();
    std::ranges::sort(trained, {}, &TrainedHead::job);
    return trained;
}

}  // namespace candor::campaign
