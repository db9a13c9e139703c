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
#include "candor/campaign/permute.hpp"
#include "candor/neighbors/census.hpp"

namespace candor::campaign {

namespace {

constexpr std::size_t sides = 2;

std::int8_t sign_of(double margin) {
    return margin > 0 ? 1 : margin == 0 ? 0 : -1;
}

/// Moves the lists of a part to those of its whole cell.
void take_lists(const TaskWork& work, FoundPart& part, Found& to) {
    if (part.found.near.empty() && part.found.sides.empty()) return;
    const ListedCell& listed = work.listed[part.found.cell];
    to.near.resize(static_cast<std::size_t>(listed.participants.size()));
    to.sides.resize(listed.query.size());
    for (std::size_t i = 0; i < part.participant.size(); ++i)
        to.near[static_cast<std::size_t>(part.participant[i])] = std::move(part.found.near[i]);
    for (std::size_t i = 0; i < part.found.sides.size(); ++i)
        to.sides[static_cast<std::size_t>(part.query[i])] = std::move(part.found.sides[i]);
    part.participant = {};
    part.found.near = {};
    part.found.sides = {};
}

void take_primary(const FoundPart& part, Found& to) {
    for (std::size_t i = 0; i < part.query.size(); ++i)
        to.primary[static_cast<std::size_t>(part.query[i])] = part.found.primary[i];
}

/// A group's census and what it looks at.
struct GroupCensus {
    std::unique_ptr<neighbors::RowSource> rows;
    std::vector<neighbors::Question> questions;
    std::vector<std::size_t> asked;  // by cell of the group: how many of the questions
    neighbors::Census census;
};

class Searcher {
  public:
    Searcher(const study::Study& study, const std::vector<TaskWork>& work, const SearchPlan& plan,
             const OpenRows& open, const neighbors::SearchOptions& options)
        : study_(study), work_(work), plan_(plan), open_(open), options_(options) {}

    GroupCensus make(std::size_t group) const {
        const SearchGroup& here = plan_.groups[group];
        std::vector<neighbors::Question> questions;
        std::vector<std::size_t> asked;
        for (const std::size_t cell : here.cells) {
            const auto own = questions_of(work_[here.work], cell);
            asked.push_back(own.size());
            questions.insert(questions.end(), own.begin(), own.end());
        }
        auto rows = open_(here);
        neighbors::Census census(*rows, questions, study_.op.k, options_,
                                 places_of(work_[here.work], here.context));
        return {std::move(rows), std::move(questions), std::move(asked), std::move(census)};
    }

    /// Permutes the cells of a group of which `answers` are all there is, and gives their lists up.
    /// @returns false where it was asked to stop before it had done so.
    bool permute(std::size_t group, const GroupCensus& here, std::span<Answer> answers,
                 parallel::StopRequest& stop) const {
        const SearchGroup& of = plan_.groups[group];
        const TaskWork& work = work_[of.work];
        for (const std::size_t cell : of.cells) {
            if (work.listed.empty() || !work.listed[cell].has_lists()) continue;
            if (stop.requested()) return false;
            Found whole{of.work, of.encoder, cell, {}, {}, {}, {}, {}};
            whole.primary.resize(work.cells[cell].queries.size());
            FoundPart* first = nullptr;
            for (Answer& answer : answers) {
                for (FoundPart& part : answer.found) {
                    if (part.found.cell != cell) continue;
                    if (first == nullptr) first = &part;
                    take_primary(part, whole);
                    take_lists(work, part, whole);
                }
            }
            permute_cell(study_, work, whole, *here.rows, options_.threads);
            first->found.worlds = std::move(whole.worlds);
        }
        return true;
    }

    /// Decides a panel.
    Answer decide(std::size_t group, GroupCensus& here, std::int64_t panel, SearchCost& cost) const {
        Answer out{panel, {}};
        const std::vector<neighbors::Decided> decided = here.census.decide(panel);
        std::size_t next = 0;
        for (std::size_t c = 0; c < here.asked.size(); ++c) {
            const auto of_cell = std::span(decided).subspan(next, here.asked[c]);
            next += of_cell.size();
            const auto asks = [](const neighbors::Decided& one) { return !one.query.empty(); };
            if (std::ranges::any_of(of_cell, asks))
                out.found.push_back(answer(plan_.groups[group], plan_.groups[group].cells[c], of_cell, cost));
        }
        return out;
    }

  private:
    FoundPart answer(const SearchGroup& group, std::size_t position,
                     std::span<const neighbors::Decided> decided, SearchCost& cost) const {
        const study::Cell& cell = work_[group.work].cells[position];
        const TaskWork& work = work_[group.work];
        FoundPart part;
        part.query = decided.front().query;
        part.found.work = group.work;
        part.found.encoder = group.encoder;
        part.found.cell = position;
        const bool listed = !work.listed.empty() && work.listed[position].has_lists();
        if (listed) {
            // The lists are asked for last, and are no searches of the method's own: they count in no cost.
            const neighbors::Decided& lists = decided.back();
            part.participant = lists.query;
            for (std::int64_t n = 0; n < std::ssize(lists.query); ++n)
                part.found.near.push_back(near_list(lists.nearest.of(n), work.listed[position]));
            decided = decided.first(decided.size() - 1);
        }
        const std::size_t scored = decided.size() / sides;
        part.found.sign.resize(scored);
        // Positives come first among the queries, so the n-th of any rule is the n-th of the primary one.
        for (std::size_t c = 0; c < scored; ++c) {
            const neighbors::NeighborSets &negatives = decided[sides * c].nearest,
                                          &positives = decided[sides * c + 1].nearest;
            for (std::int64_t n = 0; n < std::ssize(decided[sides * c].query); ++n) {
                const auto k = static_cast<std::size_t>(study_.op.k);
                const instruments::Discordance one =
                    instruments::discordance(positives.of(n).first(k), negatives.of(n).first(k));
                if (c == 0 && listed)
                    part.found.sides.push_back(sides_list(negatives.of(n), positives.of(n),
                                                          work.listed[position].sides_whole,
                                                          work.listed[position]));
                if (c == 0) part.found.primary.push_back(one);
                if (part.query[static_cast<std::size_t>(n)] < cell.positive_queries)
                    part.found.sign[c].push_back(sign_of(one.margin()));
            }
        }
        for (const neighbors::Decided& one : decided) {
            cost += {std::ssize(one.query), one.nearest.kept, one.nearest.kept_max};
        }
        return part;
    }

    const study::Study& study_;
    const std::vector<TaskWork>& work_;
    const SearchPlan& plan_;
    const OpenRows& open_;
    neighbors::SearchOptions options_;
};

/// A cell while its parts come in.
struct Gathering {
    Found found;
    std::int64_t parts = 0, queries = 0, lists = 0;  // so far
};

void add(const TaskWork& work, FoundPart part, Gathering& to) {
    const study::Cell& cell = work.cells[part.found.cell];
    Found& found = to.found;
    if (to.parts++ == 0) {
        found.work = part.found.work;
        found.encoder = part.found.encoder;
        found.cell = part.found.cell;
        found.primary.resize(cell.queries.size());
    }
    if (found.sign.empty())
        found.sign.assign(part.found.sign.size(),
                          std::vector<std::int8_t>(static_cast<std::size_t>(cell.positive_queries)));
    take_primary(part, found);
    for (std::size_t i = 0; i < part.query.size(); ++i) {
        for (std::size_t c = 0; part.query[i] < cell.positive_queries && c < found.sign.size(); ++c)
            found.sign[c][static_cast<std::size_t>(part.query[i])] = part.found.sign[c][i];
    }
    to.queries += std::ssize(part.query);
    to.lists += std::ssize(part.participant);
    if (part.found.worlds.present()) found.worlds = std::move(part.found.worlds);
    take_lists(work, part, found);
}

std::vector<neighbors::Encounter> encounters_of(std::span<const SearchTask* const> tasks) {
    std::vector<neighbors::Encounter> encounters;
    for (const SearchTask* task : tasks) encounters.push_back(task->encounter);
    return encounters;
}

/// Lets panels of a group meet. @returns whether all have; otherwise the journal has what they kept so far.
bool meet(std::size_t group, GroupCensus& here, std::span<const SearchTask* const> tasks,
          const SearchWatch& watch, Progress& progress) {
    for (std::size_t t = 0;; ++t) {
        const bool stops = watch.stop.requested();
        if (stops || watch.journal.is_due()) {
            watch.journal.checkpoint(watch.search, group, encounters_of(tasks.first(t)),
                                     [&](std::int64_t panel) { return here.census.copy_of_kept(panel); });
        }
        if (stops) return false;
        if (t == tasks.size()) return true;
        const neighbors::Encounter& one = tasks[t]->encounter;
        here.census.meet(one.i, one.j, t + 1 < tasks.size() ? tasks[t + 1]->encounter.j : -1);
        progress.advance(tasks[t]->flops);
    }
}

/// Bytes that a rank sends at once, but for what a single part has more.
constexpr std::int64_t sent_at_once = std::int64_t{4} << 20;

/// Sends much a little at a time, so that it is never there twice. `put(outgoing)` writes the next of what
/// there is to the messages, by rank, and returns its bytes; `take(from, in)` reads what a rank sent.
/// Collective.
template <class More, class Put, class Take>
void exchange_in_rounds(const parallel::Communicator& world, More more, Put put, Take take) {
    for (bool all_sent = false; !all_sent;) {
        std::vector<ByteWriter> outgoing(static_cast<std::size_t>(world.size()));
        for (std::int64_t sent = 0; more() && sent < sent_at_once;) sent += put(outgoing);
        std::vector<std::string> bytes;
        for (ByteWriter& out : outgoing) bytes.push_back(out.take());
        const std::vector<std::string> incoming = world.exchange(bytes);
        for (std::size_t from = 0; from < incoming.size(); ++from) {
            ByteReader in(incoming[from]);
            while (!in.done()) take(from, in);
        }
        std::int64_t left[] = {static_cast<std::int64_t>(more())};
        world.sum(left);
        all_sent = left[0] == 0;
    }
}

/// Brings what panels have kept to the ranks that decide them, a little at a time. @returns what came here,
/// by group and panel.
std::map<std::size_t, std::map<std::int64_t, std::vector<std::string>>> send_to_owners(
    const parallel::Communicator& world, const SearchPlan& plan, const SearchDone& done,
    std::vector<KeptPart> parts) {
    std::map<std::size_t, std::map<std::int64_t, std::vector<std::string>>> kept;
    std::size_t next = 0;
    std::ptrdiff_t first = 0;  // of the next part's bytes
    std::vector<std::string> coming(static_cast<std::size_t>(world.size()));
    exchange_in_rounds(
        world, [&] { return next < parts.size(); },
        [&](std::vector<ByteWriter>& outgoing) -> std::int64_t {
            KeptPart& part = parts[next];
            std::int64_t piece = 0;
            if (!plan.owner[part.group].empty() && !done.answered.contains({part.group, part.panel})) {
                const int to = plan.owner[part.group][static_cast<std::size_t>(part.panel)];
                if (to == world.rank()) {
                    kept[part.group][part.panel].push_back(std::move(part.bytes));
                } else {
                    piece = std::min<std::int64_t>(sent_at_once, std::ssize(part.bytes) - first);
                    ByteWriter& out = outgoing[static_cast<std::size_t>(to)];
                    out.put(part.group);
                    out.put(part.panel);
                    out.put(std::ssize(part.bytes));
                    out.put(
                        std::span<const char>(part.bytes.data() + first, static_cast<std::size_t>(piece)));
                    first += piece;
                    if (first < std::ssize(part.bytes)) return piece;
                }
            }
            part = {};
            first = 0;
            ++next;
            return piece;
        },
        [&](std::size_t from, ByteReader& in) {
            const auto group = in.get<std::size_t>();
            const auto panel = in.get<std::int64_t>();
            const auto size = static_cast<std::size_t>(in.get<std::ptrdiff_t>());
            std::string& bytes = coming[from];
            bytes.reserve(size);
            bytes += in.get_text();
            if (bytes.size() == size) kept[group][panel].push_back(std::exchange(bytes, {}));
        });
    return kept;
}

}  // namespace

std::vector<FoundPart> search_mpi(const parallel::Communicator& world, const study::Study& study,
                                  const std::vector<TaskWork>& work, const SearchPlan& plan, Earlier earlier,
                                  const OpenRows& open, const neighbors::SearchOptions& options,
                                  const SearchWatch& watch, SearchCost& cost) {
    const Searcher searcher(study, work, plan, open, options);
    std::map<std::size_t, std::vector<const SearchTask*>> mine;  // by group
    double total = 0;
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
        if (plan.rank[t] != world.rank()) continue;
        mine[plan.tasks[t].group].push_back(&plan.tasks[t]);
        total += plan.tasks[t].flops;
    }
    Progress progress(watch.log, "searching neighbours", total);
    const std::vector<bool> shared = shared_groups(plan, earlier.done);

    std::vector<FoundPart> found = std::move(earlier.found);
    cost += earlier.cost;
    const auto keep = [&](std::size_t group, std::span<Answer> answers, const SearchCost& of_them) {
        watch.journal.answered(watch.search, group, answers, of_them);
        cost += of_them;
        for (Answer& answer : answers) std::ranges::move(answer.found, std::back_inserter(found));
    };
    std::vector<KeptPart> to_owners = std::move(earlier.kept);
    std::map<std::size_t, GroupCensus> open_groups;  // shared ones, to be decided
    for (auto at = mine.begin(); at != mine.end() && !watch.stop.requested(); ++at) {
        const auto& [group, tasks] = *at;
        open_groups
            .clear();  // the rows of the last one stay for its decisions, those of others are read again
        GroupCensus here = searcher.make(group);
        if (!meet(group, here, tasks, watch, progress)) break;
        if (!shared[group]) {
            std::vector<Answer> answers;
            SearchCost of_them;
            for (std::int64_t panel = 0; panel < here.census.panels() && !watch.stop.requested(); ++panel)
                answers.push_back(searcher.decide(group, here, panel, of_them));
            if (std::ssize(answers) < here.census.panels()) break;
            if (!searcher.permute(group, here, answers, watch.stop)) break;
            keep(group, answers, of_them);
            continue;
        }
        std::vector<KeptPart> kept;
        for (std::int64_t panel = 0; panel < here.census.panels(); ++panel) {
            std::string bytes = here.census.kept(panel);
            if (!bytes.empty()) kept.push_back({group, panel, std::move(bytes)});
        }
        watch.journal.kept(watch.search, group, encounters_of(tasks), kept);
        std::ranges::move(kept, std::back_inserter(to_owners));
        open_groups.emplace(group, std::move(here));
    }
    watch.stop.rendezvous();

    auto kept = send_to_owners(world, plan, earlier.done, std::move(to_owners));
    for (auto at = kept.begin(); at != kept.end() && !watch.stop.requested(); ++at) {
        const std::size_t group = at->first;
        const auto standing = open_groups.find(group);
        GroupCensus here = standing == open_groups.end() ? searcher.make(group) : std::move(standing->second);
        for (auto& [panel, from_ranks] : at->second) {
            if (watch.stop.requested()) break;
            for (std::string& one : from_ranks) here.census.add(panel, std::exchange(one, {}));
            SearchCost of_it;
            Answer answer = searcher.decide(group, here, panel, of_it);
            keep(group, {&answer, 1}, of_it);
        }
        if (standing != open_groups.end()) open_groups.erase(standing);
    }
    watch.stop.rendezvous();
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

namespace {

/// About the bytes of a part in a message.
std::int64_t size_of(const FoundPart& part) {
    std::int64_t size = 256 + std::ssize(part.query) * (8 + static_cast<std::int64_t>(sizeof(double)) * 3) +
                        std::ssize(part.participant) * 8 + std::ssize(part.found.worlds.blind) * 8;
    for (const auto* lists : {&part.found.near, &part.found.sides}) {
        for (const instruments::NearList& list : *lists) size += 17 + 12 * std::ssize(list.row);
    }
    return size;
}

}  // namespace

std::vector<Found> deliver_mpi(const parallel::Communicator& world, const std::vector<TaskWork>& work,
                               std::vector<FoundPart> parts,
                               const std::function<int(std::size_t, std::size_t, std::size_t)>& owner) {
    std::map<std::tuple<std::size_t, std::size_t, std::size_t>, Gathering> cells;
    const auto take = [&](FoundPart part) {
        Gathering& cell = cells[{part.found.work, part.found.encoder, part.found.cell}];
        add(work[part.found.work], std::move(part), cell);
    };
    std::size_t next = 0;
    exchange_in_rounds(
        world, [&] { return next < parts.size(); },
        [&](std::vector<ByteWriter>& outgoing) -> std::int64_t {
            FoundPart part = std::exchange(parts[next++], {});
            const auto finding =
                static_cast<std::size_t>(work[part.found.work].cells[part.found.cell].finding);
            const int to = owner(part.found.work, part.found.encoder, finding);
            if (to == world.rank()) {
                take(std::move(part));
                return 0;
            }
            put(outgoing[static_cast<std::size_t>(to)], part);
            return size_of(part);
        },
        [&](std::size_t, ByteReader& in) { take(get_found_part(in)); });
    std::vector<Found> owned;
    for (auto& [key, gathered] : cells) {
        const Found& found = gathered.found;
        const TaskWork& here = work[found.work];
        CANDOR_REQUIRE(gathered.queries == std::ssize(found.primary),
                       "cell " + std::to_string(found.cell) + " has answers for " +
                           std::to_string(gathered.queries) + " of " + std::to_string(found.primary.size()) +
                           " queries");
        const std::int64_t lists =
            here.listed.empty() || found.worlds.present() ? 0 : here.listed[found.cell].participants.size();
        CANDOR_REQUIRE(gathered.lists == lists, "cell " + std::to_string(found.cell) + " has " +
                                                    std::to_string(gathered.lists) + " of " +
                                                    std::to_string(lists) + " lists");
        owned.push_back(std::move(gathered.found));
    }
    return owned;
}

}  // namespace candor::campaign
