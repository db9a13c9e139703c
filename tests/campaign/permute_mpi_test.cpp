// What a cell's worlds say, whoever searched it: the same as from the whole matrix of cosines.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "candor/campaign/held_memory.hpp"
#include "candor/campaign/inference_mpi.hpp"
#include "candor/campaign/permute.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/parallel/communicator.hpp"
#include "definition.hpp"
#include "made_study.hpp"

using namespace candor;
using namespace candor::testing;
using campaign::CellWorlds;
using campaign::Found;
using campaign::TaskWork;
using instruments::Counts;
using instruments::NearList;

namespace {

parallel::Communicator world() {
    return parallel::Communicator::world();
}

const Log silent(Verbosity::quiet, false);

/// All other participants of each, straight from the cosines.
std::vector<NearList> whole_lists(const campaign::ListedCell& listed, const neighbors::RowSet& rows) {
    std::vector<NearList> lists;
    for (const ContextRow x : listed.rows) {
        std::vector<std::pair<double, std::int32_t>> all;
        for (std::size_t y = 0; y < listed.rows.size(); ++y) {
            if (listed.rows[y] != x)
                all.emplace_back(-rows.cosine(x, listed.rows[y]), static_cast<std::int32_t>(y));
        }
        std::ranges::sort(all);
        NearList& list = lists.emplace_back();
        for (const auto& [minus, y] : all) {
            list.row.push_back(y);
            list.cosine.push_back(-minus);
        }
        list.whole = true;
    }
    return lists;
}

CellWorlds by_definition(const study::Study& study, const TaskWork& work, std::size_t encoder,
                         std::size_t cell) {
    const campaign::ListedCell& listed = work.listed[cell];
    const study::Task& task = study.tasks[work.task];
    const auto context = static_cast<std::size_t>(work.cells[cell].context);
    const auto lists = whole_lists(listed, made_rows(work, task.encoders[encoder], context));
    const auto count = [&](const std::vector<instruments::RowWorlds>& roles, std::int64_t worlds,
                           bool blind) {
        return instruments::count_worlds(lists, roles, listed.participants.unit(), study.op.k,
                                         static_cast<int>(worlds), true,
                                         blind ? listed.participants.positives() : 0);
    };
    CellWorlds worlds;
    worlds.observed = count(listed.participants.observed(), 1, false).counts.front();
    const std::string name = campaign::permutation_name(task, work.contexts[context], work.cells[cell]);
    for (std::int64_t first = 0; first < study.test.permutations; first += 64) {
        const std::int64_t here = std::min<std::int64_t>(64, study.test.permutations - first);
        const auto counted = count(listed.participants.permuted(study.seed, name, first, here), here, true);
        worlds.permuted.insert(worlds.permuted.end(), counted.counts.begin(), counted.counts.end());
        worlds.blind.insert(worlds.blind.end(), counted.blind.begin(), counted.blind.end());
    }
    for (std::int64_t first = 0; first < instruments::wide_draws; first += 64) {
        const std::int64_t here = std::min<std::int64_t>(64, instruments::wide_draws - first);
        const auto drawn = instruments::draw_patients(study.seed, task.id, std::ssize(work.pool.patients),
                                                      instruments::wide_share, first, here);
        const auto counted = count(listed.participants.subsampled(drawn), here, false);
        worlds.subsampled.insert(worlds.subsampled.end(), counted.counts.begin(), counted.counts.end());
    }
    return worlds;
}

bool same(const Counts& a, const Counts& b) {
    return a.discordant == b.discordant && a.ties == b.ties && a.queries == b.queries &&
           a.twice_wins == b.twice_wins && a.pairs == b.pairs;
}

bool same(const CellWorlds& a, const CellWorlds& b) {
    const auto alike = [](const Counts& x, const Counts& y) { return same(x, y); };
    return same(a.observed, b.observed) && std::ranges::equal(a.permuted, b.permuted, alike) &&
           std::ranges::equal(a.subsampled, b.subsampled, alike) && a.blind == b.blind;
}

/// The cells of this rank after a search; `shared`: panels of one group on all ranks where that can be.
std::vector<Found> permuted(const campaign::Inputs& inputs, const std::vector<TaskWork>& work,
                            std::int64_t block, bool shared) {
    linalg::open_blas();
    neighbors::SearchOptions options;
    options.block_rows = block;
    options.panel_rows = block;
    options.threads = 1;
    campaign::SearchPlan plan =
        campaign::plan_search(inputs.study, work, made_dimensions, options, world().size());
    if (shared) {
        for (std::size_t t = 0; t < plan.tasks.size(); ++t)
            plan.rank[t] = static_cast<int>(t % static_cast<std::size_t>(world().size()));
        for (std::size_t g = 0; g < plan.groups.size(); ++g) {
            for (std::size_t p = 0; p < plan.owner[g].size(); ++p)
                plan.owner[g][p] = static_cast<int>((g + p) % static_cast<std::size_t>(world().size()));
        }
    }
    campaign::SearchCost cost;
    auto parts =
        search_all_mpi(world(), inputs.study, work, plan, open_made(inputs.study, work), options, cost);
    if (world().size() == 1) {
        // What one rank searched was permuted there; its parts go through a journal as they are.
        for (campaign::FoundPart& part : parts) {
            BOOST_TEST(part.found.near.empty());
            ByteWriter out;
            put(out, part);
            const std::string bytes = out.take();
            ByteReader in(bytes);
            part = campaign::get_found_part(in);
            BOOST_TEST(in.done());
        }
    }
    const auto owners = campaign::counting_owners(inputs.study, work, world().size());
    auto owned = campaign::deliver_mpi(world(), work, cut(parts, 7), owners);
    parallel::StopRequest never;
    campaign::permute(inputs.study, work, owned, open_made(inputs.study, work), 1, never, silent);
    return owned;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(campaign_permute)

BOOST_AUTO_TEST_CASE(worlds_are_those_of_the_whole_matrix) {
    for (const char* rule : {"operator.candidates=\"equal\"", "operator.candidates=\"distinct\""}) {
        const campaign::Inputs inputs =
            made_inputs("made.toml", {rule, "operator.also=[]", "test.permutations=70"});
        const std::vector<TaskWork> work = made_work(inputs);
        for (const std::int64_t block : {1000, 16}) {
            for (const bool shared : {false, true}) {
                std::int64_t checked = 0;
                for (const Found& found : permuted(inputs, work, block, shared)) {
                    BOOST_TEST(found.near.empty());
                    BOOST_TEST(found.sides.empty());
                    BOOST_TEST(found.worlds.permuted.size() == 70u);
                    BOOST_TEST(same(found.worlds, by_definition(inputs.study, work[found.work], found.encoder,
                                                                found.cell)));
                    ++checked;
                }
                std::int64_t all[] = {checked};
                world().sum(all);
                BOOST_TEST(all[0] > 10);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(no_lists_without_permutations) {
    const campaign::Inputs inputs = made_inputs("made.toml", {"test.permutations=0"});
    const std::vector<TaskWork> work = made_work(inputs);
    for (const TaskWork& one : work) BOOST_TEST(one.listed.empty());
    for (const Found& found : permuted(inputs, work, 16, true)) BOOST_TEST(!found.worlds.present());
}

BOOST_AUTO_TEST_CASE(what_is_held_covers_what_there_is) {
    const campaign::Inputs inputs = made_inputs();
    const std::vector<TaskWork> work = made_work(inputs);
    for (const TaskWork& one : work) {
        for (std::size_t c = 0; c < one.cells.size(); ++c) {
            const campaign::ListedCell& listed = one.listed[c];
            if (!listed.has_lists()) {
                BOOST_TEST(campaign::lists_memory(listed) == 0);
                continue;
            }
            const CellWorlds worlds = by_definition(inputs.study, one, 0, c);
            const auto bytes = (worlds.permuted.size() + worlds.subsampled.size()) * sizeof(Counts) +
                               worlds.blind.size() * sizeof(std::uint64_t);
            BOOST_TEST(campaign::worlds_memory(inputs.study, listed) == static_cast<std::int64_t>(bytes));
            BOOST_TEST(campaign::lists_memory(listed) > 12 * listed.participants.size() * listed.length);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
