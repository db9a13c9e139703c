#include "candor/campaign/memory_budget.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "candor/base/error.hpp"
#include "candor/base/memory.hpp"
#include "candor/campaign/held_memory.hpp"
#include "candor/campaign/search_plan.hpp"

namespace candor::campaign {

namespace {

/// What the largest census cannot do without.
std::int64_t least_census(const SearchedWork& searched) {
    const study::Study& study = searched.study;
    std::int64_t least = 0;
    for (const TaskWork& work : searched.work) {
        std::map<std::int32_t, std::vector<neighbors::Question>> by_context;
        for (std::size_t c = 0; c < work.cells.size(); ++c) {
            if (!work.cells[c].scored()) continue;
            const auto asked = questions_of(work, c);
            auto& all = by_context[work.cells[c].context];
            all.insert(all.end(), asked.begin(), asked.end());
        }
        for (const FeatureReport& report : searched.audit.reports) {
            const auto uses = [&](std::size_t e) { return study.encoders[e].id == report.encoder; };
            if (std::ranges::none_of(study.tasks[work.task].encoders, uses)) continue;
            for (const auto& [context, questions] : by_context) {
                const auto rows = std::ssize(work.contexts[static_cast<std::size_t>(context)].rows);
                least =
                    std::max(least, neighbors::least_memory(rows, report.dimension, report.type == "float64",
                                                            questions, study.op.k, searched.options));
            }
        }
    }
    return least;
}

HeldMemory held_of(const SearchedWork& searched, int ranks) {
    const SearchPlan plan = plan_search(searched.study, searched.work,
                                        searched.audit.dimensions(searched.study), searched.options, ranks);
    return held_memory(searched.study, searched.work, plan, ranks);
}

}  // namespace

std::int64_t least_memory(const SearchedWork& searched, int ranks, std::int64_t later) {
    return held_of(searched, ranks).most(least_census(searched), later);
}

std::int64_t search_memory(const parallel::Communicator& world, const SearchedWork& searched,
                           std::int64_t budget) {
    const HeldMemory held = held_of(searched, world.size());
    const auto rank = static_cast<std::size_t>(world.rank());
    return std::max(budget - resident_bytes() - memory_beside_search - held.found[rank] - held.lists[rank],
                    least_census(searched));
}

void require_memory(std::int64_t budget, std::int64_t least) {
    const std::int64_t most = resident_bytes() + memory_beside_search + least;
    if (budget >= most) return;
    constexpr std::int64_t mib = std::int64_t{1} << 20;
    throw UsageError("--memory", std::to_string(budget) + " bytes are too few: this study takes about " +
                                     std::to_string((most + memory_margin) / mib) + "M a rank");
}

}  // namespace candor::campaign
