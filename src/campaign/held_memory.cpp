#include "candor/campaign/held_memory.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "candor/campaign/inference_mpi.hpp"
#include "candor/campaign/permute.hpp"
#include "candor/instruments/discordance.hpp"
#include "candor/instruments/tally.hpp"

namespace candor::campaign {

std::int64_t HeldMemory::most(std::int64_t search, std::int64_t heads) const {
    std::int64_t most = 0;
    for (std::size_t rank = 0; rank < found.size(); ++rank)
        most = std::max(
            most, found[rank] + std::max({search + lists[rank], delivered[rank], counted[rank], heads}));
    return most;
}

namespace {

/// By rank: what panels keep of groups on several ranks, those it shows and, from others, those it decides.
std::vector<std::int64_t> kept_memory(const study::Study& study, const std::vector<TaskWork>& all_work,
                                      const SearchPlan& plan, std::size_t ranks) {
    std::map<std::size_t, std::set<std::pair<std::int64_t, int>>> shown;  // by group: panels, and where
    const std::vector<bool> shared = shared_groups(plan);
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
        const SearchTask& task = plan.tasks[t];
        if (!shared[task.group]) continue;
        for (const std::int64_t panel : {task.encounter.i, task.encounter.j})
            shown[task.group].emplace(panel, plan.rank[t]);
    }
    std::vector<std::int64_t> kept(ranks);
    for (const auto& [g, panels] : shown) {
        const SearchGroup& group = plan.groups[g];
        const TaskWork& work = all_work[group.work];
        std::vector<neighbors::Question> questions;
        for (const std::size_t cell : group.cells) {
            const auto own = questions_of(work, cell);
            questions.insert(questions.end(), own.begin(), own.end());
        }
        const auto rows = std::ssize(work.contexts[static_cast<std::size_t>(group.context)].rows);
        const std::int64_t of_panel = neighbors::kept_memory(rows, questions, study.op.k) / group.panels + 1;
        for (const auto& [panel, rank] : panels) {
            const int owner = plan.owner[g][static_cast<std::size_t>(panel)];
            kept[static_cast<std::size_t>(rank)] += of_panel;
            if (owner != rank) kept[static_cast<std::size_t>(owner)] += of_panel;
        }
    }
    return kept;
}

/// Adds what lists of neighbours take.
void add_lists(const study::Study& study, const std::vector<TaskWork>& all_work, const SearchPlan& plan,
               const std::function<int(std::size_t, std::size_t, std::size_t)>& owner, HeldMemory& held) {
    const std::size_t ranks = held.found.size();
    std::vector<std::int64_t> alone(ranks), decided(ranks), delivered(ranks), reading(ranks);
    const std::vector<std::int64_t> kept = kept_memory(study, all_work, plan, ranks);
    const std::vector<bool> shared = shared_groups(plan);
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
        const SearchGroup& group = plan.groups[g];
        const TaskWork& work = all_work[group.work];
        if (work.listed.empty() || plan.owner[g].empty()) continue;
        std::int64_t lists = 0, read = 0;
        for (const std::size_t cell : group.cells) {
            const std::int64_t here = lists_memory(work.listed[cell]),
                               reads = reading_memory(study, work.listed[cell]);
            lists += here;
            read = std::max(read, reads);
            if (!shared[g]) continue;
            const auto to = static_cast<std::size_t>(
                owner(group.work, group.encoder, static_cast<std::size_t>(work.cells[cell].finding)));
            delivered[to] += here;
            reading[to] = std::max(reading[to], reads);
        }
        if (!shared[g]) {
            std::int64_t& most = alone[static_cast<std::size_t>(plan.owner[g].front())];
            most = std::max(most, lists + read);
            continue;
        }
        for (const int rank : plan.owner[g])
            decided[static_cast<std::size_t>(rank)] += lists / std::ssize(plan.owner[g]);
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        held.lists.push_back(std::max(alone[rank], decided[rank]) + kept[rank]);
        held.delivered.push_back(decided[rank] + delivered[rank] + reading[rank]);
    }
}

}  // namespace

HeldMemory held_memory(const study::Study& study, const std::vector<TaskWork>& all_work,
                       const SearchPlan& plan, int ranks) {
    const auto count = static_cast<std::size_t>(ranks);
    HeldMemory held{std::vector<std::int64_t>(count), std::vector<std::int64_t>(count), {}, {}};
    // Tallies of a rank: of the cells of the task that has most of them, and of all findings.
    std::vector<std::int64_t> tallied(count), sent(count);
    const auto owner = counting_owners(study, all_work, ranks);
    std::int64_t gathered = 0;
    for (std::size_t w = 0; w < all_work.size(); ++w) {
        const TaskWork& work = all_work[w];
        const std::int64_t worlds =
            work.listed.empty() ? 0 : study.test.permutations + instruments::wide_draws;
        const std::int64_t of_tally =
            (study.bootstrap.resamples + worlds) * static_cast<std::int64_t>(sizeof(instruments::Counts));
        std::map<std::int32_t, std::int64_t> findings;  // rules that score some cell of each
        for (const study::Cell& cell : work.cells) {
            if (!cell.scored() || cell.pooled_reference) continue;
            findings[cell.finding] = std::max(findings[cell.finding], rules_of(work, cell));
        }
        std::vector<std::int64_t> tallied_here(count);
        for (std::size_t e = 0; e < study.tasks[work.task].encoders.size(); ++e) {
            for (std::size_t c = 0; c < work.cells.size(); ++c) {
                const study::Cell& cell = work.cells[c];
                if (!cell.scored()) continue;
                const auto rank =
                    static_cast<std::size_t>(owner(w, e, static_cast<std::size_t>(cell.finding)));
                held.found[rank] +=
                    std::ssize(cell.queries) * static_cast<std::int64_t>(sizeof(instruments::Discordance)) +
                    cell.positive_queries * std::ssize(cell.candidates);
                if (worlds > 0) held.found[rank] += worlds_memory(study, work.listed[c]);
                tallied_here[rank] += rules_of(work, cell) * of_tally;
            }
            for (const auto& [finding, rules] : findings) {
                sent[static_cast<std::size_t>(owner(w, e, static_cast<std::size_t>(finding)))] +=
                    rules * of_tally;
                gathered += rules * of_tally;
            }
        }
        for (std::size_t rank = 0; rank < count; ++rank)
            tallied[rank] = std::max(tallied[rank], tallied_here[rank]);
    }
    // What is sent is written to bytes that double where they grow. On rank 0 there are for a while its own,
    // those of all ranks, and the numbers.
    for (std::size_t rank = 0; rank < count; ++rank) held.counted[rank] = tallied[rank] + 2 * sent[rank];
    held.counted[0] = std::max(held.counted[0], 2 * sent[0] + 2 * gathered);
    add_lists(study, all_work, plan, owner, held);
    return held;
}

std::int64_t rules_of(const TaskWork& work, const study::Cell& cell) {
    return std::ranges::count_if(work.rules, [&](study::Rule rule) {
        return std::ranges::any_of(cell.candidates,
                                   [&](const study::Candidates& c) { return !c.unscored && c.rule == rule; });
    });
}

}  // namespace candor::campaign
