#include "candor/campaign/search_mpi.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "candor/base/bytes.hpp"
#include "candor/base/error.hpp"
#include "candor/campaign/encoder_features.hpp"
#include "candor/neighbors/census.hpp"

namespace candor::campaign {

namespace {

constexpr std::size_t sides = 2;

std::int8_t sign_of(double margin) {
    return margin > 0 ? 1 : margin == 0 ? 0 : -1;
}

/// A group's census and what it looks at.
struct GroupCensus {
    std::unique_ptr<neighbors::RowSource> rows;
    std::vector<neighbors::Question> questions;
    std::vector<std::size_t> asked;  // by cell of the group: how many of the questions
    neighbors::Census census;
};

class Search {
  public:
    Search(const study::Study& study, const std::vector<TaskWork>& work, const SearchPlan& plan,
           const OpenRows& open, const neighbors::SearchOptions& options, SearchCost& cost)
        : study_(study), work_(work), plan_(plan), open_(open), options_(options), cost_(cost) {}

    GroupCensus make(std::size_t group) const {
        const SearchGroup& here = plan_.groups[group];
        std::vector<neighbors::Question> questions;
        std::vector<std::size_t> asked;
        for (const std::size_t cell : here.cells) {
            const auto own = questions_of(work_[here.work].cells[cell]);
            asked.push_back(own.size());
            questions.insert(questions.end(), own.begin(), own.end());
        }
        auto rows = open_(here);
        neighbors::Census census(*rows, questions, study_.op.k, options_,
                                 places_of(work_[here.work], here.context));
        return {std::move(rows), std::move(questions), std::move(asked), std::move(census)};
    }

    /// Decides a panel and says what it found.
    void decide(std::size_t group, GroupCensus& here, std::int64_t panel,
                std::vector<FoundPart>& found) const {
        const std::vector<neighbors::Decided> decided = here.census.decide(panel);
        std::size_t next = 0;
        for (std::size_t c = 0; c < here.asked.size(); ++c) {
            const auto of_cell = std::span(decided).subspan(next, here.asked[c]);
            next += of_cell.size();
            if (!of_cell.front().query.empty())
                found.push_back(answer(plan_.groups[group], plan_.groups[group].cells[c], of_cell));
        }
    }

  private:
    FoundPart answer(const SearchGroup& group, std::size_t position,
                     std::span<const neighbors::Decided> decided) const {
        const study::Cell& cell = work_[group.work].cells[position];
        const std::size_t scored = decided.size() / sides;
        FoundPart part{decided.front().query, {group.work, group.encoder, position, {}, {}}};
        part.found.sign.resize(scored);
        // Positives come first among the queries, so the n-th of any rule is the n-th of the primary one.
        for (std::size_t c = 0; c < scored; ++c) {
            const neighbors::NeighborSets &negatives = decided[sides * c].nearest,
                                          &positives = decided[sides * c + 1].nearest;
            for (std::int64_t n = 0; n < std::ssize(decided[sides * c].query); ++n) {
                const instruments::Discordance one =
                    instruments::discordance(positives.of(n), negatives.of(n));
                if (c == 0) part.found.primary.push_back(one);
                if (part.query[static_cast<std::size_t>(n)] < cell.positive_queries)
                    part.found.sign[c].push_back(sign_of(one.margin()));
            }
        }
        for (const neighbors::Decided& one : decided) {
            cost_.searches += std::ssize(one.query);
            cost_.kept += one.nearest.kept;
            cost_.kept_max = std::max(cost_.kept_max, one.nearest.kept_max);
        }
        return part;
    }

    const study::Study& study_;
    const std::vector<TaskWork>& work_;
    const SearchPlan& plan_;
    const OpenRows& open_;
    neighbors::SearchOptions options_;
    SearchCost& cost_;
};

void put(ByteWriter& out, const FoundPart& part) {
    for (const std::size_t n : {part.found.work, part.found.encoder, part.found.cell}) out.put(n);
    out.put(std::span<const std::int64_t>(part.query));
    out.put(std::span<const instruments::Discordance>(part.found.primary));
    out.put(static_cast<std::int64_t>(part.found.sign.size()));
    for (const std::vector<std::int8_t>& signs : part.found.sign)
        out.put(std::span<const std::int8_t>(signs));
}

FoundPart get_part(ByteReader& in) {
    FoundPart part;
    for (std::size_t* n : {&part.found.work, &part.found.encoder, &part.found.cell})
        *n = in.get<std::size_t>();
    part.query = in.get_many<std::int64_t>();
    part.found.primary = in.get_many<instruments::Discordance>();
    part.found.sign.resize(static_cast<std::size_t>(in.get<std::int64_t>()));
    for (std::vector<std::int8_t>& signs : part.found.sign) signs = in.get_many<std::int8_t>();
    return part;
}

/// A cell while its parts come in.
struct Gathering {
    Found found;
    std::int64_t queries = 0;  // so far
};

void add(const TaskWork& work, const FoundPart& part, Gathering& to) {
    const study::Cell& cell = work.cells[part.found.cell];
    Found& found = to.found;
    if (to.queries == 0) {
        found = {part.found.work, part.found.encoder, part.found.cell, {}, {}};
        found.primary.resize(cell.queries.size());
        found.sign.assign(part.found.sign.size(),
                          std::vector<std::int8_t>(static_cast<std::size_t>(cell.positive_queries)));
    }
    for (std::size_t i = 0; i < part.query.size(); ++i) {
        const auto q = static_cast<std::size_t>(part.query[i]);
        found.primary[q] = part.found.primary[i];
        for (std::size_t c = 0; part.query[i] < cell.positive_queries && c < found.sign.size(); ++c)
            found.sign[c][q] = part.found.sign[c][i];
    }
    to.queries += std::ssize(part.query);
}

}  // namespace

std::vector<FoundPart> search_mpi(const parallel::Communicator& world, const study::Study& study,
                                  const std::vector<TaskWork>& work, const SearchPlan& plan,
                                  const OpenRows& open, const neighbors::SearchOptions& options,
                                  const Log& log, SearchCost& cost) {
    const Search search(study, work, plan, open, options, cost);
    double total = 0;
    std::map<std::size_t, std::vector<const SearchTask*>> mine;  // by group
    std::vector<bool> is_split(plan.groups.size());
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
        const std::size_t group = plan.tasks[t].group;
        is_split[group] = is_split[group] || plan.rank[t] != plan.owner[group].front();
        if (plan.rank[t] != world.rank()) continue;
        mine[group].push_back(&plan.tasks[t]);
        total += plan.tasks[t].flops;
    }
    Progress progress(log, "searching neighbours", total);

    std::vector<FoundPart> found;
    std::vector<ByteWriter> outgoing(static_cast<std::size_t>(world.size()));
    std::map<std::size_t, GroupCensus> open_groups;  // split ones, to be decided
    for (const auto& [group, tasks] : mine) {
        GroupCensus here = search.make(group);
        for (std::size_t t = 0; t < tasks.size(); ++t) {
            const neighbors::Encounter& one = tasks[t]->encounter;
            here.census.meet(one.i, one.j, t + 1 < tasks.size() ? tasks[t + 1]->encounter.j : -1);
            progress.advance(tasks[t]->flops);
        }
        const std::vector<int>& owner = plan.owner[group];
        if (!is_split[group]) {
            for (std::int64_t panel = 0; panel < here.census.panels(); ++panel)
                search.decide(group, here, panel, found);
            continue;
        }
        for (std::int64_t panel = 0; panel < std::ssize(owner); ++panel) {
            const int to = owner[static_cast<std::size_t>(panel)];
            const std::string kept = here.census.kept(panel);
            if (kept.empty()) continue;
            ByteWriter& out = outgoing[static_cast<std::size_t>(to)];
            out.put(group);
            out.put(panel);
            out.put(kept);
        }
        // The rows of the last one stay for its decisions, those of others are read again.
        open_groups.clear();
        open_groups.emplace(group, std::move(here));
    }

    std::vector<std::string> bytes;
    for (ByteWriter& out : outgoing) bytes.push_back(out.take());
    std::map<std::size_t, std::map<std::int64_t, std::vector<std::string>>> kept;  // by group and panel
    for (const std::string& from : world.exchange(bytes)) {
        ByteReader in(from);
        while (!in.done()) {
            const auto group = in.get<std::size_t>();
            const auto panel = in.get<std::int64_t>();
            kept[group][panel].push_back(in.get_text());
        }
    }
    for (const auto& [group, panels] : kept) {
        const auto standing = open_groups.find(group);
        GroupCensus here = standing == open_groups.end() ? search.make(group) : std::move(standing->second);
        for (const auto& [panel, from_ranks] : panels) {
            for (const std::string& one : from_ranks) here.census.add(panel, one);
            search.decide(group, here, panel, found);
        }
        if (standing != open_groups.end()) open_groups.erase(standing);
    }
    return found;
}

OpenRows from_files(const Inputs& inputs, const std::vector<TaskWork>& work) {
    // Open files are shared by the groups of an encoder that follow each other.
    auto features = std::make_shared<std::shared_ptr<EncoderFeatures>>();
    return [&inputs, &work, features](const SearchGroup& group) -> std::unique_ptr<neighbors::RowSource> {
        const TaskWork& here = work[group.work];
        const std::size_t encoder = inputs.study.tasks[here.task].encoders[group.encoder];
        if (*features == nullptr || (*features)->encoder() != encoder)
            *features = std::make_shared<EncoderFeatures>(inputs, encoder);
        return std::make_unique<ContextRows>(*features, here.pool,
                                             here.contexts[static_cast<std::size_t>(group.context)].rows);
    };
}

std::vector<Found> deliver_mpi(const parallel::Communicator& world, const std::vector<TaskWork>& work,
                               const std::vector<FoundPart>& parts,
                               const std::function<int(std::size_t, std::size_t, std::size_t)>& owner) {
    std::vector<ByteWriter> outgoing(static_cast<std::size_t>(world.size()));
    for (const FoundPart& part : parts) {
        const auto finding = static_cast<std::size_t>(work[part.found.work].cells[part.found.cell].finding);
        put(outgoing[static_cast<std::size_t>(owner(part.found.work, part.found.encoder, finding))], part);
    }
    std::vector<std::string> bytes;
    for (ByteWriter& out : outgoing) bytes.push_back(out.take());
    std::map<std::tuple<std::size_t, std::size_t, std::size_t>, Gathering> cells;
    for (const std::string& from : world.exchange(bytes)) {
        ByteReader in(from);
        while (!in.done()) {
            const FoundPart part = get_part(in);
            add(work[part.found.work], part, cells[{part.found.work, part.found.encoder, part.found.cell}]);
        }
    }
    std::vector<Found> owned;
    for (auto& [key, gathered] : cells) {
        CANDOR_REQUIRE(gathered.queries == std::ssize(gathered.found.primary),
                       "cell " + std::to_string(std::get<2>(key)) + " has answers for " +
                           std::to_string(gathered.queries) + " of " +
                           std::to_string(gathered.found.primary.size()) + " queries");
        owned.push_back(std::move(gathered.found));
    }
    return owned;
}

}  // namespace candor::campaign
