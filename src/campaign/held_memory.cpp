#include "candor/campaign/held_memory.hpp"

#include <algorithm>
#include <map>

#include "candor/campaign/inference_mpi.hpp"
#include "candor/instruments/discordance.hpp"
#include "candor/instruments/tally.hpp"

namespace candor::campaign {

std::int64_t HeldMemory::most(std::int64_t search, std::int64_t heads) const {
    std::int64_t most = 0;
    for (std::size_t rank = 0; rank < found.size(); ++rank)
        most = std::max(most, found[rank] + std::max({search, counted[rank], heads}));
    return most;
}

HeldMemory held_memory(const study::Study& study, const std::vector<TaskWork>& all_work, int ranks) {
    const auto count = static_cast<std::size_t>(ranks);
    HeldMemory held{std::vector<std::int64_t>(count), std::vector<std::int64_t>(count)};
    // Tallies of a rank: of the cells of the task that has most of them, and of all findings.
    std::vector<std::int64_t> tallied(count), sent(count);
    const auto owner = counting_owners(study, all_work, ranks);
    std::int64_t gathered = 0;
    for (std::size_t w = 0; w < all_work.size(); ++w) {
        const TaskWork& work = all_work[w];
        const std::int64_t of_tally =
            study.bootstrap.resamples * static_cast<std::int64_t>(sizeof(instruments::Counts));
        std::map<std::int32_t, std::int64_t> findings;  // rules that score some cell of each
        for (const study::Cell& cell : work.cells) {
            if (!cell.scored() || cell.pooled_reference) continue;
            findings[cell.finding] = std::max(findings[cell.finding], rules_of(work, cell));
        }
        std::vector<std::int64_t> tallied_here(count);
        for (std::size_t e = 0; e < study.tasks[work.task].encoders.size(); ++e) {
            for (const study::Cell& cell : work.cells) {
                if (!cell.scored()) continue;
                const auto rank =
                    static_cast<std::size_t>(owner(w, e, static_cast<std::size_t>(cell.finding)));
                held.found[rank] +=
                    std::ssize(cell.queries) * static_cast<std::int64_t>(sizeof(instruments::Discordance)) +
                    cell.positive_queries * std::ssize(cell.candidates);
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
    return held;
}

std::int64_t rules_of(const TaskWork& work, const study::Cell& cell) {
    return std::ranges::count_if(work.rules, [&](study::Rule rule) {
        return std::ranges::any_of(cell.candidates,
                                   [&](const study::Candidates& c) { return !c.unscored && c.rule == rule; });
    });
}

}  // namespace candor::campaign
