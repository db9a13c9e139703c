#include "candor/campaign/inference_mpi.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "candor/base/bytes.hpp"
#include "candor/base/threads.hpp"
#include "candor/parallel/schedule.hpp"
#include "candor/stats/resampling.hpp"

namespace candor::campaign {

namespace {

/// One cell under one encoder and rule while it is counted.
struct Counting {
    CellResult result;
    std::size_t finding = 0;
    std::int64_t discordant = 0, ties = 0;  // draw 0
    const CellWorlds* worlds = nullptr;     // of the primary rule
    instruments::CellCounter counter;
    std::vector<instruments::Counts> resampled;
};

stats::Quartiles cap_quartiles(const std::vector<instruments::Discordance>& positives,
                               double instruments::Discordance::*cosine) {
    std::vector<double> caps;
    for (const instruments::Discordance& one : positives) {
        if (one.margin() > 0) caps.push_back(instruments::margin_cap(one.*cosine));
    }
    return stats::quartiles(caps);
}

/// The counters of one cell: one a rule that scores it.
void add_counters(const TaskWork& work, const Found& cases, std::vector<Counting>& into) {
    const study::Cell& cell = work.cells[cases.cell];
    const auto& context = work.contexts[static_cast<std::size_t>(cell.context)];
    std::vector<std::int32_t> patient;
    for (const ContextRow query : cell.queries) {
        const PoolRow row = context.rows[static_cast<std::size_t>(query.value)];
        patient.push_back(work.pool.patient[static_cast<std::size_t>(row.value)]);
    }
    const auto positives = static_cast<std::size_t>(cell.positive_queries);

    for (std::size_t rule = 0; rule < work.rules.size(); ++rule) {
        std::vector<const std::vector<std::int8_t>*> draws;
        std::size_t scored = 0;
        for (const study::Candidates& candidates : cell.candidates) {
            if (candidates.unscored) continue;
            if (candidates.rule == work.rules[rule]) draws.push_back(&cases.sign[scored]);
            ++scored;
        }
        if (draws.empty()) continue;

        Matrix<std::int8_t> discordant(cell.positive_queries, static_cast<std::int64_t>(draws.size()));
        Matrix<std::int8_t> ties(cell.positive_queries, static_cast<std::int64_t>(draws.size()));
        std::int64_t first_discordant = 0, first_ties = 0;
        for (std::size_t q = 0; q < positives; ++q) {
            for (std::size_t r = 0; r < draws.size(); ++r) {
                const std::int8_t sign = (*draws[r])[q];
                discordant.row(static_cast<std::int64_t>(q))[r] = sign > 0;
                ties.row(static_cast<std::int64_t>(q))[r] = sign == 0;
                if (r == 0) first_discordant += sign > 0;
                if (r == 0) first_ties += sign == 0;
            }
        }
        const bool primary = rule == 0;
        std::vector<double> margin;
        if (primary) {
            for (const instruments::Discordance& one : cases.primary) margin.push_back(one.margin());
        }
        CellResult result{cases.work, cases.encoder, cases.cell, rule, {}, {}, {}};
        const std::vector<instruments::Discordance> of_positives(
            cases.primary.begin(), cases.primary.begin() + static_cast<std::ptrdiff_t>(positives));
        if (primary) {
            result.cap = cap_quartiles(of_positives, &instruments::Discordance::c_neg);
            result.cap1 = cap_quartiles(of_positives, &instruments::Discordance::s1);
        }
        into.push_back(
            {result,
             static_cast<std::size_t>(cell.finding),
             first_discordant,
             first_ties,
             primary ? &cases.worlds : nullptr,
             instruments::CellCounter(patient, discordant.view(), ties.view(), margin, cell.positive_queries),
             {}});
    }
}

std::int64_t patients_of(const TaskWork& work, const study::Cell& cell) {
    std::set<std::int32_t> patients;
    for (std::int64_t q = 0; q < cell.positive_queries; ++q) {
        const ContextRow query = cell.queries[static_cast<std::size_t>(q)];
        const PoolRow row =
            work.contexts[static_cast<std::size_t>(cell.context)].rows[static_cast<std::size_t>(query.value)];
        patients.insert(work.pool.patient[static_cast<std::size_t>(row.value)]);
    }
    return static_cast<std::int64_t>(patients.size());
}

void put_tally(ByteWriter& out, const instruments::Tally& tally) {
    out.put(tally.observed);
    out.put(std::span<const std::int64_t>(tally.discordant_by_draw));
    out.put(tally.unpermuted);
    for (const auto* counts : {&tally.resampled, &tally.permuted, &tally.subsampled})
        out.put(std::span<const instruments::Counts>(*counts));
}

instruments::Tally get_tally(ByteReader& in) {
    instruments::Tally tally;
    tally.observed = in.get<instruments::Counts>();
    tally.discordant_by_draw = in.get_many<std::int64_t>();
    tally.unpermuted = in.get<instruments::Counts>();
    for (auto* counts : {&tally.resampled, &tally.permuted, &tally.subsampled})
        *counts = in.get_many<instruments::Counts>();
    return tally;
}

/// Resamples every counter of one task, a block of weights at a time: each block is drawn once for all of
/// them.
void resample(const study::Study& study, const TaskWork& work, std::vector<Counting>& counting, int threads,
              parallel::StopRequest& stop, Progress& progress) {
    if (counting.empty()) return;  // no weights are drawn for nothing
    const stats::Resampling resampling(study.seed, study.tasks[work.task].id, work.pool.clusters,
                                       study.bootstrap.resamples);
    for (Counting& one : counting) one.resampled.resize(static_cast<std::size_t>(study.bootstrap.resamples));
    resampling.for_each_block([&](MatrixView<const stats::Weight> weights, std::int64_t first) {
        if (stop.requested()) return;
        for_each_on_threads(threads, static_cast<std::int64_t>(counting.size()), [&](std::int64_t i) {
            Counting& one = counting[static_cast<std::size_t>(i)];
            one.counter.count(weights, std::span(one.resampled)
                                           .subspan(static_cast<std::size_t>(first),
                                                    static_cast<std::size_t>(weights.cols)));
        });
        progress.advance(static_cast<double>(weights.cols) * static_cast<double>(counting.size()));
    });
}

}  // namespace

std::function<int(std::size_t, std::size_t, std::size_t)> counting_owners(const study::Study& study,
                                                                          const std::vector<TaskWork>& work,
                                                                          int ranks) {
    std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::size_t> place;
    std::vector<double> costs;
    for (std::size_t w = 0; w < work.size(); ++w) {
        const study::Task& task = study.tasks[work[w].task];
        std::vector<double> queries(task.findings.size(), 0.0);
        for (const study::Cell& cell : work[w].cells) {
            if (cell.scored())
                queries[static_cast<std::size_t>(cell.finding)] += static_cast<double>(cell.queries.size());
        }
        for (std::size_t e = 0; e < task.encoders.size(); ++e) {
            for (std::size_t f = 0; f < task.findings.size(); ++f) {
                place.emplace(std::tuple(w, e, f), costs.size());
                costs.push_back(queries[f]);
            }
        }
    }
    return
        [place = std::move(place), ranks_of = parallel::place_longest_first(costs, ranks)](
            std::size_t w, std::size_t e, std::size_t f) { return ranks_of[place.at(std::tuple(w, e, f))]; };
}

Counted count_mpi(const parallel::Communicator& world, const study::Study& study,
                  const std::vector<TaskWork>& work, const std::vector<Found>& owned, int threads,
                  parallel::StopRequest& stop, const Log& log) {
    std::vector<std::vector<Counting>> counting(work.size());
    double total = 0;
    for (std::size_t w = 0; w < work.size(); ++w) {
        for (const Found& cases : owned) {
            if (cases.work == w) add_counters(work[w], cases, counting[w]);
        }
        total += static_cast<double>(counting[w].size()) * static_cast<double>(study.bootstrap.resamples);
    }
    Progress progress(log, "resampling patients", total);

    ByteWriter mine;
    for (std::size_t w = 0; w < work.size(); ++w) {
        resample(study, work[w], counting[w], threads, stop, progress);
        if (stop.requested()) break;
        std::map<std::tuple<std::size_t, std::size_t, std::size_t>, FindingResult> findings;
        for (Counting& one : counting[w]) {
            const study::Cell& cell = work[w].cells[one.result.cell];
            instruments::Tally tally = one.counter.observed();
            tally.resampled = std::move(one.resampled);
            if (one.worlds != nullptr) {
                tally.unpermuted = one.worlds->observed;
                tally.permuted = one.worlds->permuted;
                tally.subsampled = one.worlds->subsampled;
            }
            one.result.summary =
                instruments::summarise(tally, patients_of(work[w], cell), study.bootstrap.confidence);
            one.result.summary.discordant = one.discordant;
            one.result.summary.ties = one.ties;
            one.result.summary.queries = cell.positive_queries;
            one.result.summary.negative_queries =
                static_cast<std::int64_t>(cell.queries.size()) - cell.positive_queries;
            mine.put('c');
            mine.put(one.result);

            if (cell.pooled_reference) continue;  // outside every pooled figure
            FindingResult& finding = findings[{one.result.encoder, one.finding, one.result.rule}];
            finding.work = w;
            finding.encoder = one.result.encoder;
            finding.finding = one.finding;
            finding.rule = one.result.rule;
            finding.discordant += one.discordant;
            finding.ties += one.ties;
            finding.tally += tally;
        }
        for (const auto& [key, finding] : findings) {
            mine.put('f');
            for (const std::size_t n : {finding.work, finding.encoder, finding.finding, finding.rule})
                mine.put(n);
            mine.put(finding.discordant);
            mine.put(finding.ties);
            put_tally(mine, finding.tally);
        }
        counting[w].clear();
    }

    stop.rendezvous();
    Counted counted;
    for (const std::string& bytes : world.gather(mine.take())) {
        ByteReader in(bytes);
        while (!in.done()) {
            if (in.get<char>() == 'c') {
                counted.cells.push_back(in.get<CellResult>());
                continue;
            }
            FindingResult finding;
            for (std::size_t* n : {&finding.work, &finding.encoder, &finding.finding, &finding.rule}) {
                *n = in.get<std::size_t>();
            }
            finding.discordant = in.get<std::int64_t>();
            finding.ties = in.get<std::int64_t>();
            finding.tally = get_tally(in);
            counted.findings.push_back(std::move(finding));
        }
    }
    std::ranges::sort(counted.cells, {},
                      [](const CellResult& c) { return std::tuple(c.work, c.encoder, c.cell, c.rule); });
    std::ranges::sort(counted.findings, {}, [](const FindingResult& f) {
        return std::tuple(f.work, f.encoder, f.finding, f.rule);
    });
    return counted;
}

}  // namespace candor::campaign
