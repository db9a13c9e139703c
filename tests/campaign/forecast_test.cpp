#include "candor/campaign/forecast.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "candor/campaign/inference_mpi.hpp"
#include "candor/campaign/plan_tables.hpp"
#include "candor/instruments/tally.hpp"
#include "made_study.hpp"

using namespace candor;
using namespace candor::testing;
using campaign::Forecast;
using campaign::MachineRates;
using campaign::PlannedStudy;
using campaign::Player;
using campaign::SearchRates;
using campaign::StageForecast;

namespace {

constexpr double nothing = 1e-15;

/// A machine on which everything takes no time.
MachineRates at_once() {
    MachineRates rates;
    rates.machine = "made";
    for (double MachineRates::*one :
         {&MachineRates::start, &MachineRates::open, &MachineRates::audit_value, &MachineRates::audit_row,
          &MachineRates::build, &MachineRates::world, &MachineRates::counting, &MachineRates::draw,
          &MachineRates::sum, &MachineRates::pair, &MachineRates::tally, &MachineRates::rank,
          &MachineRates::retention, &MachineRates::summary, &MachineRates::overlap,
          &MachineRates::overlap_context, &MachineRates::write, &MachineRates::text})
        rates.*one = nothing;
    rates.search = {{16, nothing, nothing, nothing, nothing, nothing, nothing}};
    return rates;
}

/// The same, but for one kind of work that takes a second a piece.
MachineRates a_second(double MachineRates::*one) {
    MachineRates rates = at_once();
    rates.*one = 1;
    return rates;
}
MachineRates a_second(double SearchRates::*one) {
    MachineRates rates = at_once();
    rates.search[0].*one = 1;
    return rates;
}

/// A machine like those there are.
MachineRates usual() {
    MachineRates rates = at_once();
    rates.start = 0.1;
    rates.open = 4e-4;
    rates.audit_value = 2e-9;
    rates.audit_row = 8e-7;
    rates.build = 1e-8;
    rates.world = 2e-8;
    rates.counting = 1e-7;
    rates.draw = 2e-9;
    rates.sum = 2e-11;
    rates.pair = 2e-10;
    rates.tally = 2e-7;
    rates.summary = 8e-9;
    rates.overlap = 1.5e-8;
    rates.overlap_context = 5e-6;
    rates.write = 1e-9;
    rates.text = 3e-8;
    rates.search = {{16, 1e-5, 4e-7, 4e-7, 4e-9, 1e-6, 1e-6}, {64, 1e-5, 5e-7, 7e-7, 8e-9, 1e-6, 2e-6}};
    return rates;
}

/// The made study as its headers tell it; files carry ids, and floats.
PlannedStudy made_plan() {
    PlannedStudy plan;
    plan.inputs = made_inputs();
    plan.work = made_work(plan.inputs);
    for (std::size_t t = 0; t < plan.work.size(); ++t)
        plan.heads.push_back(
            study::draft_head_rows(plan.inputs.study, plan.inputs.study.tasks[t], plan.inputs.tables));
    plan.dimensions = made_dimensions;
    for (std::size_t e = 0; e < plan.inputs.study.encoders.size(); ++e) {
        for (std::size_t d = 0; d < plan.inputs.study.datasets.size(); ++d) {
            plan.features.emplace(std::pair(e, d),
                                  store::FeatureHeader{plan.inputs.tables[d].rows(), made_dimensions[e],
                                                       store::ElementType::float32, true, 0});
        }
    }
    return plan;
}

const StageForecast& stage(const Forecast& forecast, const std::string& name) {
    const StageForecast* const at = forecast.stage(name);
    BOOST_REQUIRE(at != nullptr);
    return *at;
}

Forecast played(const PlannedStudy& study, const MachineRates& rates, int ranks) {
    return Player(study, rates).play(ranks);
}

// Listing tasks here takes real milliseconds, beside a second a piece.
const auto near = boost::test_tools::tolerance(1e-3);

}  // namespace

BOOST_AUTO_TEST_SUITE(campaign_forecast)

BOOST_AUTO_TEST_CASE(the_schedule_that_is_played_is_that_of_a_run) {
    const PlannedStudy study = made_plan();
    const MachineRates rates = usual();
    Player player(study, rates);
    for (const int ranks : {3, 1, 2, 5, 16}) {  // in any order
        const Forecast forecast = player.play(ranks);
        const campaign::SearchPlan run =
            campaign::plan_search(study.inputs.study, study.work, study.dimensions, {}, ranks);
        const campaign::SearchPlan& here = player.plan();
        BOOST_TEST(forecast.ranks == ranks);
        BOOST_TEST(forecast.tasks == std::ssize(run.tasks));
        BOOST_REQUIRE(here.tasks.size() == run.tasks.size());
        double flops = 0;
        for (std::size_t t = 0; t < run.tasks.size(); ++t) {
            BOOST_TEST(here.tasks[t].group == run.tasks[t].group);
            BOOST_TEST(here.tasks[t].encounter.i == run.tasks[t].encounter.i);
            BOOST_TEST(here.tasks[t].encounter.j == run.tasks[t].encounter.j);
            BOOST_TEST(here.tasks[t].cost == run.tasks[t].cost);
            flops += run.tasks[t].flops;
        }
        BOOST_TEST(here.rank == run.rank);
        BOOST_TEST((here.owner == run.owner));
        BOOST_TEST(forecast.flops == flops, near);
    }
}

BOOST_AUTO_TEST_CASE(balance_and_idle_ranks_are_those_of_the_planned_compute) {
    const PlannedStudy study = made_plan();
    const MachineRates rates = usual();
    Player player(study, rates);
    for (const int ranks : {1, 2, 3, 5, 64}) {
        const Forecast forecast = player.play(ranks);
        std::vector<double> load(static_cast<std::size_t>(ranks));
        for (std::size_t t = 0; t < player.plan().tasks.size(); ++t)
            load[static_cast<std::size_t>(player.plan().rank[t])] += player.plan().tasks[t].cost;
        const double mean = std::accumulate(load.begin(), load.end(), 0.0) / ranks;
        BOOST_TEST(forecast.balance == mean / std::ranges::max(load), near);
        BOOST_TEST(forecast.idle == std::ranges::count(load, 0.0));
        if (ranks == 1) BOOST_TEST(forecast.balance == 1);
    }
    BOOST_TEST(player.play(64).idle > 0);
    BOOST_TEST(player.play(64).balance < 0.9);
}

BOOST_AUTO_TEST_CASE(stages_add_up_and_bound_each_other) {
    const PlannedStudy study = made_plan();
    const MachineRates rates = usual();
    Player player(study, rates);
    for (const int ranks : {1, 2, 3, 5, 64, 1024}) {
        const Forecast forecast = player.play(ranks);
        std::vector<std::string> names;
        double elapsed = 0, cpu = 0, fixed = 0;
        for (const StageForecast& one : forecast.stages) {
            names.push_back(one.name);
            elapsed += one.slowest;
            cpu += one.cpu_seconds;
            fixed += one.fixed;
            BOOST_TEST(one.fixed >= 0);
            BOOST_TEST(one.fixed <= one.slowest * (1 + 1e-9));
            BOOST_TEST(one.slowest <= one.cpu_seconds * (1 + 1e-9));
            BOOST_TEST(one.cpu_seconds <= ranks * one.slowest * (1 + 1e-9));
        }
        BOOST_TEST(
            (names == std::vector<std::string>{"start", "audit", "search", "permute", "count", "overlap",
                                               "retention", "heads", "detection", "search, training rows",
                                               "selection", "tables", "write"}));
        BOOST_TEST(forecast.elapsed == elapsed, near);
        BOOST_TEST(forecast.cpu_seconds == cpu, near);
        BOOST_TEST(forecast.fixed == fixed, near);
        BOOST_TEST(forecast.fixed_share() <= 1 + 1e-9);
    }
    const Forecast alone = player.play(1);
    BOOST_TEST(alone.elapsed == alone.cpu_seconds, near);
}

BOOST_AUTO_TEST_CASE(more_ranks_share_the_search_and_repeat_no_more_than_their_part_of_it) {
    const PlannedStudy study = made_plan();
    // Without what listing takes here: a second each piece.
    for (double SearchRates::*one : {&SearchRates::product, &SearchRates::decide}) {
        const MachineRates rates = a_second(one);
        Player player(study, rates);
        const StageForecast alone = stage(player.play(1), "search");
        for (const int ranks : {2, 3, 5, 64})
            BOOST_TEST(stage(player.play(ranks), "search").cpu_seconds == alone.cpu_seconds, near);
        BOOST_TEST(stage(player.play(2), "search").slowest < 0.8 * alone.slowest);
    }
    const MachineRates rates = a_second(&SearchRates::load);
    Player player(study, rates);
    const double alone = stage(player.play(1), "search").cpu_seconds;
    for (const int ranks : {2, 5, 64}) {
        const double cpu = stage(player.play(ranks), "search").cpu_seconds;
        BOOST_TEST(cpu >= alone * (1 - 1e-3));
        // Read for its meetings and for its decisions, on each rank that has a task of it.
        BOOST_TEST(cpu <= 2 * ranks * alone);
    }
}

BOOST_AUTO_TEST_CASE(each_piece_of_work_is_counted_as_often_as_a_run_does_it) {
    const PlannedStudy study = made_plan();
    const auto of_study = &study.inputs.study;
    const auto resamples = static_cast<double>(of_study->bootstrap.resamples);
    const auto seconds = [&](const MachineRates& rates, const char* name, int ranks = 1) {
        return stage(played(study, rates, ranks), name).cpu_seconds;
    };
    const MachineRates none = at_once();
    const Player player(study, none);
    double products = 0, rows = 0, asked = 0;
    for (const campaign::SearchTask& task : player.plan().tasks) products += task.encounter.products;
    for (std::size_t g = 0; g < player.plan().groups.size(); ++g) {
        rows += static_cast<double>(player.shape_of(g).rows);
        asked += player.shape_of(g).asked;
    }
    BOOST_TEST(products > 1000);
    BOOST_TEST(seconds(a_second(&SearchRates::product), "search") == products, near);
    BOOST_TEST(seconds(a_second(&SearchRates::load), "search") == rows, near);
    BOOST_TEST(seconds(a_second(&SearchRates::decide), "search") == asked, near);
    BOOST_TEST(seconds(a_second(&SearchRates::fill), "search") == asked, near);
    BOOST_TEST(
        seconds(a_second(&SearchRates::look), "search") == static_cast<double>(player.plan().groups.size()),
        near);

    double tallies = 0, patients = 0, pairs = 0, cases = 0, texts = 0;
    for (const campaign::TaskWork& work : study.work) {
        const auto encoders = static_cast<double>(of_study->tasks[work.task].encoders.size());
        double contexts = 0;
        for (const study::Cell& cell : work.cells) {
            if (!cell.scored()) continue;
            std::set<study::Rule> rules;
            for (const study::Candidates& one : cell.candidates) {
                if (!one.unscored) rules.insert(one.rule);
            }
            tallies += encoders * static_cast<double>(rules.size()) * resamples;
            ++contexts;
        }
        patients += static_cast<double>(work.pool.clusters) * resamples;
        // Of each finding its contexts, and of the task all of them.
        pairs += encoders * (encoders - 1) / 2 * 2 * contexts;
        cases += encoders * static_cast<double>(work.cases);
        texts += 5 * static_cast<double>(work.cases);
    }
    BOOST_TEST(seconds(a_second(&MachineRates::tally), "count") == tallies, near);
    BOOST_TEST(seconds(a_second(&MachineRates::draw), "count") == patients, near);
    BOOST_TEST(seconds(a_second(&MachineRates::overlap_context), "overlap") == pairs, near);
    BOOST_TEST(seconds(a_second(&MachineRates::write), "write") == 32 * cases, near);
    BOOST_TEST(seconds(a_second(&MachineRates::text), "write") == texts, near);
    for (const int ranks : {1, 3}) {
        BOOST_TEST(seconds(a_second(&MachineRates::start), "start", ranks) == ranks, near);
        BOOST_TEST(seconds(a_second(&MachineRates::open), "audit", ranks) == 6, near);  // files
        BOOST_TEST(seconds(a_second(&MachineRates::tally), "count", ranks) == tallies, near);
    }
}

BOOST_AUTO_TEST_CASE(what_more_ranks_do_not_make_shorter_is_fixed) {
    const PlannedStudy study = made_plan();
    const MachineRates drawing = a_second(&MachineRates::draw), tallying = a_second(&MachineRates::tally);
    for (const int ranks : {1, 2, 5}) {
        const Forecast draws = played(study, drawing, ranks), tallies = played(study, tallying, ranks);
        BOOST_TEST(draws.fixed_share() > 0.99);
        BOOST_TEST(tallies.fixed_share() < 0.01);
    }
    // An encoder's files are one rank's: three encoders are no work for a fourth rank.
    const MachineRates opening = a_second(&MachineRates::open);
    BOOST_TEST(stage(played(study, opening, 2), "audit").fixed < 0.1);
    BOOST_TEST(stage(played(study, opening, 4), "audit").fixed == 2, near);
}

BOOST_AUTO_TEST_CASE(bytes_are_those_of_the_audit_and_of_every_census) {
    const PlannedStudy study = made_plan();
    const MachineRates rates = usual();
    Player player(study, rates);
    const Forecast alone = player.play(1);
    std::int64_t audited = 0, searched = 0;
    for (const auto& [key, header] : study.features) audited += header.rows * header.dimension * 4;
    for (std::size_t g = 0; g < player.plan().groups.size(); ++g) {
        const campaign::SearchGroup& group = player.plan().groups[g];
        const study::Task& task = study.inputs.study.tasks[study.work[group.work].task];
        searched += player.shape_of(g).rows * study.dimensions[task.encoders[group.encoder]] * 4;
    }
    BOOST_TEST(alone.bytes_read == audited + searched);
    BOOST_TEST(alone.most_read == searched);
    BOOST_TEST(player.play(3).bytes_read >= alone.bytes_read);
    BOOST_TEST(player.play(3).most_read < alone.most_read);
}

BOOST_AUTO_TEST_CASE(memory_grows_with_the_tallies_of_a_rank) {
    PlannedStudy study = made_plan();
    const MachineRates rates = usual();
    study.inputs.study.bootstrap.resamples = 10'000;
    const std::int64_t some = played(study, rates, 1).memory;
    const std::int64_t some_of_five = played(study, rates, 5).memory;
    study.inputs.study.bootstrap.resamples = 110'000;
    const Forecast many = played(study, rates, 1);
    // Every finding's tallies: written by the rank, of all ranks, and as numbers.
    std::int64_t findings = 0;
    for (const campaign::TaskWork& work : study.work) {
        std::set<std::int32_t> scored;
        for (const study::Cell& cell : work.cells) {
            if (cell.scored()) scored.insert(cell.finding);
        }
        findings += std::ssize(scored) * std::ssize(study.inputs.study.tasks[work.task].encoders) *
                    std::ssize(work.rules);
    }
    const double more =
        1e5 * static_cast<double>(sizeof(instruments::Counts)) * static_cast<double>(findings);
    BOOST_TEST(static_cast<double>(many.memory - some) >= 4 * more * 0.95);
    BOOST_TEST(static_cast<double>(many.memory - some) <= 4 * more * 1.05);
    BOOST_TEST(many.least_memory > 0);
    // Of five ranks the first gathers: all of them twice, beside what it wrote itself.
    const Forecast of_five = played(study, rates, 5);
    BOOST_TEST(static_cast<double>(of_five.memory - some_of_five) >= 2.1 * more);
    BOOST_TEST(of_five.memory <= many.memory);
}

namespace {

Forecast forecast_of(int ranks, double fixed, double balance, std::int64_t tasks, double longest) {
    Forecast forecast;
    forecast.ranks = ranks;
    forecast.stages = {{"search", 0, 10, 10, 0}};
    forecast.elapsed = 10;
    forecast.fixed = fixed;
    forecast.balance = balance;
    forecast.tasks = tasks;
    forecast.idle = std::max<std::int64_t>(0, ranks - tasks);
    forecast.longest_task = longest;
    return forecast;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_warning_stands_where_ranks_first_stop_to_pay) {
    const std::vector<Forecast> well{forecast_of(1, 5, 1, 100, 3), forecast_of(2, 1, 0.99, 100, 0.1),
                                     forecast_of(4, 1, 0.95, 100, 0.5)};
    BOOST_TEST(campaign::scaling_warnings(well).empty());
    const auto warned = [&](const Forecast& at, const std::string& text) {
        std::vector<Forecast> forecasts = well;
        forecasts.push_back(at);
        forecasts.push_back(at);
        forecasts.back().ranks = 16;
        const std::vector<std::string> lines = campaign::scaling_warnings(forecasts);
        BOOST_REQUIRE(lines.size() == 1);
        BOOST_TEST_INFO(lines[0]);
        BOOST_TEST(lines[0].starts_with("at 8 ranks "));
        BOOST_TEST(lines[0].find(text) != std::string::npos);
    };
    warned(forecast_of(8, 1.5, 1, 100, 0.1), "15.0 % of the time");
    warned(forecast_of(8, 1, 0.9, 100, 0.1), "computes 90.0 % of what the busiest does");
    warned(forecast_of(8, 1, 1, 7, 0.1), "7 pieces of the search for them all, 1 rank has none");
    warned(forecast_of(8, 1, 1, 100, 0.6), "one piece of the search takes 6.0 % of its time");
}

BOOST_AUTO_TEST_SUITE_END()
