#include "candor/campaign/plan_tables.hpp"

#include <algorithm>
#include <set>

#include "candor/base/text.hpp"
#include "candor/campaign/lines.hpp"

namespace candor::campaign {

namespace {

// Beyond these a rank more is mostly wasted.
constexpr double most_fixed = 0.10, longest_share = 0.05, least_balance = 0.95;

struct WorkLine {
    std::string task;
    std::int64_t encoders = 0, rows = 0, contexts = 0, cells = 0, cells_scored = 0, cases = 0;
    std::int64_t searches = 0, tasks = 0;
    double flops = 0;
};

std::string percent(double share) {
    return format_fixed(100 * share, 1) + " %";
}

std::string ranks_text(const Forecast& forecast) {
    return std::to_string(forecast.ranks) + (forecast.ranks == 1 ? " rank" : " ranks");
}

}  // namespace

store::ResultTable work_table(const PlannedStudy& study, const Player& player) {
    std::vector<WorkLine> lines;
    for (const TaskWork& work : study.work) {
        const study::Task& task = study.inputs.study.tasks[work.task];
        const auto encoders = std::ssize(task.encoders);
        lines.push_back({task.id, encoders, work.pool.rows(), std::ssize(work.contexts),
                         std::ssize(work.cells) * encoders,
                         std::ranges::count_if(work.cells, &study::Cell::scored) * encoders,
                         work.cases * encoders, 0, 0, 0});
    }
    for (const SearchGroup& group : player.plan().groups) ++lines[group.work].searches;
    for (const SearchTask& task : player.plan().tasks) {
        WorkLine& line = lines[player.plan().groups[task.group].work];
        ++line.tasks;
        line.flops += task.flops;
    }
    return table_of("work", lines, [](Rows& rows, const WorkLine& line) {
        rows.put("task", line.task);
        rows.put("encoders", line.encoders);
        rows.put("rows", line.rows);
        rows.put("contexts", line.contexts);
        rows.put("cells", line.cells);
        rows.put("cells_scored", line.cells_scored);
        rows.put("cases", line.cases);
        rows.put("searches", line.searches);
        rows.put("pieces", line.tasks);
        rows.put("flops", line.flops);
    });
}

store::ResultTable stages_table(const Forecast& forecast) {
    return table_of("stages", forecast.stages, [&](Rows& rows, const StageForecast& stage) {
        rows.put("ranks", static_cast<std::int64_t>(forecast.ranks));
        rows.put("name", stage.name);
        rows.put("flops", stage.flops);
        rows.put("seconds", stage.slowest);
        rows.put("cpu_seconds", stage.cpu_seconds);
        rows.put("fixed_seconds", stage.fixed);
    });
}

store::ResultTable scaling_table(std::span<const Forecast> forecasts) {
    return table_of("scaling", std::vector<Forecast>(forecasts.begin(), forecasts.end()),
                    [](Rows& rows, const Forecast& f) {
                        rows.put("ranks", static_cast<std::int64_t>(f.ranks));
                        rows.put("seconds", f.elapsed);
                        rows.put("cpu_seconds", f.cpu_seconds);
                        rows.put("fixed_seconds", f.fixed);
                        rows.put("fixed_share", f.fixed_share());
                        rows.put("balance", f.balance);
                        rows.put("pieces", f.tasks);
                        rows.put("idle_ranks", f.idle);
                        rows.put("longest_piece", f.longest_task);
                        rows.put("bytes_read", f.bytes_read);
                        rows.put("most_read", f.most_read);
                        rows.put("memory", f.memory);
                        rows.put("least_memory", f.least_memory);
                    });
}

std::vector<std::string> scaling_warnings(std::span<const Forecast> forecasts) {
    std::vector<std::string> lines;
    const auto first = [&](auto holds) {
        const auto at = std::ranges::find_if(forecasts, holds);
        return at == forecasts.end() ? nullptr : &*at;
    };
    const Forecast* const fixed =
        first([](const Forecast& f) { return f.ranks > 1 && f.fixed_share() > most_fixed; });
    if (fixed != nullptr) {
        lines.push_back("at " + ranks_text(*fixed) +
                        " what every rank does alike (starting, reading, drawing "
                        "resamples, rank 0's tables) is " +
                        percent(fixed->fixed_share()) +
                        " of the time: use fewer ranks with more threads each, or give the study more to "
                        "compute");
    }
    const Forecast* const idle = first([](const Forecast& f) { return f.tasks < f.ranks; });
    if (idle != nullptr) {
        lines.push_back("at " + ranks_text(*idle) + " there are " + std::to_string(idle->tasks) +
                        " pieces of the search for them all, " +
                        (idle->idle == 1 ? "1 rank has" : std::to_string(idle->idle) + " ranks have") +
                        " none: use fewer ranks, or a larger pool ([pool] rows)");
    }
    const Forecast* const uneven = first([](const Forecast& f) { return f.balance < least_balance; });
    if (uneven != nullptr) {
        lines.push_back("at " + ranks_text(*uneven) + " the mean rank computes " + percent(uneven->balance) +
                        " of what the busiest does: use fewer ranks, or a larger pool ([pool] rows)");
    }
    const Forecast* const long_one = first([](const Forecast& f) {
        const StageForecast* const search = f.stage("search");
        return f.ranks > 1 && search != nullptr && f.longest_task > longest_share * search->slowest;
    });
    if (long_one != nullptr) {
        lines.push_back("at " + ranks_text(*long_one) + " one piece of the search takes " +
                        percent(long_one->longest_task / long_one->stage("search")->slowest) +
                        " of its time: more ranks will not share it evenly");
    }
    return lines;
}

}  // namespace candor::campaign
