#include "candor/campaign/detection_mpi.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "candor/campaign/result_journal_mpi.hpp"
#include "candor/campaign/selection_mpi.hpp"
#include "candor/neighbors/memory_rows.hpp"
#include "made_heads.hpp"
#include "shared_journal.hpp"

using namespace candor;
using namespace candor::testing;
using campaign::DetectionJob;
using campaign::ResultJournal;
using campaign::ScoredHeads;

namespace {

/// Training and test rows of a job, as made: not of length one.
std::unique_ptr<neighbors::RowSource> open_rows(const DetectionJob& job) {
    const MadeHeads& made = made_heads();
    const study::HeadRows& rows = made.heads[job.work][job.dataset];
    const study::Task& task = made.inputs.study.tasks[made.work[job.work].task];
    const std::size_t encoder = task.encoders[job.encoder];
    std::vector<std::string> images;
    for (const TableRow row : rows.training.rows)
        images.push_back(made.inputs.tables[rows.dataset].image[static_cast<std::size_t>(row.value)]);
    for (const PoolRow row : rows.test)
        images.push_back(made.work[job.work].pool.image[static_cast<std::size_t>(row.value)]);
    Matrix<float> all(std::ssize(images), made_dimensions[encoder]);
    for (std::size_t i = 0; i < images.size(); ++i)
        std::ranges::copy(made_features(encoder, images[i]), all.row(static_cast<std::int64_t>(i)).begin());
    return std::make_unique<neighbors::MemoryRows>(neighbors::StoredRows(std::move(all)));
}

/// This rank's share of the trained heads: whichever.
std::vector<campaign::TrainedHead> share() {
    std::vector<campaign::TrainedHead> mine;
    for (std::size_t i = 0; i < made_heads().all.size(); ++i) {
        if (static_cast<int>(i % static_cast<std::size_t>(world().size())) != world().rank()) continue;
        ByteWriter out;
        put(out, made_heads().all[i].result);
        const std::string bytes = out.take();
        ByteReader in(bytes);
        mine.push_back({made_heads().all[i].job, campaign::get_head_result(in)});
    }
    return mine;
}

struct Detected {
    std::vector<ScoredHeads> here;
    campaign::DetectionTables tables;
};

Detected detect(ResultJournal& journal, parallel::StopRequest& stop, int threads, std::int64_t& opened,
                std::int64_t stop_at = -1) {
    Detected detected;
    detected.here = campaign::score_heads_mpi(
        world(), made_heads().inputs.study, made_heads().work, made_heads().heads, share(), made_dimensions,
        [&](const DetectionJob& job) {
            if (opened++ == stop_at) std::raise(SIGUSR1);
            return open_rows(job);
        },
        threads, 0, journal, stop, silent);
    detected.tables = campaign::detection_mpi(world(), made_heads().inputs.study, made_heads().work,
                                              made_heads().heads, detected.here, threads, stop, silent);
    return detected;
}

/// A table as bytes, the same on every rank.
std::string bytes_of(const store::ResultTable& table) {
    std::string text;
    for (const store::Column& column : table.columns) {
        text += column.name + ":";
        std::visit(
            [&](const auto& values) {
                for (const auto& value : values) {
                    ByteWriter out;
                    out.put(value);
                    text += out.take();
                }
            },
            column.values);
    }
    return world().broadcast(text);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(detection_mpi)

BOOST_AUTO_TEST_CASE(every_row_is_scored_by_what_its_definition_says) {
    ResultJournal none;
    parallel::StopRequest never;
    std::int64_t opened = 0;
    const Detected results = detect(none, never, 2, opened);
    const MadeHeads& made = made_heads();
    std::int64_t jobs[] = {std::ssize(results.here)};
    world().sum(jobs);
    BOOST_TEST(jobs[0] == 3 * 2 + 2);  // encoders x datasets
    const int k = made.inputs.study.op.k;
    for (const ScoredHeads& scored : results.here) {
        const campaign::TaskWork& work = made.work[scored.job.work];
        const study::HeadRows& rows = made.heads[scored.job.work][scored.job.dataset];
        const auto features = open_rows(scored.job);
        std::vector<ContextRow> everything;
        for (std::int64_t i = 0; i < features->rows(); ++i) everything.emplace_back(i);
        const auto stored = std::get<Matrix<float>>(features->read(everything));
        const auto cosine = [&](std::int64_t a, std::int64_t b) {
            double ab = 0, aa = 0, bb = 0;
            for (std::size_t j = 0; j < stored.row(a).size(); ++j) {
                ab += static_cast<double>(stored.row(a)[j]) * static_cast<double>(stored.row(b)[j]);
                aa += static_cast<double>(stored.row(a)[j]) * static_cast<double>(stored.row(a)[j]);
                bb += static_cast<double>(stored.row(b)[j]) * static_cast<double>(stored.row(b)[j]);
            }
            return ab / std::sqrt(aa * bb);
        };
        for (std::size_t f = 0; f < scored.threshold.size(); ++f) {
            for (std::size_t i = 0; i < rows.test.size(); ++i) {
                const auto at = static_cast<std::size_t>(rows.test[i].value);
                std::vector<double> near;
                for (std::size_t t = 0; t < rows.training.rows.size(); ++t) {
                    if (rows.training.labels[f][t] < 0 || rows.training.context[t] != work.pool.context[at])
                        continue;
                    near.push_back(cosine(static_cast<std::int64_t>(t),
                                          std::ssize(rows.training.rows) + static_cast<std::int64_t>(i)));
                }
                std::ranges::sort(near, std::greater());
                const double distance = scored.geometry.distance.row(static_cast<std::int64_t>(f))[i];
                if (work.pool.labels[f][at] < 0 || std::ssize(near) < k) {
                    BOOST_TEST(std::isnan(distance));
                    continue;
                }
                // d roundings of products of numbers up to 1, twice.
                BOOST_TEST(std::abs(distance - (1 - near[static_cast<std::size_t>(k - 1)])) < 1e-13);
                const double impurity = scored.geometry.impurity.row(static_cast<std::int64_t>(f))[i];
                BOOST_TEST((impurity >= 0 && impurity <= 1));
            }
        }
        // Member 0 is the head.
        const auto head =
            std::ranges::find(made.all,
                              campaign::HeadJob{scored.job.work, scored.job.encoder, scored.job.dataset,
                                                instruments::HeadKind::linear, 0},
                              &campaign::TrainedHead::job);
        for (std::int64_t f = 0; f < scored.validation.rows(); ++f)
            BOOST_TEST((std::ranges::equal(scored.validation.row(f), head->result.validation.row(f))));
    }
}

// What is scored is kept: a run that is stopped goes on with the rest, and the tables are the same bytes.
BOOST_AUTO_TEST_CASE(scores_are_kept_and_not_computed_again) {
    ResultJournal none;
    parallel::StopRequest never;
    std::int64_t opened = 0;
    const std::string expected = bytes_of(detect(none, never, 1, opened).tables.detection);
    BOOST_TEST(!expected.empty());
    for (const std::int64_t first : {0, 1}) {
        const SharedJournal folder;
        std::int64_t total[] = {0};
        bool done = false;
        for (std::int64_t turn = 0; !done; ++turn) {
            BOOST_TEST_REQUIRE(turn < 100);
            campaign::SearchJournal journal(world(), folder.output(), ours, 512, false, silent);
            ResultJournal kept(journal);
            parallel::StopRequest stop(world());
            opened = 0;
            const bool asked = static_cast<int>(turn) % world().size() == world().rank();
            try {
                const Detected results =
                    detect(kept, stop, 1 + static_cast<int>(turn % 2), opened, asked ? first + turn / 2 : -1);
                done = true;
                BOOST_TEST((bytes_of(results.tables.detection) == expected));
                stop.close();
            } catch (const parallel::Stopped&) {
            }
            total[0] += opened;
        }
        world().sum(total);

        BOOST_TEST(total[0] >= 8);
        {
            campaign::SearchJournal journal(world(), folder.output(), ours, 512, false, silent);
            ResultJournal kept(journal);
            opened = 0;
            BOOST_TEST((bytes_of(detect(kept, never, 1, opened).tables.detection) == expected));
            BOOST_TEST(opened == 0);
            journal.remove(world());
        }
    }
}

BOOST_AUTO_TEST_CASE(selection_needs_a_panel_and_is_the_same_on_any_ranks) {
    ResultJournal none;
    parallel::StopRequest never;
    std::int64_t opened = 0;
    const Detected results = detect(none, never, 1, opened);
    const study::Study& study = made_heads().inputs.study;
    campaign::TrainingRates training;
    for (const campaign::TaskWork& work : made_heads().work) {
        const study::Task& task = study.tasks[work.task];
        training.emplace_back(task.encoders.size(), std::vector<double>(task.findings.size(), 0.25));
    }
    const auto table = campaign::selection_mpi(world(), study, made_heads().work, made_heads().heads,
                                               results.here, training, 2, never, silent);
    BOOST_TEST((world().rank() == 0) == (table.rows() > 0));
    if (world().rank() != 0) return;
    // Equal D leaves all encoders tied: the rule is then an encoder at random.
    const auto& policy = std::get<std::vector<std::string>>(table.find("policy")->values);
    const auto& miss = std::get<std::vector<double>>(table.find("miss")->values);
    const auto& closed = std::get<std::vector<double>>(table.find("gap_closed")->values);
    std::int64_t compared = 0;
    for (std::size_t row = 0; row + 5 < policy.size(); ++row) {
        if (policy[row] != "single" || std::isnan(miss[row])) continue;
        BOOST_TEST(policy[row + 5] == "lowest_d");
        BOOST_TEST(std::abs(miss[row + 5] - miss[row]) < 1e-14);
        if (!std::isnan(closed[row + 1])) BOOST_TEST(closed[row + 1] == 1);
        ++compared;
    }
    BOOST_TEST(compared > 4);
    // Who contributes to a rate are the patients of one label.
    const auto of = [&](const char* name) {
        return std::get<std::vector<std::int64_t>>(table.find(name)->values);
    };
    const auto all = of("patients"), positive = of("positive_patients"), negative = of("negative_patients"),
               flagged = of("few_patients");
    std::int64_t for_one_label = 0;
    for (std::size_t row = 0; row < policy.size(); ++row) {
        BOOST_TEST(flagged[row] == (std::min(positive[row], negative[row]) < 10));
        BOOST_TEST((std::max(positive[row], negative[row]) <= all[row] &&
                    all[row] <= positive[row] + negative[row]));
        for_one_label += flagged[row] != 0 && all[row] >= 10;
    }
    BOOST_TEST(for_one_label > 0);
}

BOOST_AUTO_TEST_SUITE_END()
