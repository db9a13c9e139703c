#include "candor/campaign/heads_mpi.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "candor/base/hash.hpp"
#include "candor/campaign/head_table_mpi.hpp"
#include "candor/campaign/inference_mpi.hpp"
#include "candor/campaign/result_journal_mpi.hpp"
#include "candor/instruments/head_margin.hpp"
#include "candor/instruments/operating_point.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/store/journal.hpp"
#include "definition.hpp"
#include "made_heads.hpp"
#include "made_study.hpp"
#include "shared_journal.hpp"

using namespace candor;
using namespace candor::testing;
using campaign::HeadJob;
using campaign::ResultJournal;
using campaign::TrainedHead;

namespace {

std::string bytes_of(const TrainedHead& head) {
    ByteWriter out;
    put(out, head.job);
    put(out, head.result);
    return out.take();
}

/// All that the ranks hold, in the order of the jobs.
std::vector<std::string> gathered(const std::vector<TrainedHead>& here) {
    ByteWriter mine;
    for (const TrainedHead& head : here) mine.put(bytes_of(head));
    std::vector<std::pair<HeadJob, std::string>> all;
    for (const std::string& bytes : world().all_gather(mine.take())) {
        ByteReader in(bytes);
        while (!in.done()) {
            std::string head = in.get_text();
            ByteReader of(head);
            const HeadJob job = campaign::get_head_job(of);
            all.emplace_back(job, std::move(head));
        }
    }
    std::ranges::sort(all);
    std::vector<std::string> bytes;
    for (auto& [job, head] : all) bytes.push_back(std::move(head));
    return bytes;
}

std::vector<std::string> expected() {
    std::vector<std::string> bytes;
    for (const TrainedHead& head : made_heads().all) bytes.push_back(bytes_of(head));
    return bytes;
}

std::vector<TrainedHead> train(ResultJournal& journal, parallel::StopRequest& stop, int threads,
                               std::int64_t reads = -1,
                               std::chrono::milliseconds pause = std::chrono::seconds(30)) {
    return campaign::train_heads_mpi(
        world(), made_heads().inputs.study, made_heads().work, made_heads().heads, made_dimensions,
        [&](const HeadJob& job) {
            if (reads-- == 0) std::raise(SIGUSR1);
            return made_heads().open(job);
        },
        threads, journal, stop, silent, pause);
}

double real(const store::ResultTable& table, const char* column, std::int64_t row) {
    return std::get<std::vector<double>>(table.find(column)->values)[static_cast<std::size_t>(row)];
}
std::int64_t whole(const store::ResultTable& table, const char* column, std::int64_t row) {
    return std::get<std::vector<std::int64_t>>(table.find(column)->values)[static_cast<std::size_t>(row)];
}
const std::string& text(const store::ResultTable& table, const char* column, std::int64_t row) {
    return std::get<std::vector<std::string>>(table.find(column)->values)[static_cast<std::size_t>(row)];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(heads_mpi)

BOOST_AUTO_TEST_CASE(every_training_is_done_once_with_the_bits_it_has_alone) {
    // 3 encoders x 2 datasets and 2 encoders x 1; of the linear kind two members, of the hidden one the head.
    BOOST_TEST_REQUIRE(made_heads().all.size() == (3 * 2 + 2 * 1) * (2 + 1));
    for (const int threads : {1, 2, 3}) {
        ResultJournal none;
        parallel::StopRequest never;
        BOOST_TEST((gathered(train(none, never, threads)) == expected()));
    }
}

BOOST_AUTO_TEST_CASE(a_result_comes_back_from_bytes_and_not_from_a_part_of_them) {
    const std::string bytes = bytes_of(made_heads().all.front());
    ByteReader in(bytes);
    TrainedHead back{campaign::get_head_job(in), {}};
    back.result = campaign::get_head_result(in);
    BOOST_TEST(in.done());
    BOOST_TEST((bytes_of(back) == bytes));
    ByteReader cut(std::string_view(bytes).substr(0, bytes.size() - 1));
    campaign::get_head_job(cut);
    BOOST_CHECK_THROW(campaign::get_head_result(cut), InternalError);
}

// Stopped again and again, wherever rows are read, what was finished is not trained again.
BOOST_AUTO_TEST_CASE(a_run_that_is_stopped_goes_on_with_the_same_bits) {
    std::size_t stops = 0;
    for (const std::int64_t first : {0, 2}) {
        const SharedJournal folder;
        std::size_t turn = 0;
        for (bool done = false; !done; ++turn) {
            BOOST_TEST_REQUIRE(turn < 100);
            campaign::SearchJournal journal(world(), folder.output(), ours, 512, false, silent);
            ResultJournal heads(journal);
            parallel::StopRequest stop(world());
            const bool asked = static_cast<int>(turn) % world().size() == world().rank();
            try {
                const auto trained = train(heads, stop, 1 + static_cast<int>(turn % 2),
                                           asked ? first + static_cast<std::int64_t>(turn) : -1);
                done = true;
                BOOST_TEST((gathered(trained) == expected()));
                // One more run finds everything done.
                campaign::SearchJournal again(world(), folder.output(), ours, 512, false, silent);
                ResultJournal all(again);
                std::int64_t reads[] = {0};
                const auto nothing_new = campaign::train_heads_mpi(
                    world(), made_heads().inputs.study, made_heads().work, made_heads().heads,
                    made_dimensions,
                    [&](const HeadJob& job) {
                        ++reads[0];
                        return made_heads().open(job);
                    },
                    1, all, stop, silent);
                world().sum(reads);
                BOOST_TEST(reads[0] == 0);
                BOOST_TEST((gathered(nothing_new) == expected()));
                stop.close();
                again.remove(world());
            } catch (const parallel::Stopped&) {
                ++stops;
            }
        }
        world().barrier();
        BOOST_TEST(std::filesystem::is_empty(folder.folder()));
        world().barrier();
    }
    BOOST_TEST(stops > 0);
}

// A training that is ended after any epoch goes on there, with the bits of one that was not.
BOOST_AUTO_TEST_CASE(a_training_goes_on_where_it_was) {
    using namespace std::chrono_literals;
    for (const TrainedHead* const one : {&made_heads().all.front(), &made_heads().all.back()}) {
        const TrainedHead& whole = *one;
        const campaign::HeadInputs rows = made_heads().open(whole.job);
        std::vector<std::string> states;
        const auto never = [] { return false; };
        const auto keep = [&](const std::string& state) { states.push_back(state); };
        auto first = campaign::train_head(made_heads().inputs.study, made_heads().work, whole.job, rows,
                                          {never, "", keep, 0ms});
        BOOST_TEST((bytes_of({whole.job, std::move(*first)}) == bytes_of(whole)));
        BOOST_TEST_REQUIRE(states.size() == 3);
        for (std::size_t epoch = 0; epoch < 3; ++epoch) {
            std::size_t more = 0;
            auto again =
                campaign::train_head(made_heads().inputs.study, made_heads().work, whole.job, rows,
                                     {never, states[epoch], [&](const std::string&) { ++more; }, 0ms});
            BOOST_TEST(more == 2 - epoch);
            BOOST_TEST((bytes_of({whole.job, std::move(*again)}) == bytes_of(whole)));
        }
        BOOST_TEST((states[0] != states[1]));
        // One that is stopped gives nothing, and keeps nothing of the epoch that it is in.
        states.clear();
        std::int64_t batches = 0;
        const auto stops = [&] { return ++batches > 1; };
        BOOST_TEST(!campaign::train_head(made_heads().inputs.study, made_heads().work, whole.job, rows,
                                         {stops, "", keep, 0ms}));
        BOOST_TEST(states.size() <= 1);
    }
}

// What is kept of a training counts on one kind of processor and for one study, and goes when it is done.
BOOST_AUTO_TEST_CASE(checkpoints_of_trainings_are_read_and_removed) {
    const SharedJournal folder;
    campaign::SearchJournal journal(world(), folder.output(), ours, 512, false, silent);
    ResultJournal results(journal);
    const std::string rank = "-" + std::to_string(world().rank());
    const std::string name = campaign::file_name_of(made_heads().all.back().job) + rank;
    BOOST_TEST(!results.checkpoint(name));
    results.keep_checkpoint(name, "first");
    results.keep_checkpoint(name, "second");
    BOOST_TEST((results.checkpoint(name) == std::optional<std::string>("second")));
    BOOST_TEST(!results.checkpoint(campaign::file_name_of(made_heads().all.front().job) + rank));
    std::filesystem::remove(folder.folder() + "/" + name + ".training");
    {
        store::JournalWriter writer(folder.folder() + "/" + name + ".training", journal.identity());
        ByteWriter other;
        other.put(std::string("another core"));
        other.put(std::string("third"));
        writer.append(other.take());
    }
    BOOST_TEST(!results.checkpoint(name));
    results.keep_checkpoint(name, "fourth");
    results.drop_checkpoint(name);
    BOOST_TEST(!results.checkpoint(name));
    results.keep_checkpoint(name, "left");
    journal.remove(world());
    BOOST_TEST(std::filesystem::is_empty(folder.folder()));
    world().barrier();
    ResultJournal none;
    none.keep_checkpoint(name, "nowhere");
    BOOST_TEST(!none.checkpoint(name));
}

// Results of another kind of processor are as if they were not there.
BOOST_AUTO_TEST_CASE(heads_of_another_processor_are_trained_again) {
    const SharedJournal folder;
    for (const bool other : {true, false}) {
        campaign::SearchJournal journal(world(), folder.output(), ours, 512, false, silent);
        store::JournalWriter writer(journal.results_file(), journal.identity());
        for (const TrainedHead& head : made_heads().all) {
            if (head.job.member % world().size() != world().rank()) continue;
            ByteWriter key, result, record;
            put(key, head.job);
            put(result, head.result);
            record.put(campaign::Kept::head);
            record.put(other ? std::string("another core") : linalg::blas_core());
            record.put(key.take());
            record.put(result.take());
            writer.append(record.take());
        }
        writer.sync();
        world().barrier();
        campaign::SearchJournal next(world(), folder.output(), ours, 512, false, silent);
        const auto earlier = ResultJournal(next).earlier_mpi(world(), campaign::Kept::head);
        BOOST_TEST(earlier.done.size() == (other ? 0 : made_heads().all.size()));
        BOOST_TEST(ResultJournal(next).earlier_mpi(world(), campaign::Kept::scores).done.empty());
    }
}

// The table against definitions: pairs counted one by one, margins case by case with the nearest negative
// looked for anew.
BOOST_AUTO_TEST_CASE(the_table_says_what_the_definitions_say) {
    const study::Study& study = made_heads().inputs.study;
    const auto owner = campaign::counting_owners(study, made_heads().work, world().size());
    const std::vector<campaign::Found> everything =
        all_by_definition(study, made_heads().work, open_made(study, made_heads().work));
    campaign::SearchCost cost;
    const neighbors::SearchOptions options;
    const auto plan =
        campaign::plan_search(study, made_heads().work, made_dimensions, options, world().size(), {});
    const auto owned =
        campaign::deliver_mpi(world(), made_heads().work,
                              search_all_mpi(world(), study, made_heads().work, plan,
                                             open_made(study, made_heads().work), options, cost),
                              owner);
    ResultJournal none;
    parallel::StopRequest never;
    const auto results = campaign::head_table_mpi(world(), study, made_heads().work, made_heads().heads,
                                                  train(none, never, 1), owned, 2, never, silent);
    const store::ResultTable& table = results.table;
    BOOST_TEST((world().rank() == 0) == (table.rows() > 0));
    if (world().rank() != 0) return;
    // Two kinds; datasets, then findings, then tasks.
    BOOST_TEST(table.rows() == (3 * 2 * 2 + 2 * 1 + 3 * 2 + 2 * 1 + 3 + 2) * 2);

    std::int64_t row = 0, compared = 0, cases_seen = 0, separated = 0;
    struct Pooled {
        double wins = 0, pairs = 0;
    };
    for (std::size_t w = 0; w < made_heads().work.size(); ++w) {
        const campaign::TaskWork& work = made_heads().work[w];
        const study::Task& task = study.tasks[work.task];
        std::map<std::tuple<std::size_t, instruments::HeadKind, std::size_t>, Pooled> over_datasets;
        for (std::size_t d = 0; d < task.datasets.size(); ++d) {
            const study::HeadRows& rows = made_heads().heads[w][d];
            const auto asked = campaign::asked_rows(study, work.pool, rows);
            for (std::size_t e = 0; e < task.encoders.size(); ++e) {
                for (const auto kind : campaign::head_kinds(study)) {
                    for (std::size_t f = 0; f < task.findings.size(); ++f, ++row) {
                        BOOST_TEST(text(table, "encoder", row) == study.encoders[task.encoders[e]].id);
                        BOOST_TEST(text(table, "finding", row) == task.findings[f]);
                        BOOST_TEST(text(table, "kind", row) == campaign::name_of(kind));
                        const auto at =
                            std::ranges::find(made_heads().all, HeadJob{w, e, d, kind, 0}, &TrainedHead::job);
                        const auto z_of = [&](PoolRow which) {
                            const auto place = std::ranges::find(asked, which) - asked.begin();
                            return at->result.asked.row(
                                static_cast<std::int64_t>(f))[static_cast<std::size_t>(place)];
                        };
                        double wins = 0, pairs = 0;
                        for (const PoolRow p : rows.test) {
                            for (const PoolRow n : rows.test) {
                                const auto a = static_cast<std::size_t>(p.value),
                                           b = static_cast<std::size_t>(n.value);
                                if (work.pool.labels[f][a] != 1 || work.pool.labels[f][b] != 0 ||
                                    work.pool.context[a] != work.pool.context[b])
                                    continue;
                                pairs += 1;
                                wins += z_of(p) > z_of(n) ? 1 : z_of(p) == z_of(n) ? 0.5 : 0;
                            }
                        }
                        BOOST_TEST(static_cast<double>(whole(table, "pairs", row)) == pairs);
                        over_datasets[{e, kind, f}].wins += wins;
                        over_datasets[{e, kind, f}].pairs += pairs;
                        if (pairs == 0) {
                            BOOST_TEST(std::isnan(real(table, "auroc", row)));
                        } else {
                            BOOST_TEST(std::abs(real(table, "auroc", row) - wins / pairs) < 1e-14);
                            ++compared;
                        }
                        std::vector<double> positives;
                        for (std::size_t i = 0; i < rows.validation.rows.size(); ++i) {
                            if (rows.validation.labels[f][i] == 1)
                                positives.push_back(
                                    at->result.validation.row(static_cast<std::int64_t>(f))[i]);
                        }
                        const auto point = instruments::operating_point(positives, study.heads.sensitivity);
                        BOOST_TEST(point.has_value() == !std::isnan(real(table, "threshold", row)));
                        if (!point) continue;
                        BOOST_TEST(real(table, "threshold", row) == point->threshold);

                        std::vector<instruments::HeadCase> cases;
                        std::int64_t unasked = 0;
                        for (const campaign::Found& found : everything) {
                            const study::Cell& cell = work.cells[std::min(found.cell, work.cells.size() - 1)];
                            if (found.work != w || found.encoder != e ||
                                static_cast<std::size_t>(cell.finding) != f || !cell.in_figures())
                                continue;
                            const auto& context = work.contexts[static_cast<std::size_t>(cell.context)];
                            const auto features =
                                made_rows(work, task.encoders[e], static_cast<std::size_t>(cell.context));
                            const study::Candidates& candidates = cell.candidates.front();
                            for (std::int64_t q = 0; q < cell.positive_queries; ++q) {
                                const auto i = static_cast<std::size_t>(q);
                                const PoolRow x =
                                    context.rows[static_cast<std::size_t>(cell.queries[i].value)];
                                if (found.primary[i].margin() <= 0 ||
                                    std::cmp_not_equal(work.pool.dataset[static_cast<std::size_t>(x.value)],
                                                       rows.dataset))
                                    continue;
                                const Reach reach = candidates.reach[0][i];
                                double best = -2;
                                PoolRow nearest(-1);
                                for (std::int64_t n = 0; n < reach.end; ++n) {
                                    if (n == reach.skip) continue;
                                    const ContextRow candidate =
                                        candidates.list[0][static_cast<std::size_t>(n)];
                                    const double c = features.cosine(cell.queries[i], candidate);
                                    if (c <= best) continue;
                                    best = c;
                                    nearest = context.rows[static_cast<std::size_t>(candidate.value)];
                                }
                                if (std::ranges::find(asked, nearest) == asked.end()) {
                                    ++unasked;
                                } else {
                                    cases.push_back({z_of(x), z_of(nearest), best});
                                }
                            }
                        }
                        const auto margins =
                            instruments::head_margins(cases, point->threshold, real(table, "lipschitz", row));
                        BOOST_TEST(whole(table, "cases", row) == margins.cases);
                        BOOST_TEST(whole(table, "cases_unasked", row) == unasked);
                        BOOST_TEST(whole(table, "separated", row) == margins.separated);
                        BOOST_TEST(whole(table, "violations", row) == 0);
                        if (margins.separated > 0)
                            BOOST_TEST(real(table, "margin_median", row) == margins.margin.median);
                        cases_seen += margins.cases;
                        separated += margins.separated;
                    }
                }
            }
        }
        for (std::size_t e = 0; e < task.encoders.size(); ++e) {
            for (const auto kind : campaign::head_kinds(study)) {
                for (std::size_t f = 0; f < task.findings.size(); ++f, ++row) {
                    const Pooled& over = over_datasets.at({e, kind, f});
                    BOOST_TEST(text(table, "level", row) == "finding");
                    BOOST_TEST(text(table, "finding", row) == task.findings[f]);
                    BOOST_TEST(std::abs(real(table, "auroc", row) - over.wins / over.pairs) < 1e-14);
                    BOOST_TEST(real(table, "auroc_low", row) <= real(table, "auroc", row));
                    if (kind == instruments::HeadKind::linear)
                        BOOST_TEST(results.aurocs.finding[w][e][f] == real(table, "auroc", row));
                }
            }
        }
        for (std::size_t e = 0; e < task.encoders.size(); ++e) {
            for (const auto kind : campaign::head_kinds(study)) {
                double mean = 0;
                for (std::size_t f = 0; f < task.findings.size(); ++f) {
                    const Pooled& over = over_datasets.at({e, kind, f});
                    mean += over.wins / over.pairs / static_cast<double>(task.findings.size());
                }
                BOOST_TEST(text(table, "level", row) == "task");
                BOOST_TEST(text(table, "kind", row) == campaign::name_of(kind));
                BOOST_TEST(std::abs(real(table, "auroc", row) - mean) < 1e-14);
                if (kind == instruments::HeadKind::linear)
                    BOOST_TEST(results.aurocs.task[w][e] == real(table, "auroc", row));
                ++row;
            }
        }
    }
    BOOST_TEST(row == table.rows());
    BOOST_TEST(compared > 10);
    BOOST_TEST(cases_seen > 50);
    BOOST_TEST(separated > 0);
}

BOOST_AUTO_TEST_CASE(a_dataset_without_heads_has_a_row_that_says_why) {
    const campaign::Inputs inputs = made_inputs();
    const auto work = made_work(inputs);
    campaign::HeadRowsOfWork heads;
    for (std::size_t t = 0; t < work.size(); ++t)
        heads.push_back(study::draft_head_rows(inputs.study, inputs.study.tasks[t], inputs.tables));
    parallel::StopRequest never;
    const auto table =
        campaign::head_table_mpi(world(), inputs.study, work, heads, {}, {}, 1, never, silent).table;
    if (world().rank() != 0) return;
    BOOST_TEST_REQUIRE(table.rows() == 3);
    for (std::int64_t row = 0; row < 3; ++row) {
        BOOST_TEST(text(table, "encoder", row).empty());
        BOOST_TEST(text(table, "undefined", row) == "it has no split \"train\"");
    }
}

BOOST_AUTO_TEST_SUITE_END()
