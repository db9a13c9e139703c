#include "candor/campaign/search_mpi.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "candor/campaign/encoder_features.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/feature_file.hpp"
#include "definition.hpp"
#include "made_study.hpp"
#include "store/temporary.hpp"

using namespace candor;
using namespace candor::testing;
using campaign::Found;
using campaign::SearchItem;
using campaign::TaskWork;

namespace {

parallel::Communicator world() {
    return parallel::Communicator::world();
}

/// Two where ranks are few: idle threads spin, and many ranks' of them would take the machine from those at
/// work.
int threads() {
    return world().size() <= 2 ? 2 : 1;
}

const Log silent(Verbosity::quiet, false);

/// The same cells cut into items of at most `most` queries.
std::vector<SearchItem> cut(const std::vector<SearchItem>& items, std::int64_t most) {
    std::vector<SearchItem> out;
    for (const SearchItem& item : items) {
        for (std::int64_t first = 0; first < item.count; first += most) {
            SearchItem part = item;
            part.first = item.first + first;
            part.count = std::min(most, item.count - first);
            out.push_back(part);
        }
    }
    return out;
}

std::size_t encoder_of(const campaign::Inputs& inputs, const std::vector<TaskWork>& work,
                       const SearchItem& item) {
    return inputs.study.tasks[work[item.work].task].encoders[item.encoder];
}

neighbors::RowSet rows_of(const campaign::Inputs& inputs, const std::vector<TaskWork>& work,
                          const SearchItem& item) {
    const auto context = static_cast<std::size_t>(work[item.work].cells[item.cell].context);
    return made_rows(work[item.work], encoder_of(inputs, work, item), context);
}

/// Every rank's finds that `owner` gave to this rank, by definition.
std::vector<Found> expected_here(const campaign::Inputs& inputs, const std::vector<TaskWork>& work,
                                 std::vector<SearchItem> items,
                                 const std::function<int(std::size_t, std::size_t, std::size_t)>& owner) {
    std::ranges::sort(items, {},
                      [](const SearchItem& i) { return std::tuple(i.work, i.encoder, i.cell, i.first); });
    std::vector<Found> out;
    for (const SearchItem& item : items) {
        const auto finding = static_cast<std::size_t>(work[item.work].cells[item.cell].finding);
        if (owner(item.work, item.encoder, finding) != world().rank()) continue;
        out.push_back(found_by_definition(inputs.study, work[item.work], item, rows_of(inputs, work, item)));
    }
    return out;
}

/// Writes the features of each encoder and dataset: rows in an order of their own, one file as doubles, ids
/// that no table knows in between.
void write_features(const TemporaryDirectory& directory, const campaign::Inputs& inputs) {
    for (std::size_t e = 0; e < inputs.study.encoders.size(); ++e) {
        for (std::size_t d = 0; d < inputs.tables.size(); ++d) {
            store::FeatureTable table;
            table.type = e == 2 && d == 1 ? store::ElementType::float64 : store::ElementType::float32;
            table.ids = inputs.tables[d].image;
            table.ids.push_back("unknown");
            std::ranges::reverse(table.ids);
            table.values = Matrix<double>(static_cast<std::int64_t>(table.ids.size()), made_dimensions[e]);
            for (std::size_t i = 0; i < table.ids.size(); ++i) {
                std::ranges::copy(made_features(e, table.ids[i]),
                                  table.values.row(static_cast<std::int64_t>(i)).begin());
            }
            const std::string name = inputs.study.encoders[e].id + "-" + inputs.study.datasets[d].id + ".h5";
            store::write_feature_file(directory.file(name), table, false);
        }
    }
}

/// How many pairs of finds differ, the longer list's rest included.
std::size_t differing(const std::vector<Found>& a, const std::vector<Found>& b) {
    std::size_t count = std::max(a.size(), b.size()) - std::min(a.size(), b.size());
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) count += !same(a[i], b[i]);
    return count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(campaign_search)

// Faults 5, through the cells of the study: positives a = (1,0), b = (1,0), c = (0,1), three negatives, k
// = 1.
BOOST_AUTO_TEST_CASE(a_query_with_a_duplicate_keeps_its_duplicate_and_d_is_one_third) {
    const study::Study study = study::parse_study(
        "f.toml",
        "[study]\nname = \"faults\"\n[operator]\nk = 1\ncandidates = \"literal\"\nnegative_queries = "
        "\"none\"\n"
        "[[encoder]]\nid = \"e\"\n[[dataset]]\nid = \"s\"\ntable = \"s.csv\"\nfeatures = \"{encoder}.h5\"\n"
        "[[task]]\nid = \"t\"\ndatasets = [\"s\"]\nfindings = [\"f\"]\n");
    const std::vector<study::Table> tables{study::parse_table(
        study.datasets[0], "image_id,f\na,1\nb,1\nc,1\nx,0\ny,0\nz,0\n", {"f"}, {"dataset"})};
    const TaskWork work = campaign::make_work(
        study, 0,
        study::final_pool(study, study.tasks[0], study::draft_pool(study, study.tasks[0], tables), {}));
    const std::vector<std::pair<std::string, std::pair<double, double>>> points{
        {"a", {1, 0}}, {"b", {1, 0}}, {"c", {0, 1}}, {"x", {0.8, 0.6}}, {"y", {0.6, 0.8}}, {"z", {-1, 0}}};
    Matrix<double> matrix(6, 2);
    for (std::size_t i = 0; i < 6; ++i) {
        const auto at = std::ranges::find(points, work.pool.image[i], &decltype(points)::value_type::first);
        matrix.row(static_cast<std::int64_t>(i))[0] = at->second.first;
        matrix.row(static_cast<std::int64_t>(i))[1] = at->second.second;
    }
    linalg::open_blas();
    campaign::SearchCost cost;
    const Found found =
        search_one(study, work, {0, 0, 0, 0, 3, 0}, neighbors::RowSet(std::move(matrix)), {20, 1}, cost);
    const study::Cell& cell = work.cells.front();
    BOOST_TEST(found.primary.size() == 3);
    for (std::size_t q = 0; q < 3; ++q) {
        const std::string& image = work.pool.image[static_cast<std::size_t>(cell.queries[q].value)];
        BOOST_TEST(std::abs(found.primary[q].margin() - (image == "c" ? 0.8 : -0.2)) < 1e-15, image);
        BOOST_TEST(found.sign[0][q] == (image == "c" ? 1 : -1));
    }
    BOOST_TEST(std::ranges::count(found.sign[0], std::int8_t{1}) == 1);  // D = 1/3
    BOOST_TEST(cost.searches == 6);
}

// Under a cap of two, the third positive is on no list and sees both candidates; the first two see one.
BOOST_AUTO_TEST_CASE(a_query_outside_the_capped_bank_loses_no_neighbour) {
    const campaign::Inputs inputs = made_inputs(
        "made.toml",
        {"operator.bank_cap=4", "operator.candidates=literal", "operator.also=[]", "operator.draws=1"});
    const TaskWork work = made_work(inputs).front();
    const study::Cell& cell = work.cells.front();
    BOOST_TEST(cell.scored());
    linalg::open_blas();
    const SearchItem item{0, 0, 0, 0, static_cast<std::int64_t>(cell.queries.size()), 0};
    const neighbors::RowSet rows = made_rows(work, 0, 0);
    campaign::SearchCost cost;
    BOOST_TEST(same(search_one(inputs.study, work, item, rows, {20, 1}, cost),
                    found_by_definition(inputs.study, work, item, rows)));
    for (std::int64_t q = 0; q < cell.positive_queries; ++q) {
        BOOST_TEST(cell.candidates[0].reach[1][static_cast<std::size_t>(q)].size() == (q < 4 ? 3 : 4));
    }
}

BOOST_AUTO_TEST_CASE(every_item_however_cut_finds_what_the_definition_finds) {
    const campaign::Inputs inputs = made_inputs();
    const std::vector<TaskWork> work = made_work(inputs);
    const auto whole = campaign::search_items(inputs.study, work, made_dimensions);
    BOOST_TEST(whole.size() > 10);
    linalg::open_blas();
    std::size_t differ = 0, ties = 0, discordant = 0;
    campaign::SearchCost cost;
    for (const std::int64_t most : {1000, 7, 1}) {
        const auto items = cut(whole, most);
        // Shared out, so that the ranks of this test do not all do the same.
        for (std::size_t i = static_cast<std::size_t>(world().rank()); i < items.size();
             i += static_cast<std::size_t>(world().size())) {
            const SearchItem& item = items[i];
            const neighbors::RowSet rows = rows_of(inputs, work, item);
            const Found found = search_one(inputs.study, work[item.work], item, rows,
                                           {5, most == 1000 ? threads() : 1}, cost);
            differ += !same(found, found_by_definition(inputs.study, work[item.work], item, rows));
            for (const auto& signs : found.sign) {
                ties += static_cast<std::size_t>(std::ranges::count(signs, std::int8_t{0}));
                discordant += static_cast<std::size_t>(std::ranges::count(signs, std::int8_t{1}));
            }
        }
    }
    BOOST_TEST(differ == 0);
    std::vector<std::int64_t> seen{static_cast<std::int64_t>(ties), static_cast<std::int64_t>(discordant)};
    world().sum(seen);
    BOOST_TEST(seen[0] > 0);  // the study has both
    BOOST_TEST(seen[1] > 0);
    BOOST_TEST(cost.kept >= 3 * cost.searches);
}

BOOST_AUTO_TEST_CASE(the_cells_of_a_context_together_find_what_each_finds) {
    const campaign::Inputs inputs = made_inputs();
    const std::vector<TaskWork> work = made_work(inputs);
    const auto items = campaign::search_items(inputs.study, work, made_dimensions);
    linalg::open_blas();
    std::size_t differ = 0, most = 0;
    for (std::size_t first = 0; first < items.size();) {
        const auto place = [&](std::size_t i) {
            return std::tuple(items[i].work, items[i].encoder,
                              work[items[i].work].cells[items[i].cell].context);
        };
        std::size_t last = first;
        while (last < items.size() && place(last) == place(first)) ++last;
        const neighbors::RowSet rows = rows_of(inputs, work, items[first]);
        const auto group = std::span(items).subspan(first, last - first);
        campaign::SearchCost cost;
        const auto found = campaign::search_group(inputs.study, work[items[first].work], group, rows,
                                                  {7, threads(), 30}, cost);
        BOOST_REQUIRE_EQUAL(found.size(), group.size());
        for (std::size_t i = 0; i < group.size(); ++i)
            differ += !same(found[i], found_by_definition(inputs.study, work[group[i].work], group[i], rows));
        most = std::max(most, group.size());
        first = last;
    }
    BOOST_TEST(differ == 0);
    BOOST_TEST(most > 1);
}

BOOST_AUTO_TEST_CASE(what_was_found_reaches_its_owner_in_order_whoever_searched_it) {
    const campaign::Inputs inputs = made_inputs();
    const std::vector<TaskWork> work = made_work(inputs);
    const auto items = cut(campaign::search_items(inputs.study, work, made_dimensions), 7);
    linalg::open_blas();
    // Three ways to place and to own: all over the ranks, everything on the last one, all to rank 0.
    const int last = world().size() - 1;
    const std::vector<std::function<int(std::size_t)>> searchers{
        [&](std::size_t i) { return static_cast<int>(i * 7 % static_cast<std::size_t>(world().size())); },
        [&](std::size_t) { return last; }, [&](std::size_t) { return 0; }};
    const std::vector<std::function<int(std::size_t, std::size_t, std::size_t)>> owners{
        [&](std::size_t w, std::size_t e, std::size_t f) {
            return static_cast<int>((w + 2 * e + f) % (last + 1));
        },
        [&](std::size_t, std::size_t, std::size_t) { return 0; },
        [&](std::size_t, std::size_t, std::size_t) { return last; }};
    for (std::size_t way = 0; way < searchers.size(); ++way) {
        std::vector<Found> mine;
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (searchers[way](i) != world().rank()) continue;
            campaign::SearchCost cost;
            mine.push_back(search_one(inputs.study, work[items[i].work], items[i],
                                      rows_of(inputs, work, items[i]), {512, 1}, cost));
        }
        const std::vector<Found> owned = campaign::deliver_mpi(world(), work, mine, owners[way]);
        BOOST_TEST(differing(owned, expected_here(inputs, work, items, owners[way])) == 0);
    }
}

BOOST_AUTO_TEST_CASE(nothing_found_is_delivered_too) {
    const auto to_last = [](std::size_t, std::size_t, std::size_t) { return world().size() - 1; };
    BOOST_TEST(campaign::deliver_mpi(world(), {}, {}, to_last).empty());
}

BOOST_AUTO_TEST_CASE(a_rank_searches_its_items_from_the_feature_files) {
    const TemporaryDirectory directory;  // of this rank alone
    const campaign::Inputs inputs = made_inputs(directory.file("made.toml"));
    write_features(directory, inputs);
    const std::vector<TaskWork> work = made_work(inputs);
    const auto items = campaign::search_items(inputs.study, work, made_dimensions);
    linalg::open_blas();
    campaign::SearchCost cost;
    const auto check = [&](const std::vector<int>& placed) {
        const std::vector<Found> found =
            campaign::search_mine(inputs, work, items, placed, world().rank(), {20, threads()}, silent, cost);
        std::vector<Found> expected;
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (placed[i] != world().rank()) continue;
            expected.push_back(found_by_definition(inputs.study, work[items[i].work], items[i],
                                                   rows_of(inputs, work, items[i])));
        }
        BOOST_TEST(differing(found, expected) == 0);
        return static_cast<std::int64_t>(found.size());
    };
    std::vector<std::int64_t> all{check(campaign::place_items(items, work, world().size()))};
    world().sum(all);
    BOOST_TEST(all[0] == static_cast<std::int64_t>(items.size()));

    // The first context of each task alone: rows of one task, encoder or context must not serve another's.
    std::vector<int> first_contexts;
    for (const SearchItem& item : items) {
        first_contexts.push_back(work[item.work].cells[item.cell].context == 0 ? world().rank() : -1);
    }
    BOOST_TEST(check(first_contexts) > 0);
    // A rank without items opens no file.
    BOOST_TEST(check(std::vector<int>(items.size(), -1)) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
