#include "candor/campaign/search_mpi.hpp"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/feature_file.hpp"
#include "definition.hpp"
#include "made_study.hpp"
#include "store/temporary.hpp"

using namespace candor;
using namespace candor::testing;
using campaign::Found;
using campaign::SearchPlan;
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

using Owner = std::function<int(std::size_t, std::size_t, std::size_t)>;

int on_first(std::size_t, std::size_t, std::size_t) {
    return 0;
}
int on_last(std::size_t, std::size_t, std::size_t) {
    return world().size() - 1;
}
int on_all(std::size_t work, std::size_t encoder, std::size_t finding) {
    return static_cast<int>(work + 2 * encoder + finding) % world().size();
}

/// A made study and what it finds by definition.
struct Made {
    using Open = campaign::OpenRows(const study::Study&, const std::vector<TaskWork>&);

    explicit Made(campaign::Inputs made, Open* open = open_made)
        : inputs(std::move(made)),
          work(made_work(inputs)),
          all(all_by_definition(inputs.study, work, open(inputs.study, work))) {}

    /// What `owner` gives to this rank.
    std::vector<Found> of_this_rank(const Owner& owner) const {
        std::vector<Found> mine;
        std::ranges::copy_if(all, std::back_inserter(mine), [&](const Found& one) {
            const auto finding = static_cast<std::size_t>(work[one.work].cells[one.cell].finding);
            return owner(one.work, one.encoder, finding) == world().rank();
        });
        return mine;
    }

    SearchPlan plan(const neighbors::SearchOptions& options) const {
        return campaign::plan_search(inputs.study, work, made_dimensions, options, world().size());
    }

    campaign::Inputs inputs;
    std::vector<TaskWork> work;
    std::vector<Found> all;
};

const Made& made() {
    static const Made one(made_inputs());
    return one;
}

/// (query, list) pairs of all cells under all encoders.
std::int64_t searches_of(const Made& study) {
    std::int64_t count = 0;
    for (const Found& one : study.all)
        count += 2 * (std::ssize(one.primary) +
                      (std::ssize(one.sign) - 1) * study.work[one.work].cells[one.cell].positive_queries);
    return count;
}

std::int64_t over_all_ranks(std::int64_t value) {
    std::vector<std::int64_t> values{value};
    world().sum(values);
    return values[0];
}

/// What the files hold: of the last encoder one dataset is of doubles, which are no floats.
std::vector<double> stored_features(std::size_t encoder, const std::string& image) {
    const std::vector<float> made = made_features(encoder, image);
    std::vector<double> row(made.begin(), made.end());
    for (std::size_t j = 0; encoder == 2 && image[0] == 'b' && j < row.size(); ++j)
        row[j] += 0x1p-30 * static_cast<double>(j % 5);
    return row;
}

campaign::OpenRows open_stored(const study::Study& study, const std::vector<TaskWork>& work) {
    return [&study, &work](const campaign::SearchGroup& group) -> std::unique_ptr<neighbors::RowSource> {
        const TaskWork& here = work[group.work];
        const std::size_t encoder = study.tasks[here.task].encoders[group.encoder];
        const auto& rows = here.contexts[static_cast<std::size_t>(group.context)].rows;
        Matrix<double> matrix(std::ssize(rows), made_dimensions[encoder]);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const std::string& image = here.pool.image[static_cast<std::size_t>(rows[i].value)];
            std::ranges::copy(stored_features(encoder, image),
                              matrix.row(static_cast<std::int64_t>(i)).begin());
        }
        return std::make_unique<neighbors::RowSet>(std::move(matrix));
    };
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
                std::ranges::copy(stored_features(e, table.ids[i]),
                                  table.values.row(static_cast<std::int64_t>(i)).begin());
            }
            const std::string name = inputs.study.encoders[e].id + "-" + inputs.study.datasets[d].id + ".h5";
            store::write_feature_file(directory.file(name), table, false);
        }
    }
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
    const std::vector<TaskWork> work{campaign::make_work(
        study, 0,
        study::final_pool(study, study.tasks[0], study::draft_pool(study, study.tasks[0], tables), {}))};
    const std::vector<std::pair<std::string, std::pair<double, double>>> points{
        {"a", {1, 0}}, {"b", {1, 0}}, {"c", {0, 1}}, {"x", {0.8, 0.6}}, {"y", {0.6, 0.8}}, {"z", {-1, 0}}};
    const auto open = [&](const campaign::SearchGroup&) -> std::unique_ptr<neighbors::RowSource> {
        Matrix<double> matrix(6, 2);
        for (std::size_t i = 0; i < 6; ++i) {
            const auto at =
                std::ranges::find(points, work[0].pool.image[i], &decltype(points)::value_type::first);
            matrix.row(static_cast<std::int64_t>(i))[0] = at->second.first;
            matrix.row(static_cast<std::int64_t>(i))[1] = at->second.second;
        }
        return std::make_unique<neighbors::RowSet>(std::move(matrix));
    };
    linalg::open_blas();
    const neighbors::SearchOptions options{20, 1, 2};
    campaign::SearchCost cost;
    const auto parts =
        search_all_mpi(world(), study, work, campaign::plan_search(study, work, {2}, options, world().size()),
                       open, options, cost);
    const std::vector<Found> owned = campaign::deliver_mpi(world(), work, parts, on_first);
    BOOST_TEST(over_all_ranks(cost.searches) == 6);
    BOOST_TEST(owned.size() == (world().rank() == 0 ? 1 : 0));
    if (owned.empty()) return;
    const Found& found = owned.front();
    const study::Cell& cell = work[0].cells.front();
    BOOST_TEST(found.primary.size() == 3);
    for (std::size_t q = 0; q < 3; ++q) {
        const std::string& image = work[0].pool.image[static_cast<std::size_t>(cell.queries[q].value)];
        BOOST_TEST(std::abs(found.primary[q].margin() - (image == "c" ? 0.8 : -0.2)) < 1e-15, image);
        BOOST_TEST(found.sign[0][q] == (image == "c" ? 1 : -1));
    }
    BOOST_TEST(std::ranges::count(found.sign[0], std::int8_t{1}) == 1);  // D = 1/3
}

// Under a cap of two, the third positive is on no list and sees both candidates; the first two see one.
BOOST_AUTO_TEST_CASE(a_query_outside_the_capped_bank_loses_no_neighbour) {
    const Made capped(made_inputs("made.toml", {"operator.bank_cap=4", "operator.candidates=literal",
                                                "operator.also=[]", "operator.draws=1"}));
    const study::Cell& cell = capped.work[0].cells.front();
    BOOST_TEST(cell.scored());
    for (std::int64_t q = 0; q < cell.positive_queries; ++q) {
        BOOST_TEST(cell.candidates[0].reach[1][static_cast<std::size_t>(q)].size() == (q < 4 ? 3 : 4));
    }
    linalg::open_blas();
    const neighbors::SearchOptions options{20, 1, 30};
    campaign::SearchCost cost;
    const auto parts = search_all_mpi(world(), capped.inputs.study, capped.work, capped.plan(options),
                                      open_made(capped.inputs.study, capped.work), options, cost);
    BOOST_TEST(differing(campaign::deliver_mpi(world(), capped.work, parts, on_all),
                         capped.of_this_rank(on_all)) == 0);
}

BOOST_AUTO_TEST_CASE(every_cell_is_found_as_the_definition_finds_it_whatever_the_options) {
    linalg::open_blas();
    const std::vector<Found> expected = made().of_this_rank(on_all);
    std::int64_t ties = 0, discordant = 0, options_tried = 0;
    for (const std::int64_t panel : {7, 30, 4096}) {
        for (const std::int64_t directions : {0, 1, -1}) {
            for (const std::int64_t memory : {0, 1}) {  // one byte: sinks are packed whenever a panel leaves
                const std::int64_t block = std::array{5, 7, 512}[options_tried / 2 % 3];
                const int some = options_tried % 4 < 2 ? 1 : threads();
                ++options_tried;
                const neighbors::SearchOptions options{block, some, panel, memory, directions};
                campaign::SearchCost cost;
                const auto parts =
                    search_all_mpi(world(), made().inputs.study, made().work, made().plan(options),
                                   open_made(made().inputs.study, made().work), options, cost);
                const std::vector<Found> owned = campaign::deliver_mpi(world(), made().work, parts, on_all);
                BOOST_TEST(differing(owned, expected) == 0,
                           "panels of " << panel << ", blocks of " << block << ", " << directions
                                        << " directions, " << memory << " bytes, " << some << " threads");
                BOOST_TEST(over_all_ranks(cost.searches) == searches_of(made()));
                BOOST_TEST(cost.kept >= 3 * cost.searches);
                BOOST_TEST(cost.kept_max >= (parts.empty() ? 0 : 3));
                for (const Found& one : owned) {
                    for (const auto& signs : one.sign) {
                        ties += std::ranges::count(signs, std::int8_t{0});
                        discordant += std::ranges::count(signs, std::int8_t{1});
                    }
                }
            }
        }
    }
    BOOST_TEST(over_all_ranks(ties) > 0);  // the study has both
    BOOST_TEST(over_all_ranks(discordant) > 0);
}

// One rank does all of a study as several do.
BOOST_AUTO_TEST_CASE(a_search_alone_finds_the_same) {
    linalg::open_blas();
    std::vector<Found> found = search_alone(made().inputs.study, made().work, made_dimensions,
                                            open_made(made().inputs.study, made().work), {7, 1, 30});
    std::ranges::sort(found, {}, [](const Found& f) { return std::tuple(f.work, f.encoder, f.cell); });
    BOOST_TEST(differing(found, made().all) == 0);
}

// Whoever meets and whoever decides: encounters of one group all over the ranks, or all on the last one;
// panels decided all over, at either end, by ranks that have nothing else of the group.
BOOST_AUTO_TEST_CASE(what_was_found_reaches_its_owner_whole_whoever_searched_it) {
    linalg::open_blas();
    const int ranks = world().size();
    std::size_t way = 0;
    for (const std::int64_t panel : {7, 30}) {
        for (const int searchers : {0, 1, 2}) {
            for (const int deciders : {0, 1, 2}) {
                const neighbors::SearchOptions options{5, 1, panel, static_cast<std::int64_t>(way % 2)};
                SearchPlan plan = made().plan(options);
                for (std::size_t t = 0; t < plan.rank.size(); ++t) {
                    plan.rank[t] = searchers == 0   ? static_cast<int>(t) % ranks
                                   : searchers == 1 ? ranks - 1
                                                    : static_cast<int>(t * 7 / 3) % ranks;
                }
                for (std::size_t g = 0; g < plan.owner.size(); ++g) {
                    for (std::size_t p = 0; p < plan.owner[g].size(); ++p) {
                        plan.owner[g][p] = deciders == 0   ? static_cast<int>(g + 2 * p) % ranks
                                           : deciders == 1 ? ranks - 1
                                                           : 0;
                    }
                }
                campaign::SearchCost cost;
                const auto parts = search_all_mpi(world(), made().inputs.study, made().work, plan,
                                                  open_made(made().inputs.study, made().work), options, cost);
                BOOST_TEST(over_all_ranks(cost.searches) == searches_of(made()));
                const Owner owner = way % 3 == 0 ? on_all : way % 3 == 1 ? on_first : on_last;
                for (const std::size_t most : {1000, 1}) {
                    BOOST_TEST(differing(campaign::deliver_mpi(world(), made().work, cut(parts, most), owner),
                                         made().of_this_rank(owner)) == 0,
                               "way " << way << ", parts of " << most);
                }
                ++way;
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(nothing_found_is_delivered_too) {
    BOOST_TEST(campaign::deliver_mpi(world(), {}, {}, on_last).empty());
    campaign::SearchCost cost;
    BOOST_TEST(search_all_mpi(world(), made().inputs.study, {}, {}, {}, {}, cost).empty());
    BOOST_TEST(cost.searches == 0);
}

// A query that nobody answered is not a seen one.
BOOST_AUTO_TEST_CASE(a_cell_that_is_not_whole_is_a_fault_of_ours) {
    std::vector<campaign::FoundPart> parts;
    if (world().rank() == 0) {
        campaign::FoundPart part{{}, {}, made().all.front()};
        for (std::int64_t q = 0; q < std::ssize(part.found.primary); ++q) part.query.push_back(q);
        parts = cut({part}, 4);
        parts.pop_back();
    }
    const auto deliver = [&] { campaign::deliver_mpi(world(), made().work, parts, on_last); };
    if (world().rank() != world().size() - 1) return deliver();
    const auto queries = std::ssize(made().all.front().primary);
    BOOST_CHECK_EXCEPTION(deliver(), InternalError, [&](const InternalError& error) {
        return std::string(error.what())
                   .find("cell " + std::to_string(made().all.front().cell) + " has answers for " +
                         std::to_string(queries - 4) + " of " + std::to_string(queries) + " queries") !=
               std::string::npos;
    });
}

// Of the last encoder one dataset is stored as doubles; where contexts are views alone, it meets one of
// floats.
BOOST_AUTO_TEST_CASE(the_rows_of_a_search_come_from_the_feature_files) {
    linalg::open_blas();
    for (const bool mixed : {false, true}) {
        const TemporaryDirectory directory;  // of this rank alone
        campaign::Inputs inputs = made_inputs(directory.file("made.toml"));
        if (mixed) inputs.study.tasks[0].context = {"view"};
        write_features(directory, inputs);
        const Made study(std::move(inputs), open_stored);
        for (const bool scattered : {false, true}) {
            const neighbors::SearchOptions options{20, threads(), scattered ? 7 : 4096, scattered};
            SearchPlan plan = study.plan(options);
            for (std::size_t t = 0; scattered && t < plan.rank.size(); ++t)
                plan.rank[t] = static_cast<int>(t) % world().size();
            campaign::SearchCost cost;
            const auto parts = search_all_mpi(world(), study.inputs.study, study.work, plan,
                                              campaign::from_files(study.inputs, study.work), options, cost);
            BOOST_TEST(differing(campaign::deliver_mpi(world(), study.work, parts, on_all),
                                 study.of_this_rank(on_all)) == 0,
                       (mixed ? "mixed" : "apart") << (scattered ? ", scattered" : ""));
        }
    }
}

// Only the last rank has files, and something to do.
BOOST_AUTO_TEST_CASE(a_rank_without_tasks_opens_no_file) {
    linalg::open_blas();
    const TemporaryDirectory directory;
    campaign::Inputs inputs = made_inputs(directory.file("made.toml"));
    if (world().rank() == world().size() - 1) write_features(directory, inputs);
    const Made study(std::move(inputs), open_stored);
    const neighbors::SearchOptions options{20, 1, 30};
    SearchPlan plan = study.plan(options);
    std::ranges::fill(plan.rank, world().size() - 1);
    for (auto& owner : plan.owner) std::ranges::fill(owner, world().size() - 1);
    campaign::SearchCost cost;
    const auto parts = search_all_mpi(world(), study.inputs.study, study.work, plan,
                                      campaign::from_files(study.inputs, study.work), options, cost);
    BOOST_TEST(parts.empty() == (world().rank() != world().size() - 1));
    BOOST_TEST(differing(campaign::deliver_mpi(world(), study.work, parts, on_first),
                         study.of_this_rank(on_first)) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
