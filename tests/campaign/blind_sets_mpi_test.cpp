#include "candor/campaign/blind_sets_mpi.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "candor/base/bytes.hpp"
#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/campaign/inference_mpi.hpp"
#include "candor/instruments/blind_set.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/stats/fdr.hpp"
#include "candor/stats/interval.hpp"
#include "made_study.hpp"

using namespace candor;
using namespace candor::testing;
using campaign::BlindSetResults;
using campaign::Found;
using campaign::TaskWork;
using store::ResultTable;

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

parallel::Communicator world() {
    return parallel::Communicator::world();
}

int threads() {
    return world().size() <= 2 ? 2 : 1;
}

const Log silent(Verbosity::quiet, false);

/// DM of one query, a function of who asks what: -1, 0 or 1. The encoder at position 0 is blind to nothing
/// where `first_sees` says so.
double made_margin(std::size_t work, std::size_t encoder, std::size_t cell, std::int64_t query,
                   bool first_sees) {
    const Stream stream(31, "margin", (work * 10 + encoder) * 100 + cell);
    if (first_sees && encoder == 0) return -1;
    return static_cast<double>(stream.below(static_cast<std::uint64_t>(query), 3)) - 1;
}

using Owner = std::function<int(std::size_t, std::size_t, std::size_t)>;

/// What this rank owns of made margins, ordered as deliver_mpi orders it.
std::vector<Found> made_found(const campaign::Inputs& inputs, const std::vector<TaskWork>& work,
                              const Owner& owner, bool first_sees) {
    std::vector<Found> found;
    for (std::size_t w = 0; w < work.size(); ++w) {
        for (std::size_t e = 0; e < inputs.study.tasks[work[w].task].encoders.size(); ++e) {
            for (std::size_t c = 0; c < work[w].cells.size(); ++c) {
                const study::Cell& cell = work[w].cells[c];
                if (!cell.scored() || owner(w, e, static_cast<std::size_t>(cell.finding)) != world().rank())
                    continue;
                found.push_back({w, e, c, {}, {}, {}, {}, {}});
                for (std::int64_t q = 0; q < std::ssize(cell.queries); ++q)
                    found.back().primary.push_back({0, made_margin(w, e, c, q, first_sees), 0});
            }
        }
    }
    return found;
}

Owner owner_of(const campaign::Inputs& inputs, const std::vector<TaskWork>& work, bool all_on_last) {
    if (all_on_last) return [](std::size_t, std::size_t, std::size_t) { return world().size() - 1; };
    return campaign::counting_owners(inputs.study, work, world().size());
}

BlindSetResults blind_sets(const campaign::Inputs& inputs, const std::vector<TaskWork>& work,
                           bool all_on_last, bool first_sees = false) {
    const auto found = made_found(inputs, work, owner_of(inputs, work, all_on_last), first_sees);
    return campaign::blind_sets_mpi(world(), inputs.study, work, found, threads(), silent);
}

bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

// ---- the same by METHODS 6, a positive at a time ----

struct Positive {
    std::size_t cell = 0;
    std::int64_t query = 0;
    std::int32_t patient = 0;
    std::vector<bool> blind;  // by encoder
    std::int64_t count() const { return std::ranges::count(blind, true); }
};

std::vector<Positive> positives_of(const campaign::Inputs& inputs, const std::vector<TaskWork>& work,
                                   std::size_t w, bool pooled_reference, bool first_sees) {
    const TaskWork& here = work[w];
    std::vector<Positive> positives;
    for (std::size_t c = 0; c < here.cells.size(); ++c) {
        const study::Cell& cell = here.cells[c];
        if (!cell.scored() || cell.pooled_reference != pooled_reference) continue;
        for (std::int64_t q = 0; q < cell.positive_queries; ++q) {
            const auto row =
                here.contexts[static_cast<std::size_t>(cell.context)]
                    .rows[static_cast<std::size_t>(cell.queries[static_cast<std::size_t>(q)].value)];
            positives.push_back({c, q, here.pool.patient[static_cast<std::size_t>(row.value)], {}});
            for (std::size_t e = 0; e < inputs.study.tasks[here.task].encoders.size(); ++e)
                positives.back().blind.push_back(made_margin(w, e, c, q, first_sees) > 0);
        }
    }
    return positives;
}

/// Reads tables row by row, each column by its name.
struct Reader {
    const ResultTable& table;
    std::size_t row = 0;

    std::string text(const char* column) const { return get<std::string>(column); }
    std::int64_t integer(const char* column) const { return get<std::int64_t>(column); }
    double real(const char* column) const { return get<double>(column); }
    bool done() const { return static_cast<std::int64_t>(row) == table.rows(); }

  private:
    template <class T>
    T get(const char* column) const {
        const store::Column* found = table.find(column);
        BOOST_REQUIRE_MESSAGE(found != nullptr, column);
        const auto& values = std::get<std::vector<T>>(found->values);
        BOOST_REQUIRE_MESSAGE(row < values.size(), column);
        return values[row];
    }
};

struct LevelByDefinition {
    std::string level, finding;
    std::vector<Positive> positives;
};

std::vector<LevelByDefinition> levels_by_definition(const campaign::Inputs& inputs,
                                                    const std::vector<TaskWork>& work, std::size_t w,
                                                    bool first_sees) {
    const study::Task& task = inputs.study.tasks[work[w].task];
    const std::vector<Positive> all = positives_of(inputs, work, w, false, first_sees);
    std::vector<LevelByDefinition> levels;
    for (std::size_t f = 0; f < task.findings.size(); ++f) {
        LevelByDefinition level{"finding", task.findings[f], {}};
        for (const Positive& positive : all) {
            if (static_cast<std::size_t>(work[w].cells[positive.cell].finding) == f)
                level.positives.push_back(positive);
        }
        if (!level.positives.empty()) levels.push_back(level);
    }
    levels.push_back({"task", "", all});
    return levels;
}

instruments::PairOverlap pair_by_definition(const std::vector<Positive>& positives, std::size_t a,
                                            std::size_t b) {
    std::map<std::size_t, instruments::ContextOverlap> contexts;  // by cell
    for (const Positive& positive : positives) {
        instruments::ContextOverlap& context = contexts[positive.cell];
        ++context.population;
        context.blind_a += positive.blind[a];
        context.blind_b += positive.blind[b];
        context.overlap += positive.blind[a] && positive.blind[b];
    }
    std::vector<instruments::ContextOverlap> list;
    for (const auto& [cell, context] : contexts) list.push_back(context);
    return instruments::pair_overlap(list);
}

void check_overlaps(const campaign::Inputs& inputs, const std::vector<TaskWork>& work,
                    const BlindSetResults& seen, bool first_sees) {
    Reader row{seen.overlap}, summary{seen.overlap_summary};
    std::size_t family = 0;
    const char* const nulls[] = {"pooled", "stratified", "relabel"};
    for (std::size_t w = 0; w < work.size(); ++w) {
        const study::Task& task = inputs.study.tasks[work[w].task];
        const std::size_t first_row = row.row;
        std::vector<double> p[3], delta[3], log10_p[3];
        for (const LevelByDefinition& level : levels_by_definition(inputs, work, w, first_sees)) {
            if (level.positives.empty()) continue;
            for (std::size_t a = 0; a < task.encoders.size(); ++a) {
                for (std::size_t b = a + 1; b < task.encoders.size(); ++b) {
                    const instruments::PairOverlap pair = pair_by_definition(level.positives, a, b);
                    for (std::size_t n = 0; n < 3; ++n, ++row.row) {
                        // Nothing was permuted here: the third is undefined.
                        const instruments::OverlapNull& null = n == 0   ? pair.pooled
                                                               : n == 1 ? pair.stratified
                                                                        : pair.relabel;
                        BOOST_TEST(row.text("task") == task.id);
                        BOOST_TEST(row.text("level") == level.level);
                        BOOST_TEST(row.text("finding") == level.finding);
                        BOOST_TEST(row.text("encoder_a") == inputs.study.encoders[task.encoders[a]].id);
                        BOOST_TEST(row.text("encoder_b") == inputs.study.encoders[task.encoders[b]].id);
                        BOOST_TEST(row.text("null") == nulls[n]);
                        BOOST_TEST(row.integer("contexts") == pair.contexts);
                        BOOST_TEST(row.integer("n") == std::ssize(level.positives));
                        BOOST_TEST(row.integer("blind_a") == pair.blind_a);
                        BOOST_TEST(row.integer("blind_b") == pair.blind_b);
                        BOOST_TEST(row.integer("overlap") == pair.overlap);
                        BOOST_TEST(same(row.real("jaccard"), pair.jaccard));
                        BOOST_TEST(same(row.real("expected_jaccard"), null.expected_jaccard));
                        BOOST_TEST(same(row.real("delta_jaccard"), null.delta_jaccard));
                        BOOST_TEST(same(row.real("log10_p"), null.log10_p));
                        BOOST_TEST(same(row.real("p"), null.p));
                        if (level.level == "task") continue;
                        p[n].push_back(null.p);
                        delta[n].push_back(null.delta_jaccard);
                        log10_p[n].push_back(null.log10_p);
                    }
                }
            }
        }
        for (std::size_t n = 0; n < 3; ++n, ++family, ++summary.row) {
            const std::vector<double> q = stats::benjamini_hochberg(p[n]);
            Reader of_null{seen.overlap, first_row + n};
            for (; of_null.row < row.row; of_null.row += 3) {
                const std::size_t i = (of_null.row - first_row) / 3;
                const double expected = i < q.size() ? q[i] : undefined;
                BOOST_TEST(same(of_null.real("q"), expected));
                BOOST_TEST(of_null.integer("reject") == (expected <= inputs.study.test.alpha));
            }
            BOOST_TEST_REQUIRE(family < seen.families.size());
            const campaign::TestFamily& of_task = seen.families[family];
            BOOST_TEST(of_task.name == std::string("blind-set overlap, ") + nulls[n]);
            BOOST_TEST(of_task.task == task.id);
            BOOST_TEST(of_task.test == (n < 2 ? "hypergeometric" : "permutation"));
            BOOST_TEST(of_task.smallest_p == 0);
            BOOST_TEST(std::ranges::equal(of_task.p, p[n], [](double x, double y) { return same(x, y); }));

            const auto defined = std::ranges::count_if(p[n], [](double v) { return !std::isnan(v); });
            const auto above = std::ranges::count_if(delta[n], [](double v) { return v > 0; });
            const auto rejected = std::ranges::count_if(q, [](double v) { return v <= 0.05; });
            double sum = 0, smallest = undefined;
            for (std::size_t i = 0; i < p[n].size(); ++i) {
                if (std::isnan(p[n][i])) continue;
                sum += delta[n][i];
                smallest = std::isnan(smallest) ? log10_p[n][i] : std::min(smallest, log10_p[n][i]);
            }
            const auto share = [&](double part) { return part / static_cast<double>(defined); };  // 0/0: NaN
            const auto encoders = std::ssize(task.encoders);
            BOOST_TEST(summary.text("task") == task.id);
            BOOST_TEST(summary.text("null") == nulls[n]);
            BOOST_TEST(summary.integer("pairs") == encoders * (encoders - 1) / 2);
            BOOST_TEST(summary.integer("tests") == defined);
            BOOST_TEST(summary.integer("undefined") == std::ssize(p[n]) - defined);
            BOOST_TEST(summary.integer("above") == above);
            BOOST_TEST(same(summary.real("above_share"), share(static_cast<double>(above))));
            BOOST_TEST(summary.integer("rejected") == rejected);
            BOOST_TEST(same(summary.real("rejected_share"), share(static_cast<double>(rejected))));
            BOOST_TEST(same(summary.real("mean_delta_jaccard"), share(sum)));
            BOOST_TEST(same(summary.real("smallest_log10_p"), smallest));
        }
    }
    BOOST_TEST(row.done());
    BOOST_TEST(summary.done());
    BOOST_TEST(family == seen.families.size());
}

/// Shares in the resamples, by the stream of METHODS 4.
std::vector<double> resampled_shares(const study::Study& study, const TaskWork& work,
                                     const std::vector<Positive>& positives) {
    const auto patients = static_cast<std::uint64_t>(work.pool.clusters);
    std::vector<double> shares;
    for (std::int64_t b = 0; b < study.bootstrap.resamples; ++b) {
        std::vector<std::int64_t> times(patients);
        const Stream stream(study.seed, "bootstrap/" + study.tasks[work.task].id,
                            static_cast<std::uint64_t>(b));
        for (std::uint64_t i = 0; i < patients; ++i) ++times[stream.below(i, patients)];
        std::int64_t blind = 0, n = 0;
        for (const Positive& positive : positives) {
            const std::int64_t weight = times[static_cast<std::size_t>(positive.patient)];
            n += weight;
            if (2 * positive.count() > std::ssize(positive.blind)) blind += weight;
        }
        shares.push_back(n == 0 ? undefined : static_cast<double>(blind) / static_cast<double>(n));
    }
    return shares;
}

/// The share blind by majority of independent encoders, by all outcomes of the panel in each cell.
double independent_by_definition(const std::vector<Positive>& positives) {
    std::map<std::size_t, std::vector<const Positive*>> cells;
    for (const Positive& positive : positives) cells[positive.cell].push_back(&positive);
    double expected = 0;
    for (const auto& [cell, members] : cells) {
        const std::size_t encoders = members.front()->blind.size();
        for (std::uint64_t who = 0; who < std::uint64_t{1} << encoders; ++who) {
            double probability = static_cast<double>(members.size());
            std::size_t blind = 0;
            for (std::size_t e = 0; e < encoders; ++e) {
                const auto hits =
                    std::ranges::count_if(members, [&](const Positive* p) { return p->blind[e]; });
                const double rate = static_cast<double>(hits) / static_cast<double>(members.size());
                const bool is_blind = (who >> e & 1) != 0;
                probability *= is_blind ? rate : 1 - rate;
                blind += is_blind;
            }
            if (2 * blind > encoders) expected += probability;
        }
    }
    return expected / static_cast<double>(positives.size());
}

void check_consensus(const campaign::Inputs& inputs, const std::vector<TaskWork>& work,
                     const BlindSetResults& seen, bool first_sees) {
    Reader row{seen.consensus};
    for (std::size_t w = 0; w < work.size(); ++w) {
        const study::Task& task = inputs.study.tasks[work[w].task];
        const auto encoders = std::ssize(task.encoders);
        for (const LevelByDefinition& level : levels_by_definition(inputs, work, w, first_sees)) {
            std::set<std::int32_t> patients;
            std::int64_t blind = 0, all = 0, none = 0;
            for (const Positive& positive : level.positives) {
                patients.insert(positive.patient);
                blind += 2 * positive.count() > encoders;
                all += positive.count() == encoders;
                none += positive.count() == 0;
            }
            const stats::Interval interval =
                stats::percentile_interval(resampled_shares(inputs.study, work[w], level.positives), 0.95);
            const auto n = static_cast<double>(level.positives.size());
            BOOST_TEST(row.text("task") == task.id);
            BOOST_TEST(row.text("level") == level.level);
            BOOST_TEST(row.text("finding") == level.finding);
            BOOST_TEST(row.integer("encoders") == encoders);
            BOOST_TEST(row.integer("positives") == std::ssize(level.positives));
            BOOST_TEST(row.integer("patients") == std::ssize(patients));
            BOOST_TEST(row.integer("blind") == blind);
            BOOST_TEST(same(row.real("share"), static_cast<double>(blind) / n));
            BOOST_TEST(same(row.real("low"), interval.low));
            BOOST_TEST(same(row.real("high"), interval.high));
            BOOST_TEST(row.integer("n_boot_valid") == interval.valid);
            BOOST_TEST(row.integer("few_patients") == (patients.size() < 10));
            BOOST_TEST(row.integer("all_equal") == interval.all_equal);
            const bool bounded = interval.all_equal && (blind == 0 || blind == std::ssize(level.positives));
            const stats::Bounds bound =
                stats::clopper_pearson(blind == 0 ? 0 : std::ssize(patients), std::ssize(patients), 0.95);
            for (const auto& [name, end] : {std::pair("bound_low", bound.low), {"bound_high", bound.high}})
                BOOST_TEST(same(row.real(name), bounded ? end : std::nan("")));
            BOOST_TEST(row.integer("all_blind") == all);
            BOOST_TEST(row.integer("none_blind") == none);
            const double independent = independent_by_definition(level.positives);
            // Some 2^6 roundings of a sum of positive terms.
            if (std::isnan(independent)) {
                BOOST_TEST(std::isnan(row.real("independent_share")));
            } else {
                BOOST_TEST(std::abs(row.real("independent_share") - independent) <= 64 * 0x1p-52);
            }
            ++row.row;
        }
    }
    BOOST_TEST(row.done());
}

void check_cases(const campaign::Inputs& inputs, const std::vector<TaskWork>& work,
                 const BlindSetResults& seen, bool first_sees) {
    BOOST_TEST_REQUIRE(seen.blind_encoders.size() == work.size());
    for (std::size_t w = 0; w < work.size(); ++w) {
        std::vector<std::int64_t> expected(static_cast<std::size_t>(work[w].cases), -1);
        for (const bool pooled_reference : {false, true}) {
            for (const Positive& p : positives_of(inputs, work, w, pooled_reference, first_sees))
                expected[static_cast<std::size_t>(work[w].first_case[p.cell] + p.query)] = p.count();
        }
        BOOST_TEST(seen.blind_encoders[w] == expected, boost::test_tools::per_element());
    }
}

void check(const campaign::Inputs& inputs, const std::vector<TaskWork>& work, const BlindSetResults& seen,
           bool first_sees = false) {
    if (world().rank() != 0) {
        BOOST_TEST(seen.overlap.columns.empty());
        BOOST_TEST(seen.overlap_summary.columns.empty());
        BOOST_TEST(seen.consensus.columns.empty());
        BOOST_TEST(seen.families.empty());
        BOOST_TEST(seen.blind_encoders.empty());
        return;
    }
    check_overlaps(inputs, work, seen, first_sees);
    check_consensus(inputs, work, seen, first_sees);
    check_cases(inputs, work, seen, first_sees);
}

std::string bytes_of(const ResultTable& table) {
    ByteWriter out;
    for (const store::Column& column : table.columns) {
        out.put(column.name);
        if (const auto* texts = std::get_if<std::vector<std::string>>(&column.values)) {
            for (const std::string& text : *texts) out.put(text);
        } else if (const auto* reals = std::get_if<std::vector<double>>(&column.values)) {
            out.put(std::span<const double>(*reals));
        } else {
            out.put(std::span<const std::int64_t>(std::get<std::vector<std::int64_t>>(column.values)));
        }
    }
    return out.take();
}

std::vector<std::string> names_of(const ResultTable& table) {
    std::vector<std::string> names;
    for (const store::Column& column : table.columns) names.push_back(column.name);
    return names;
}

/// A cell of edema that both encoders score stands for one against a pooled reference.
void set_one_apart(std::vector<TaskWork>& work) {
    for (study::Cell& cell : work[0].cells) {
        if (cell.finding == 0 && cell.scored() && cell.positive_queries > 0) {
            cell.pooled_reference = true;
            return;
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(campaign_blind_sets)

// At every rank count this holds, to the bit, against one definition: so the tables of all rank counts are
// one.
BOOST_AUTO_TEST_CASE(tables_are_the_definition_at_any_rank_count_and_with_any_owners) {
    const campaign::Inputs inputs = made_inputs();
    const std::vector<TaskWork> work = made_work(inputs);
    const BlindSetResults seen = blind_sets(inputs, work, false);
    check(inputs, work, seen);
    // Three pairs of encoders at the levels edema, mass and task, and one pair at mass and task: two rows
    // each.
    if (world().rank() == 0) BOOST_TEST(seen.overlap.rows() == 3 * (3 * 3 + 1 * 2));

    const BlindSetResults on_last = blind_sets(inputs, work, true);  // ranks that own nothing
    check(inputs, work, on_last);
    BOOST_TEST(bytes_of(seen.overlap) == bytes_of(on_last.overlap));
    BOOST_TEST(bytes_of(seen.overlap_summary) == bytes_of(on_last.overlap_summary));
    BOOST_TEST(bytes_of(seen.consensus) == bytes_of(on_last.consensus));
}

BOOST_AUTO_TEST_CASE(cells_against_a_pooled_reference_stay_out_of_the_sets) {
    const campaign::Inputs inputs = made_inputs();
    std::vector<TaskWork> work = made_work(inputs);
    const std::size_t paired = positives_of(inputs, work, 0, false, false).size();
    set_one_apart(work);
    const std::size_t apart = positives_of(inputs, work, 0, true, false).size();
    BOOST_TEST(apart > 0);
    BOOST_TEST(positives_of(inputs, work, 0, false, false).size() == paired - apart);
    check(inputs, work, blind_sets(inputs, work, false));
}

BOOST_AUTO_TEST_CASE(an_encoder_that_sees_everything_shares_nothing) {
    const campaign::Inputs inputs = made_inputs();
    const std::vector<TaskWork> work = made_work(inputs);
    const BlindSetResults seen = blind_sets(inputs, work, false, true);
    check(inputs, work, seen, true);
    if (world().rank() != 0) return;
    for (Reader row{seen.overlap}; !row.done(); ++row.row) {
        if (row.integer("blind_a") > 0 || row.text("null") == "relabel") continue;
        BOOST_TEST(row.real("p") == 1);
        BOOST_TEST(row.real("delta_jaccard") == 0);
        BOOST_TEST(row.integer("reject") == 0);
    }
}

// Both sets of every pair empty (fault 15): undefined, and outside the families.
BOOST_AUTO_TEST_CASE(empty_sets_leave_the_families) {
    const campaign::Inputs inputs = made_inputs();
    const std::vector<TaskWork> work = made_work(inputs);
    std::vector<Found> found = made_found(inputs, work, owner_of(inputs, work, false), false);
    for (Found& one : found)
        for (instruments::Discordance& query : one.primary) query.c_neg = 0;  // ties are not blind
    const BlindSetResults seen =
        campaign::blind_sets_mpi(world(), inputs.study, work, found, threads(), silent);
    if (world().rank() != 0) return;
    for (Reader row{seen.overlap}; !row.done(); ++row.row) {
        for (const char* column : {"jaccard", "expected_jaccard", "delta_jaccard", "log10_p", "p", "q"})
            BOOST_TEST(std::isnan(row.real(column)), column);
        BOOST_TEST(row.integer("reject") == 0);
    }
    for (Reader row{seen.overlap_summary}; !row.done(); ++row.row) {
        BOOST_TEST(row.integer("tests") == 0);
        BOOST_TEST(row.integer("undefined") == (row.text("task") == "both" ? 6 : 1));
        for (const char* column : {"above_share", "rejected_share", "mean_delta_jaccard", "smallest_log10_p"})
            BOOST_TEST(std::isnan(row.real(column)), column);
    }
    for (Reader row{seen.consensus}; !row.done(); ++row.row) {
        BOOST_TEST(row.integer("blind") == 0);
        BOOST_TEST(row.integer("none_blind") == row.integer("positives"));
        BOOST_TEST(row.real("share") == 0);
        BOOST_TEST(row.real("independent_share") == 0);
    }
}

BOOST_AUTO_TEST_CASE(one_encoder_has_a_consensus_and_no_pairs) {
    campaign::Inputs inputs = made_inputs();
    for (study::Task& task : inputs.study.tasks) task.encoders.resize(1);
    const std::vector<TaskWork> work = made_work(inputs);
    const BlindSetResults seen = blind_sets(inputs, work, false);
    check(inputs, work, seen);
    if (world().rank() != 0) return;
    BOOST_TEST(seen.overlap.rows() == 0);
    BOOST_TEST(
        names_of(seen.overlap) ==
            std::vector<std::string>({"task", "level", "finding", "encoder_a", "encoder_b", "null",
                                      "contexts", "n", "blind_a", "blind_b", "overlap", "jaccard",
                                      "expected_jaccard", "delta_jaccard", "log10_p", "p", "q", "reject"}),
        boost::test_tools::per_element());
    for (Reader row{seen.consensus}; !row.done(); ++row.row) {
        BOOST_TEST(row.integer("blind") == row.integer("all_blind"));
        // The rate of one encoder, summed over contexts and divided again: some roundings.
        BOOST_TEST(std::abs(row.real("share") - row.real("independent_share")) <= 16 * 0x1p-52);
    }
}

BOOST_AUTO_TEST_CASE(a_task_without_positives_has_its_rows) {
    const campaign::Inputs inputs = made_inputs("made.toml", {"operator.k=100", "operator.bank_cap=0"});
    const std::vector<TaskWork> work = made_work(inputs);
    const BlindSetResults seen = blind_sets(inputs, work, false);
    check(inputs, work, seen);
    if (world().rank() != 0) return;
    BOOST_TEST(seen.overlap.rows() == 0);
    BOOST_TEST(seen.overlap_summary.rows() == 6);
    BOOST_TEST(seen.consensus.rows() == 2);
    for (Reader row{seen.consensus}; !row.done(); ++row.row) {
        BOOST_TEST(row.integer("positives") == 0);
        BOOST_TEST(row.integer("n_boot_valid") == 0);
        for (const char* column : {"share", "low", "high", "independent_share"})
            BOOST_TEST(std::isnan(row.real(column)), column);
    }
}

// A positive that nobody delivered is not a seen one.
BOOST_AUTO_TEST_CASE(missing_and_doubled_positives_are_faults_of_ours) {
    const campaign::Inputs inputs = made_inputs();
    const std::vector<TaskWork> work = made_work(inputs);
    for (const bool doubled : {false, true}) {
        std::vector<Found> found = made_found(inputs, work, owner_of(inputs, work, true), false);
        if (!found.empty()) {
            if (doubled) found.push_back(found.front());
            if (!doubled) found.erase(found.begin());
        }
        BOOST_CHECK_EXCEPTION(campaign::blind_sets_mpi(world(), inputs.study, work, found, 1, silent),
                              InternalError, [](const InternalError& error) {
                                  const std::string what = error.what();
                                  return what.find("both, edema, encoder 0: ") != std::string::npos &&
                                         what.find(" positives") != std::string::npos;
                              });
    }
}

BOOST_AUTO_TEST_SUITE_END()
