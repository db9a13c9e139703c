#include "candor/campaign/inference_mpi.hpp"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "candor/base/random.hpp"
#include "candor/campaign/permute.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/stats/interval.hpp"
#include "definition.hpp"
#include "made_study.hpp"

using namespace candor;
using namespace candor::testing;
using campaign::CellResult;
using campaign::Counted;
using campaign::FindingResult;
using campaign::Found;
using campaign::TaskWork;
using instruments::Counts;

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

/// The whole way of `candor run` between its files, over all ranks: what was found is delivered in parts of
/// at most `most` queries.
Counted counted(const campaign::Inputs& inputs, const std::vector<TaskWork>& work, std::size_t most,
                const neighbors::SearchOptions& options, bool all_on_last) {
    linalg::open_blas();
    campaign::SearchPlan plan =
        campaign::plan_search(inputs.study, work, made_dimensions, options, world().size());
    if (all_on_last) std::ranges::fill(plan.rank, world().size() - 1);
    campaign::SearchCost cost;
    const auto parts =
        search_all_mpi(world(), inputs.study, work, plan, open_made(inputs.study, work), options, cost);
    const auto owners = campaign::counting_owners(inputs.study, work, world().size());
    parallel::StopRequest never;
    auto owned = campaign::deliver_mpi(world(), work, cut(parts, most), owners);
    campaign::permute(inputs.study, work, owned, open_made(inputs.study, work), options.threads, never,
                      silent);
    return campaign::count_mpi(world(), inputs.study, work, owned, options.threads, never, silent);
}

/// The counts of one cell under one rule with patients counted `times` each, pair by pair.
Counts counts_of(const TaskWork& work, const study::Cell& cell, const Found& found, study::Rule rule,
                 bool primary, const std::vector<std::int64_t>& times) {
    const auto weight = [&](std::size_t q) {
        const auto& rows = work.contexts[static_cast<std::size_t>(cell.context)].rows;
        const auto row =
            static_cast<std::size_t>(rows[static_cast<std::size_t>(cell.queries[q].value)].value);
        return times[static_cast<std::size_t>(work.pool.patient[row])];
    };
    const auto positives = static_cast<std::size_t>(cell.positive_queries);
    Counts counts;
    std::size_t scored = 0;
    for (const study::Candidates& candidates : cell.candidates) {
        if (candidates.unscored) continue;
        for (std::size_t q = 0; candidates.rule == rule && q < positives; ++q) {
            counts.discordant += weight(q) * (found.sign[scored][q] > 0);
            counts.ties += weight(q) * (found.sign[scored][q] == 0);
            counts.queries += weight(q);
        }
        ++scored;
    }
    for (std::size_t q = 0; primary && q < cell.queries.size(); ++q) {
        const double margin = found.primary[q].margin();
        (q < positives ? counts.positives : counts.negatives) += weight(q);
        (q < positives ? counts.positive_right : counts.negative_right) +=
            weight(q) * (margin == 0                       ? 1
                         : (margin < 0) == (q < positives) ? 2
                                                           : 0);
        for (std::size_t n = positives; q < positives && n < cell.queries.size(); ++n) {
            const double other = found.primary[n].margin();
            counts.pairs += weight(q) * weight(n);
            counts.twice_wins += weight(q) * weight(n) * (margin == other ? 1 : margin < other ? 2 : 0);
        }
    }
    return counts;
}

bool same(const Counts& a, const Counts& b) {
    return a.discordant == b.discordant && a.ties == b.ties && a.queries == b.queries &&
           a.twice_wins == b.twice_wins && a.pairs == b.pairs && a.positive_right == b.positive_right &&
           a.positives == b.positives && a.negative_right == b.negative_right && a.negatives == b.negatives;
}

bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

/// How often each patient was drawn: once each as observed, and by the stream of METHODS 4 in each resample.
std::vector<std::vector<std::int64_t>> draws_of(const study::Study& study, const TaskWork& work) {
    const std::size_t patients = work.pool.patients.size();
    std::vector<std::vector<std::int64_t>> times{std::vector<std::int64_t>(patients, 1)};
    for (std::int64_t b = 0; b < study.bootstrap.resamples; ++b) {
        times.emplace_back(patients);
        const Stream stream(study.seed, "bootstrap/" + study.tasks[work.task].id,
                            static_cast<std::uint64_t>(b));
        for (std::uint64_t i = 0; i < patients; ++i) ++times.back()[stream.below(i, patients)];
    }
    return times;
}

void check_estimate(const instruments::Estimate& seen, const std::vector<Counts>& counts,
                    double (Counts::*statistic)() const, const std::string& what) {
    std::vector<double> replicates;
    for (std::size_t b = 1; b < counts.size(); ++b) replicates.push_back((counts[b].*statistic)());
    const stats::Interval interval = stats::percentile_interval(replicates, 0.95);
    BOOST_TEST(same(seen.value, (counts[0].*statistic)()), what);
    BOOST_TEST(same(seen.low, interval.low), what);
    BOOST_TEST(same(seen.high, interval.high), what);
    BOOST_TEST(seen.valid == interval.valid, what);
}

void check_caps(const stats::Quartiles& seen, const Found& found, std::int64_t positives,
                double instruments::Discordance::*cosine, const std::string& what) {
    std::vector<double> caps;
    for (std::size_t q = 0; q < static_cast<std::size_t>(positives); ++q) {
        const instruments::Discordance& one = found.primary[q];
        if (one.margin() > 0) caps.push_back(std::sqrt(2 - 2 * one.*cosine) / 2);
    }
    const stats::Quartiles expected = stats::quartiles(caps);
    BOOST_TEST(same(seen.lower, expected.lower), what);
    BOOST_TEST(same(seen.median, expected.median), what);
    BOOST_TEST(same(seen.upper, expected.upper), what);
}

std::int64_t patients_asked(const TaskWork& work, const study::Cell& cell) {
    std::set<std::int32_t> patients;
    for (std::int64_t q = 0; q < cell.positive_queries; ++q) {
        const auto& rows = work.contexts[static_cast<std::size_t>(cell.context)].rows;
        const ContextRow query = cell.queries[static_cast<std::size_t>(q)];
        patients.insert(
            work.pool.patient[static_cast<std::size_t>(rows[static_cast<std::size_t>(query.value)].value)]);
    }
    return static_cast<std::int64_t>(patients.size());
}

/// Holds what rank 0 counted against the definitions, cell by cell and resample by resample.
void check_against_definition(const campaign::Inputs& inputs, const std::vector<TaskWork>& work,
                              const Counted& seen) {
    std::size_t next_cell = 0;
    std::map<std::array<std::size_t, 4>, std::vector<Counts>> findings;
    std::map<std::array<std::size_t, 4>, std::array<std::int64_t, 2>> first_draw;
    for (std::size_t w = 0; w < work.size(); ++w) {
        const TaskWork& here = work[w];
        const auto times = draws_of(inputs.study, here);
        const study::Task& task = inputs.study.tasks[here.task];
        for (std::size_t e = 0; e < task.encoders.size(); ++e) {
            for (std::size_t c = 0; c < here.cells.size(); ++c) {
                const study::Cell& cell = here.cells[c];
                if (!cell.scored()) continue;
                const auto rows = made_rows(here, task.encoders[e], static_cast<std::size_t>(cell.context));
                const Found found = found_by_definition(inputs.study, work, w, e, c, rows);
                std::size_t scored = 0;  // the first draw of the rule among the candidates that score
                for (std::size_t r = 0; r < here.rules.size(); ++r) {
                    const auto draws = static_cast<std::size_t>(std::ranges::count_if(
                        cell.candidates,
                        [&](const study::Candidates& s) { return s.rule == here.rules[r] && !s.unscored; }));
                    if (draws == 0) continue;
                    const std::string what = "work " + std::to_string(w) + ", encoder " + std::to_string(e) +
                                             ", cell " + std::to_string(c) + ", rule " + std::to_string(r);
                    std::vector<Counts> counts;
                    for (const auto& t : times)
                        counts.push_back(counts_of(here, cell, found, here.rules[r], r == 0, t));
                    const auto& draw0 = found.sign[scored];
                    scored += draws;
                    const std::array<std::int64_t, 2> first{std::ranges::count(draw0, std::int8_t{1}),
                                                            std::ranges::count(draw0, std::int8_t{0})};

                    BOOST_REQUIRE_MESSAGE(next_cell < seen.cells.size(), what);
                    const CellResult& result = seen.cells[next_cell++];
                    BOOST_TEST((std::array{result.work, result.encoder, result.cell, result.rule} ==
                                std::array{w, e, c, r}),
                               what);
                    check_estimate(result.summary.d, counts, &Counts::rate, what);
                    check_estimate(result.summary.margin_auroc, counts, &Counts::margin_auroc, what);
                    check_estimate(result.summary.balanced_accuracy, counts, &Counts::balanced_accuracy,
                                   what);
                    BOOST_TEST(same(result.summary.rate_mid, counts[0].rate_mid()), what);
                    BOOST_TEST(result.summary.discordant == first[0], what);
                    BOOST_TEST(result.summary.ties == first[1], what);
                    BOOST_TEST(result.summary.queries == cell.positive_queries, what);
                    BOOST_TEST(result.summary.negative_queries ==
                                   static_cast<std::int64_t>(cell.queries.size()) - cell.positive_queries,
                               what);
                    BOOST_TEST(result.summary.patients == patients_asked(here, cell), what);
                    if (r == 0) {
                        check_caps(result.cap, found, cell.positive_queries, &instruments::Discordance::c_neg,
                                   what);
                        check_caps(result.cap1, found, cell.positive_queries, &instruments::Discordance::s1,
                                   what);
                    }
                    const std::array key{w, e, static_cast<std::size_t>(cell.finding), r};
                    auto& sum = findings[key];
                    sum.resize(counts.size());
                    for (std::size_t b = 0; b < counts.size(); ++b) sum[b] += counts[b];
                    for (std::size_t i = 0; i < 2; ++i) first_draw[key][i] += first[i];
                }
            }
        }
    }
    BOOST_TEST(seen.cells.size() == next_cell);

    BOOST_TEST(seen.findings.size() == findings.size());
    std::size_t next = 0;
    for (const auto& [key, counts] : findings) {
        if (next == seen.findings.size()) break;
        const FindingResult& result = seen.findings[next++];
        BOOST_TEST((std::array{result.work, result.encoder, result.finding, result.rule} == key));
        BOOST_TEST(same(result.tally.observed, counts[0]));
        BOOST_TEST(result.tally.resampled.size() == counts.size() - 1);
        std::size_t differ = 0;
        for (std::size_t b = 1; b < counts.size(); ++b)
            differ += !same(result.tally.resampled[b - 1], counts[b]);
        BOOST_TEST(differ == 0);
        BOOST_TEST(result.discordant == first_draw[key][0]);
        BOOST_TEST(result.ties == first_draw[key][1]);
        BOOST_TEST(result.tally.discordant_by_draw.size() == 2);
        BOOST_TEST(result.tally.discordant_by_draw[0] == result.discordant);
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(campaign_inference)

// At every rank count this holds against the same definition: so the results of all rank counts are one.
BOOST_AUTO_TEST_CASE(what_is_counted_is_the_definition_at_any_rank_count_block_size_and_cut) {
    const campaign::Inputs inputs = made_inputs();
    const std::vector<TaskWork> work = made_work(inputs);
    for (const bool all_on_last : {false, true}) {
        const Counted seen = all_on_last ? counted(inputs, work, 7, {19, threads(), 30}, true)
                                         : counted(inputs, work, 4096, {512, 1}, false);
        if (world().rank() == 0) {
            check_against_definition(inputs, work, seen);
            BOOST_TEST(seen.cells.size() > 40);
        } else {
            BOOST_TEST(seen.cells.empty());
            BOOST_TEST(seen.findings.empty());
        }
    }
}

// Faults 23: more ranks than work, and no work at all.
BOOST_AUTO_TEST_CASE(ranks_with_nothing_to_do_join_in) {
    campaign::Inputs inputs = made_inputs("made.toml", {"operator.k=1", "operator.draws=2"});
    inputs.study.tasks.resize(1);
    inputs.study.tasks[0].encoders.resize(1);
    inputs.study.tasks[0].findings.resize(1);
    inputs.study.tasks[0].datasets = {1};  // edema has two positives there
    std::vector<TaskWork> work = made_work(inputs);
    BOOST_TEST(work[0].cells.size() == 1);
    const Counted one = counted(inputs, work, 4096, {512, 1}, false);
    if (world().rank() == 0) {
        check_against_definition(inputs, work, one);
        BOOST_TEST(one.findings.size() >= 1);
    }

    inputs = made_inputs("made.toml", {"operator.k=100", "operator.bank_cap=0"});
    work = made_work(inputs);
    const Counted none = counted(inputs, work, 4096, {512, 1}, false);
    BOOST_TEST(none.cells.empty());
    BOOST_TEST(none.findings.empty());
}

BOOST_AUTO_TEST_CASE(every_finding_has_one_owner_known_to_all) {
    const campaign::Inputs inputs = made_inputs();
    const std::vector<TaskWork> work = made_work(inputs);
    const auto owner = campaign::counting_owners(inputs.study, work, world().size());
    std::string all;
    std::set<int> ranks;
    for (std::size_t w = 0; w < work.size(); ++w) {
        const study::Task& task = inputs.study.tasks[work[w].task];
        for (std::size_t e = 0; e < task.encoders.size(); ++e) {
            for (std::size_t f = 0; f < task.findings.size(); ++f) {
                const int rank = owner(w, e, f);
                BOOST_TEST(rank >= 0);
                BOOST_TEST(rank < world().size());
                ranks.insert(rank);
                all += std::to_string(rank) + " ";
            }
        }
    }
    BOOST_TEST(ranks.size() ==
               static_cast<std::size_t>(world().size()));  // eight findings for at most five ranks
    for (const std::string& other : world().all_gather(all)) BOOST_TEST(other == all);
}

BOOST_AUTO_TEST_SUITE_END()
