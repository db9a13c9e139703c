#include "candor/campaign/work.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "candor/parallel/schedule.hpp"

namespace candor::campaign {

TaskWork make_work(const study::Study& study, std::size_t task_position, study::Pool pool) {
    const study::Task& task = study.tasks[task_position];
    TaskWork work;
    work.task = task_position;
    work.pool = std::move(pool);
    work.contexts = study::contexts_of(work.pool);
    work.rules = study::rules_of(study, work.pool);
    for (std::size_t f = 0; f < task.findings.size(); ++f) {
        for (const study::Context& context : work.contexts) {
            work.cells.push_back(
                study::make_cell(study, task, work.pool, context, static_cast<std::int32_t>(f), work.rules));
            work.first_case.push_back(work.cases);
            if (work.cells.back().scored())
                work.cases += static_cast<std::int64_t>(work.cells.back().queries.size());
        }
    }
    return work;
}

std::vector<SearchItem> search_items(const study::Study& study, const std::vector<TaskWork>& work,
                                     const std::vector<std::int64_t>& dimensions) {
    std::vector<SearchItem> items;
    for (std::size_t w = 0; w < work.size(); ++w) {
        const study::Task& task = study.tasks[work[w].task];
        std::vector<std::size_t> order(work[w].cells.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, {}, [&](std::size_t c) { return work[w].cells[c].context; });
        for (std::size_t e = 0; e < task.encoders.size(); ++e) {
            for (const std::size_t c : order) {
                const study::Cell& cell = work[w].cells[c];
                if (!cell.scored()) continue;
                const auto queries = static_cast<std::int64_t>(cell.queries.size());
                const double candidates = static_cast<double>(cell.candidates.front().list[0].size() +
                                                              cell.candidates.front().list[1].size());
                for (std::int64_t first = 0; first < queries; first += item_queries) {
                    const std::int64_t count = std::min(item_queries, queries - first);
                    const double flops = 2.0 * static_cast<double>(count) * candidates *
                                         static_cast<double>(dimensions[task.encoders[e]]);
                    items.push_back({w, e, c, first, count, flops});
                }
            }
        }
    }
    return items;
}

std::vector<int> place_items(const std::vector<SearchItem>& items, const std::vector<TaskWork>& work,
                             int ranks) {
    double total = 0;
    for (const SearchItem& item : items) total += item.flops;
    // A group is what shares one set of rows. It is split once it would by itself unbalance the ranks.
    const double most = total / (8.0 * ranks);
    const auto rows_of = [&](const SearchItem& item) {
        return std::tuple(item.work, item.encoder, work[item.work].cells[item.cell].context);
    };
    std::vector<double> costs;
    std::vector<std::size_t> group(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        const bool joins =
            i > 0 && rows_of(items[i]) == rows_of(items[i - 1]) && costs.back() + items[i].flops <= most;
        if (!joins) costs.push_back(0);
        costs.back() += items[i].flops;
        group[i] = costs.size() - 1;
    }
    const std::vector<int> placed = parallel::place_longest_first(costs, ranks);
    std::vector<int> ranks_of_items;
    for (const std::size_t g : group) ranks_of_items.push_back(placed[g]);
    return ranks_of_items;
}

}  // namespace candor::campaign
