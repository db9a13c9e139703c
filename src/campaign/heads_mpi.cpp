#include "candor/campaign/heads_mpi.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "candor/linalg/gemm.hpp"
#include "candor/parallel/schedule.hpp"

namespace candor::campaign {

namespace {

/// Jobs with the same rows.
std::tuple<std::size_t, std::size_t, std::size_t> rows_of(const HeadJob& job) {
    return {job.work, job.encoder, job.dataset};
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

HeadJournal::HeadJournal(const SearchJournal& journal) : journal_(&journal) {
    if (!journal.heads_file().empty())
        records_ = std::make_unique<store::JournalWriter>(journal.heads_file(), journal.identity());
}

std::vector<TrainedHead> HeadJournal::earlier_mpi(const parallel::Communicator& world,
                                                  std::set<HeadJob>& done) const {
    std::vector<TrainedHead> here;
    if (journal_ == nullptr || journal_->earlier_heads_files().empty()) return here;
    const std::vector<std::string>& files = journal_->earlier_heads_files();
    const std::string core = linalg::blas_core();
    for (std::size_t f = static_cast<std::size_t>(world.rank()); f < files.size();
         f += static_cast<std::size_t>(world.size())) {
        if (!std::filesystem::exists(files[f])) continue;
        store::read_journal(files[f], journal_->identity(), [&](std::string_view record) {
            ByteReader in(record);
            if (in.get_text() != core) return;
            TrainedHead head{get_head_job(in), {}};
            head.result = get_head_result(in);
            here.push_back(std::move(head));
        });
    }
    ByteWriter mine;
    for (const TrainedHead& head : here) put(mine, head.job);
    const std::vector<std::string> all = world.all_gather(mine.take());
    // Of a head that several hold, which no run leaves, the first rank's counts.
    std::set<HeadJob> others;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        if (static_cast<int>(rank) == world.rank()) others = done;
        ByteReader in(all[rank]);
        while (!in.done()) done.insert(get_head_job(in));
    }
    std::erase_if(here, [&](const TrainedHead& head) { return !others.insert(head.job).second; });
    return here;
}

void HeadJournal::trained(const TrainedHead& head) {
    if (!records_) return;
    ByteWriter out;
    out.put(linalg::blas_core());
    put(out, head.job);
    put(out, head.result);
    records_->append(out.take());
}

void HeadJournal::sync() {
    if (records_) records_->sync();
}

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
                                         int threads, HeadJournal& journal, parallel::StopRequest& stop,
                                         const Log& log) {
    std::set<HeadJob> done;
    std::vector<TrainedHead> trained = journal.earlier_mpi(world, done);
    std::vector<HeadJob> jobs = head_jobs(study, work, heads);
    std::erase_if(jobs, [&](const HeadJob& job) { return done.contains(job); });
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
            running.push_back(
                {job, costs[mine[next]],
                 std::async(std::launch::async, [&study, &work, job, rows, question = flag.question()] {
                     return train_head(study, work, job, *rows, question);
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
            journal.trained(trained.back());
        }
        std::erase_if(running, [](const Running& one) { return !one.result.valid(); });
    }
    if (stops) journal.sync();
    stop.rendezvous();
    std::ranges::sort(trained, {}, &TrainedHead::job);
    return trained;
}

}  // namespace candor::campaign
