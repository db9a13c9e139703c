#include "candor/bench/machine_rates.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/bench/made_rows.hpp"
#include "candor/bench/made_study.hpp"
#include "candor/bench/paired.hpp"
#include "candor/campaign/audit.hpp"
#include "candor/campaign/encoder_features.hpp"
#include "candor/campaign/forecast.hpp"
#include "candor/campaign/inference_mpi.hpp"
#include "candor/campaign/inputs.hpp"
#include "candor/campaign/search_plan.hpp"
#include "candor/campaign/work.hpp"
#include "candor/instruments/blind_set.hpp"
#include "candor/instruments/permutations.hpp"
#include "candor/instruments/retention.hpp"
#include "candor/instruments/summary.hpp"
#include "candor/instruments/tally.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/neighbors/census.hpp"
#include "candor/parallel/stop.hpp"
#include "candor/stats/auroc.hpp"
#include "candor/stats/resampling.hpp"
#include "candor/stats/weighted_spearman.hpp"
#include "candor/stats/weighted_sums.hpp"
#include "candor/store/results_file.hpp"

namespace candor::bench {

namespace {

/// Processor seconds that `work` takes once, the least of three times: what disturbs only adds.
double seconds(const Work& work) {
    double best = processor_seconds(work);
    for (int again = 0; again < 2; ++again) best = std::min(best, processor_seconds(work));
    return best;
}

/// x and y of  a1 x + b1 y = c1  and  a2 x + b2 y = c2. Where the one comes out negative, too small beside
/// what the clock shows, it takes a hundredth of a measurement and the other the rest.
std::pair<double, double> solve(double a1, double b1, double c1, double a2, double b2, double c2) {
    constexpr double share = 0.01;
    double x = (c1 * b2 - c2 * b1) / (a1 * b2 - a2 * b1), y = (a1 * c2 - a2 * c1) / (a1 * b2 - a2 * b1);
    if (x < 0) {
        x = share * c1 / a1;
        y = (c2 - a2 * x) / b2;
    } else if (y < 0) {
        y = share * c2 / b2;
        x = (c2 - b2 * y) / a2;
    }
    return {x, y};
}

/// What the search of one task under one encoder took, and of what it was.
struct Searched {
    double rows = 0, looked_at = 0, context_rows = 0, lists = 0, asked = 0, products = 0;
    double build = 0, load = 0, meet = 0, decide = 0;
};

Searched search(const neighbors::RowSource& rows, std::span<const neighbors::Question> questions,
                double asked, int k, std::span<const std::int64_t> places) {
    const neighbors::SearchOptions options;
    Searched of;
    of.rows = of.context_rows = static_cast<double>(rows.rows());
    of.looked_at = static_cast<double>(neighbors::rows_looked_at(rows.rows()));
    of.lists = static_cast<double>(questions.size());
    of.asked = asked;
    const auto encounters = neighbors::encounters_of(rows.rows(), questions, options, places);
    for (const neighbors::Encounter& one : encounters) of.products += one.products;

    const auto made = [&] {
        return std::make_unique<neighbors::Census>(rows, questions, k, options, places);
    };
    std::string kept;
    for (int round = 0; round < 2; ++round) {
        std::unique_ptr<neighbors::Census> census;
        const auto least_of = [&](double& best, const Work& work) {
            const double taken = processor_seconds(work);
            best = round == 0 ? taken : std::min(best, taken);
        };
        least_of(of.build, [&] { census = made(); });
        least_of(of.meet, [&] {
            for (const neighbors::Encounter& one : encounters) census->meet(one.i, one.j);
        });
        if (kept.empty()) kept = census->copy_of_kept(0);
        least_of(of.decide, [&] {
            for (std::int64_t panel = 0; panel < census->panels(); ++panel) census->decide(panel);
        });
        // What was kept elsewhere cannot be taken in before all rows are read: this is the reading alone.
        census = made();
        least_of(of.load, [&] { census->add(0, kept); });
    }
    of.meet = of.meet - of.load;
    return of;
}

/// A context of the made study.
std::vector<neighbors::Question> questions_of(const campaign::TaskWork& work) {
    std::vector<neighbors::Question> questions;
    for (std::size_t c = 0; c < work.cells.size(); ++c) {
        if (!work.cells[c].scored()) continue;
        const auto own = campaign::questions_of(work, c);
        questions.insert(questions.end(), own.begin(), own.end());
    }
    return questions;
}

Searched search(const campaign::Inputs& inputs, const campaign::TaskWork& work, std::size_t encoder) {
    auto features = std::make_shared<campaign::EncoderFeatures>(inputs, encoder);
    const campaign::ContextRows rows(features, work.pool, work.contexts.front().rows);
    double asked = 0;
    for (std::size_t c = 0; c < work.cells.size(); ++c) {
        if (work.cells[c].scored())
            asked += campaign::asked_of(campaign::questions_of(work, c), inputs.study.op.k);
    }
    return search(rows, questions_of(work), asked, inputs.study.op.k, campaign::places_of(work, 0));
}

void measure_search(const campaign::Inputs& inputs, const std::vector<campaign::TaskWork>& work,
                    const std::vector<std::int64_t>& dimensions, campaign::MachineRates& rates) {
    std::vector<double> build;
    for (std::size_t e = 0; e < dimensions.size(); ++e) {
        const Searched few = search(inputs, work[0], e), some = search(inputs, work[1], e),
                       many = search(inputs, work[2], e);
        campaign::SearchRates of;
        of.dimension = dimensions[e];
        // As many rows of both larger ones are looked at: what more rows take is the reading.
        of.load = (many.load - some.load) / (many.rows - some.rows);
        std::tie(of.look, of.look_row) = solve(1, few.looked_at, few.load - few.rows * of.load, 1,
                                               some.looked_at, some.load - some.rows * of.load);
        std::tie(of.product, of.fill) =
            solve(some.products, some.asked, some.meet, many.products, many.asked, many.meet);
        of.decide = many.decide / many.asked;
        rates.search.push_back(of);
        build.push_back(many.build / (many.context_rows * many.lists));
    }
    rates.build = median(build);
}

void measure_audit(const parallel::Communicator& world, const campaign::Inputs& inputs,
                   const std::vector<study::Pool>& drafts, const std::vector<std::int64_t>& dimensions,
                   campaign::MachineRates& rates) {
    // One file each: of few rows, of many, and of as many that are long.
    const auto of_file = [&](std::size_t encoder, std::size_t task) {
        campaign::Inputs one = inputs;
        one.study.tasks = {inputs.study.tasks[task]};
        one.study.tasks.front().encoders = {encoder};
        parallel::StopRequest never;
        return seconds([&] { campaign::audit_features_mpi(world, one, {drafts[task]}, {}, never); });
    };
    const std::size_t longest = dimensions.size() - 1, largest = drafts.size() - 1;
    const auto few = static_cast<double>(drafts[0].rows()),
               many = static_cast<double>(drafts[largest].rows());
    const double of_few = of_file(0, 0), of_many = of_file(0, largest);
    rates.audit_value = (of_file(longest, largest) - of_many) /
                        (many * static_cast<double>(dimensions[longest] - dimensions[0]));
    const double of_row = static_cast<double>(dimensions[0]) * rates.audit_value;
    std::tie(rates.open, rates.audit_row) =
        solve(1, few, of_few - few * of_row, 1, many, of_many - many * of_row);
}

void measure_bootstrap(campaign::MachineRates& rates) {
    constexpr std::int64_t rows = 20'000, patients = 8000, resamples = 1000;
    const Stream of_row(0, "rates/patients", 0), value(0, "rates/values", 0);
    std::vector<std::int32_t> patient;
    std::vector<std::int64_t> hit;
    std::vector<double> score;
    for (std::int64_t i = 0; i < rows; ++i) {
        const auto at = static_cast<std::uint64_t>(i);
        patient.push_back(static_cast<std::int32_t>(of_row.below(at, patients)));
        score.push_back(value.uniform(at));
        hit.push_back(1);
    }
    const stats::Resampling resampling(0, "rates", patients, resamples);
    const double drawn = seconds([&] { resampling.for_each_block([](auto, auto) {}); });
    rates.draw = drawn / (patients * resamples);

    // One block of weights stands for all.
    Matrix<stats::Weight> weights(patients, stats::resample_block);
    resampling.weights(0, stats::resample_block, weights.view());
    const double row_resamples = static_cast<double>(rows) * stats::resample_block;
    const auto repeated = [&](int times, const Work& work) {
        return seconds([&] {
                   for (int i = 0; i < times; ++i) work();
               }) /
               (times * row_resamples);
    };
    std::vector<std::int64_t> sums(stats::resample_block), pairs(stats::resample_block);
    const stats::RowPatients of_rows(patient);
    const stats::WeightedSums counter(of_rows, hit);
    rates.sum = repeated(100, [&] { counter.add(weights.view(), sums); });
    const std::span<const double> scores(score);
    const std::span<const std::int32_t> patients_of(patient);
    constexpr std::size_t positives = 6000;
    const stats::PairCounter pair(scores.first(positives), patients_of.first(positives),
                                  scores.subspan(positives), patients_of.subspan(positives));
    rates.pair = repeated(40, [&] { pair.count(weights.view(), sums, pairs); });
    std::vector<double> other(score.rbegin(), score.rend()), rho(stats::resample_block);
    const stats::WeightedSpearman spearman(score, other, patient);
    rates.rank = repeated(2, [&] { spearman.correlate(weights.view(), rho); });

    Matrix<std::int8_t> discordant(positives, 1), ties(positives, 1);
    std::vector<double> margin;
    for (std::size_t i = 0; i < score.size(); ++i) margin.push_back(score[i] - 0.5);
    for (std::size_t i = 0; i < positives; ++i) {
        discordant.row(static_cast<std::int64_t>(i))[0] = margin[i] > 0;
        ties.row(static_cast<std::int64_t>(i))[0] = 0;
    }
    rates.counting = seconds([&] {
                         instruments::CellCounter(patient, discordant.view(), ties.view(), margin, positives);
                     }) /
                     rows;
    const instruments::CellCounter cell(patient, discordant.view(), ties.view(), margin, positives);
    instruments::Tally tally = cell.observed();
    tally.resampled.resize(resamples);
    resampling.for_each_block([&](MatrixView<const stats::Weight> block, std::int64_t first) {
        cell.count(block,
                   std::span(tally.resampled)
                       .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(block.cols)));
    });
    constexpr int times = 50;
    rates.summary = seconds([&] {
                        for (int i = 0; i < times; ++i) instruments::summarise(tally, 100, 0.95);
                    }) /
                    (times * campaign::statistics_of_a_summary * resamples);
}

/// A word of permutations of a made cell, read off lists at random.
double measure_worlds() {
    constexpr std::int64_t rows = 4000;
    constexpr int k = 5;
    const Stream made(0, "rates/worlds", 0);
    std::vector<instruments::LabelledRow> labelled;
    for (std::int32_t i = 0; i < rows; ++i) {
        instruments::LabelledRow row;
        row.label = static_cast<std::int8_t>(i % 2);
        row.patient = row.identity = i;
        labelled.push_back(row);
    }
    instruments::RoleRules rules;
    rules.k = k;
    const instruments::Participants participants(labelled, rules);
    std::vector<instruments::NearList> lists(static_cast<std::size_t>(rows));
    std::uint64_t at = 0;
    for (instruments::NearList& list : lists) {
        // A row may stand on a list twice here, or on its own: that takes no longer.
        for (std::int64_t i = 0; i < participants.list_length(); ++i) {
            list.row.push_back(static_cast<std::int32_t>(made.below(at++, rows)));
            list.cosine.push_back(1 - static_cast<double>(i) / rows);
        }
        list.whole = true;
    }
    return seconds([&] {
               const auto roles = participants.permuted(0, "rates", 0, instruments::worlds_a_word);
               instruments::count_worlds(lists, roles, participants.unit(), k, instruments::worlds_a_word,
                                         true, participants.positives());
           }) /
           static_cast<double>(rows * instruments::worlds_a_word);
}

/// Cells of few positives counted under several encoders, what they found made up: what is left beside the
/// parts that grow with the cells.
double measure_tally(const parallel::Communicator& world, const campaign::Inputs& inputs,
                     const campaign::TaskWork& work, const campaign::MachineRates& rates) {
    const study::Study& study = inputs.study;
    const Stream made(0, "rates/found", 0);
    const auto resamples = static_cast<double>(study.bootstrap.resamples);
    std::vector<campaign::Found> found;
    double known = static_cast<double>(work.pool.clusters) * resamples * rates.draw;
    std::uint64_t at = 0;
    for (std::size_t encoder = 0; encoder < study.tasks[work.task].encoders.size(); ++encoder) {
        for (std::size_t c = 0; c < work.cells.size(); ++c) {
            const study::Cell& cell = work.cells[c];
            if (!cell.scored()) continue;
            campaign::Found one{work.task, encoder, c, {}, {{}}, {}, {}, {}};
            for (std::int64_t q = 0; q < std::ssize(cell.queries); ++q) {
                one.primary.push_back({made.uniform(at), made.uniform(at + 1), 0.5});
                if (q < cell.positive_queries)
                    one.sign.front().push_back(one.primary.back().margin() > 0 ? 1 : -1);
                at += 2;
            }
            const auto all = static_cast<double>(cell.queries.size());
            known += all * rates.counting +
                     resamples * (campaign::summed_rows(static_cast<double>(cell.positive_queries), all, 1) *
                                      rates.sum +
                                  all * rates.pair);
            found.push_back(std::move(one));
        }
    }
    std::vector<campaign::TaskWork> before(work.task + 1);
    before.back() = work;
    const Log silent(Verbosity::quiet, false);
    parallel::StopRequest never;
    const double taken = seconds([&] { campaign::count_mpi(world, study, before, found, 1, never, silent); });
    return (taken - known) / (static_cast<double>(found.size()) * resamples);
}

/// Overlaps over contexts of many positives and of few.
void measure_overlap(campaign::MachineRates& rates) {
    constexpr int contexts = 6, times = 20;
    const auto of_size = [&](const instruments::ContextOverlap& one) {
        const std::vector<instruments::ContextOverlap> of(contexts, one);
        return seconds([&] {
                   for (int i = 0; i < times; ++i) instruments::pair_overlap(of);
               }) /
               times;
    };
    const double root = std::sqrt(contexts);
    std::tie(rates.overlap, rates.overlap_context) =
        solve(contexts * 1000 * root, contexts, of_size({1000, 400, 350, 180}), contexts * 10 * root,
              contexts, of_size({10, 4, 3, 2}));
}

/// Rows of 1,000 columns compared with others.
double measure_retention() {
    constexpr std::int64_t cols = 1000;
    constexpr int times = 200;
    std::vector<double> a, b;
    const Stream value(0, "rates/erased", 0);
    for (std::uint64_t i = 0; i < cols; ++i) {
        a.push_back(value.uniform(2 * i) - 0.5);
        b.push_back(value.uniform(2 * i + 1) - 0.5);
    }
    double sum = 0;
    const double taken = seconds([&] {
        for (int i = 0; i < times; ++i) sum += instruments::retention(a, b);
    });
    CANDOR_REQUIRE(std::isfinite(sum), "a retention");
    return taken / (times * cols);
}

void measure_write(const parallel::Communicator& world, const std::string& path,
                   campaign::MachineRates& rates) {
    constexpr std::int64_t rows = 8, cols = 200'000;
    const std::vector<double> values(cols, 1.0);
    const double taken = processor_seconds([&] {
        store::ResultsWriter file(path, world);
        file.matrix("/values", rows, cols);
        std::vector<store::ResultsWriter::Piece> pieces;
        for (std::int64_t row = 0; row < rows; ++row) pieces.push_back({row, 0, values});
        file.write("/values", pieces);
        file.finish();
    });
    rates.write = taken / (rows * cols * static_cast<double>(sizeof(double)));
    std::vector<std::string> texts;
    for (std::int64_t i = 0; i < cols; ++i) texts.push_back("image-" + std::to_string(i));
    rates.text = processor_seconds([&] {
                     store::ResultsWriter file(path + ".texts", world);
                     file.texts("/texts", texts);
                     file.finish();
                 }) /
                 cols;
}

std::string machine_name() {
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0) return linalg::blas_core();
    return std::string(host) + ", BLAS kernel " + linalg::blas_core();
}

campaign::MachineRates measure_once(const parallel::Communicator& world, double start, const Log& log) {
    const std::vector<std::int64_t> sizes{250, 1500, 6000}, dimensions{16, 64, 384, 1024};
    campaign::MachineRates rates;
    rates.machine = machine_name();
    rates.start = start;
    log.detail("making a study to measure with");
    const TemporaryFolder folder;
    const campaign::Inputs inputs =
        campaign::load_inputs_mpi(world, write_made_study(folder.path(), sizes, dimensions), {});
    std::vector<study::Pool> drafts;
    std::vector<campaign::TaskWork> work;
    for (std::size_t t = 0; t < inputs.study.tasks.size(); ++t) {
        drafts.push_back(study::draft_pool(inputs.study, inputs.study.tasks[t], inputs.tables));
        work.push_back(campaign::make_work(
            inputs.study, t, study::final_pool(inputs.study, inputs.study.tasks[t], drafts[t], {})));
    }
    log.detail("measuring the audit and the search");
    measure_audit(world, inputs, drafts, dimensions, rates);
    measure_search(inputs, work, dimensions, rates);
    log.detail("measuring the bootstrap");
    measure_bootstrap(rates);
    rates.world = measure_worlds();
    rates.tally = measure_tally(world, inputs, work[0], rates);
    measure_overlap(rates);
    rates.retention = measure_retention();
    log.detail("measuring the results file");
    measure_write(world, (folder.path() / "written.h5").string(), rates);
    return rates;
}

}  // namespace

campaign::MachineRates measure_rates(const parallel::Communicator& world, double start, const Log& log) {
    CANDOR_REQUIRE(world.size() == 1, "rates are those of one rank");
    std::string impossible;
    for (int attempt = 0; attempt < 3; ++attempt) {
        const campaign::MachineRates rates = measure_once(world, start, log);
        impossible = campaign::first_impossible(rates);
        if (impossible.empty()) return rates;
        log.info("other work disturbed the measurement (" + impossible + "); measuring again");
    }
    throw MachineError("this machine", "other work disturbed three measurements, the last of " + impossible,
                       "measure when the machine has less to do");
}

}  // namespace candor::bench
