#include "candor/campaign/blind_sets_mpi.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "candor/base/bytes.hpp"
#include "candor/base/threads.hpp"
#include "candor/campaign/lines.hpp"
#include "candor/instruments/blind_set.hpp"
#include "candor/instruments/summary.hpp"
#include "candor/parallel/schedule.hpp"
#include "candor/stats/resampling.hpp"
#include "candor/stats/weighted_sums.hpp"

namespace candor::campaign {

namespace {

using instruments::BlindSets;
using instruments::OverlapNull;
using instruments::PairOverlap;

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

double ratio(std::int64_t part, std::int64_t whole) {
    return whole == 0 ? undefined : static_cast<double>(part) / static_cast<double>(whole);
}

// ---- who is blind to what ----

/// The blind sets of one finding; those of its cells against a pooled reference are kept apart.
struct FindingSets {
    std::size_t work = 0, finding = 0;
    bool pooled_reference = false;
    std::vector<std::size_t> cells;  // that have positives; one a context of `sets`
    BlindSets sets;
};

/// Empty sets, in the order of work and finding.
std::vector<FindingSets> make_sets(const study::Study& study, const std::vector<TaskWork>& work) {
    std::vector<FindingSets> all;
    for (std::size_t w = 0; w < work.size(); ++w) {
        const study::Task& task = study.tasks[work[w].task];
        for (std::size_t f = 0; f < task.findings.size(); ++f) {
            for (const bool pooled_reference : {false, true}) {
                FindingSets finding{w, f, pooled_reference, {}, {}};
                std::vector<std::int64_t> positives;
                for (std::size_t c = 0; c < work[w].cells.size(); ++c) {
                    const study::Cell& cell = work[w].cells[c];
                    if (static_cast<std::size_t>(cell.finding) != f || !cell.scored() ||
                        cell.pooled_reference != pooled_reference || cell.positive_queries == 0)
                        continue;
                    finding.cells.push_back(c);
                    positives.push_back(cell.positive_queries);
                }
                if (finding.cells.empty()) continue;
                finding.sets = BlindSets(std::ssize(task.encoders), positives);
                all.push_back(std::move(finding));
            }
        }
    }
    return all;
}

/// Adds what a cell found; @returns how many positives it is about.
std::int64_t add_found(const study::Cell& cell, const Found& found, std::int64_t context, BlindSets& sets) {
    for (std::int64_t position = 0; position < cell.positive_queries; ++position) {
        if (found.primary[static_cast<std::size_t>(position)].margin() > 0)
            sets.add(static_cast<std::int64_t>(found.encoder), context, position);
    }
    return cell.positive_queries;
}

/// Fills the sets from what all ranks found.
void fill_mpi(const parallel::Communicator& world, const study::Study& study,
              const std::vector<TaskWork>& work, const std::vector<Found>& owned,
              std::vector<FindingSets>& all) {
    for (FindingSets& finding : all) {
        std::vector<std::int64_t> seen(static_cast<std::size_t>(finding.sets.encoders()));
        for (const Found& found : owned) {
            const auto at = std::ranges::find(finding.cells, found.cell);
            if (found.work != finding.work || at == finding.cells.end()) continue;
            seen[found.encoder] += add_found(work[finding.work].cells[found.cell], found,
                                             at - finding.cells.begin(), finding.sets);
        }
        // An encoder's words are filled on the one rank that owns it and are 0 on the others.
        const std::span<std::uint64_t> words = finding.sets.words();
        world.sum({reinterpret_cast<std::int64_t*>(words.data()), words.size()});
        world.sum(seen);
        for (std::size_t e = 0; e < seen.size(); ++e) {
            const study::Task& task = study.tasks[work[finding.work].task];
            CANDOR_REQUIRE(seen[e] == finding.sets.population(),
                           task.id + ", " + task.findings[finding.finding] + ", encoder " +
                               std::to_string(e) + ": " + std::to_string(seen[e]) + " of " +
                               std::to_string(finding.sets.population()) + " positives");
        }
    }
}

/// A finding, or a task as a whole.
struct Level {
    std::size_t work = 0;
    std::optional<std::size_t> finding;  // none: the task
    std::vector<const FindingSets*> parts;
};

/// By task: its findings that have positives, then the task.
std::vector<Level> levels_of(const std::vector<TaskWork>& work, const std::vector<FindingSets>& all) {
    std::vector<Level> levels;
    for (std::size_t w = 0; w < work.size(); ++w) {
        Level task{w, {}, {}};
        for (const FindingSets& finding : all) {
            if (finding.work != w || finding.pooled_reference) continue;
            levels.push_back({w, finding.finding, {&finding}});
            task.parts.push_back(&finding);
        }
        levels.push_back(std::move(task));
    }
    return levels;
}

void put_level(Rows& rows, const study::Task& task, const Level& level) {
    rows.put("task", task.id);
    rows.put("level", std::string(level.finding ? "finding" : "task"));
    rows.put("finding", level.finding ? task.findings[*level.finding] : std::string());
}

// ---- pairs of encoders ----

struct Pair {
    const Level* level = nullptr;
    std::int64_t a = 0, b = 0;
    PairOverlap overlap;
};

std::vector<Pair> pairs_of(const std::vector<Level>& levels) {
    std::vector<Pair> pairs;
    for (const Level& level : levels) {
        if (level.parts.empty()) continue;
        const std::int64_t encoders = level.parts.front()->sets.encoders();
        for (std::int64_t a = 0; a < encoders; ++a) {
            for (std::int64_t b = a + 1; b < encoders; ++b) pairs.push_back({&level, a, b, {}});
        }
    }
    return pairs;
}

/// In an arbitrary unit: S contexts of n positives each are convolved, each some sqrt(n) wide and their sum
/// sqrt(S n): S sqrt(n) sqrt(S n) = (S n) sqrt(S).
double cost_of(const Level& level) {
    double contexts = 0, positives = 0;
    for (const FindingSets* part : level.parts) {
        contexts += static_cast<double>(part->sets.contexts());
        positives += static_cast<double>(part->sets.population());
    }
    return positives * std::sqrt(contexts);
}

PairOverlap compare(const Pair& pair) {
    std::vector<instruments::ContextOverlap> contexts;
    for (const FindingSets* part : pair.level->parts) {
        const auto of_part = part->sets.overlaps(pair.a, pair.b);
        contexts.insert(contexts.end(), of_part.begin(), of_part.end());
    }
    return instruments::pair_overlap(contexts);
}

/// Fills the overlaps of all pairs on rank 0.
void compare_mpi(const parallel::Communicator& world, std::vector<Pair>& pairs, int threads, const Log& log) {
    std::vector<double> costs;
    for (const Pair& pair : pairs) costs.push_back(cost_of(*pair.level));
    const std::vector<int> placed = parallel::place_longest_first(costs, world.size());
    std::vector<std::size_t> mine;
    double total = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (placed[i] != world.rank()) continue;
        mine.push_back(i);
        total += costs[i];
    }

    Progress progress(log, "comparing blind sets", total);
    std::vector<PairOverlap> overlaps(mine.size());
    constexpr std::size_t pairs_a_step = 256;  // between two looks at the clock
    for (std::size_t first = 0; first < mine.size(); first += pairs_a_step) {
        const std::size_t count = std::min(pairs_a_step, mine.size() - first);
        for_each_on_threads(threads, static_cast<std::int64_t>(count), [&](std::int64_t i) {
            const std::size_t at = first + static_cast<std::size_t>(i);
            overlaps[at] = compare(pairs[mine[at]]);
        });
        for (std::size_t at = first; at < first + count; ++at) progress.advance(costs[mine[at]]);
    }

    ByteWriter out;
    out.put(std::span<const std::size_t>(mine));
    out.put(std::span<const PairOverlap>(overlaps));
    for (const std::string& bytes : world.gather(out.take())) {
        ByteReader in(bytes);
        const auto which = in.get_many<std::size_t>();
        const auto theirs = in.get_many<PairOverlap>();
        for (std::size_t i = 0; i < which.size(); ++i) pairs[which[i]].overlap = theirs[i];
    }
}

// ---- the same of permuted labels ----

/// The blind sets of one finding in every permutation: by encoder, permutation and context, a bit a positive.
struct PermutedSets {
    std::int64_t permutations = 0, words = 0;
    std::vector<std::int64_t> first_word, populations;  // of each context
    std::vector<std::uint64_t> bits;

    const std::uint64_t* of(std::int64_t encoder, std::int64_t permutation, std::size_t context) const {
        return bits.data() + (encoder * permutations + permutation) * words + first_word[context];
    }
};

/// Brought together from the ranks that permuted its cells; the same on all.
PermutedSets permuted_mpi(const parallel::Communicator& world, const study::Study& study,
                          const TaskWork& work, const FindingSets& finding, const std::vector<Found>& owned) {
    PermutedSets sets;
    sets.permutations = study.test.permutations;
    for (const std::size_t c : finding.cells) {
        sets.first_word.push_back(sets.words);
        sets.populations.push_back(work.cells[c].positive_queries);
        sets.words += (work.cells[c].positive_queries + 63) / 64;
    }
    sets.bits.resize(static_cast<std::size_t>(finding.sets.encoders() * sets.permutations * sets.words));
    for (const Found& one : owned) {
        const auto at = std::ranges::find(finding.cells, one.cell);
        if (one.work != finding.work || at == finding.cells.end() || !one.worlds.present()) continue;
        const auto context = static_cast<std::size_t>(at - finding.cells.begin());
        for (std::int64_t p = 0; p < sets.permutations; ++p) {
            const std::int64_t to =
                (static_cast<std::int64_t>(one.encoder) * sets.permutations + p) * sets.words +
                sets.first_word[context];
            std::copy_n(one.worlds.blind.begin() + p * one.worlds.words, one.worlds.words,
                        sets.bits.begin() + to);
        }
    }
    // An encoder's words are filled on the one rank that permuted the cell and are 0 on the others.
    world.sum({reinterpret_cast<std::int64_t*>(sets.bits.data()), sets.bits.size()});
    return sets;
}

/// Fills the relabel null of the pairs at the finding level, on rank 0.
void relabel_mpi(const parallel::Communicator& world, const study::Study& study,
                 const std::vector<TaskWork>& work, const std::vector<Found>& owned, int threads,
                 std::vector<Pair>& pairs) {
    if (study.test.permutations == 0) return;
    for (std::size_t first = 0; first < pairs.size();) {
        const Level* const level = pairs[first].level;
        std::size_t end = first;
        while (end < pairs.size() && pairs[end].level == level) ++end;
        if (level->finding) {
            const FindingSets& finding = *level->parts.front();
            const PermutedSets sets = permuted_mpi(world, study, work[level->work], finding, owned);
            for_each_on_threads(
                threads, world.rank() == 0 ? static_cast<std::int64_t>(end - first) : 0, [&](std::int64_t i) {
                    Pair& pair = pairs[first + static_cast<std::size_t>(i)];
                    std::vector<instruments::ContextOverlap> permuted;
                    for (std::int64_t p = 0; p < sets.permutations; ++p) {
                        for (std::size_t c = 0; c < sets.populations.size(); ++c)
                            permuted.push_back(instruments::overlap_of(
                                sets.populations[c], sets.of(pair.a, p, c), sets.of(pair.b, p, c)));
                    }
                    pair.overlap.relabel =
                        instruments::relabel_null(finding.sets.overlaps(pair.a, pair.b), permuted);
                });
        }
        first = end;
    }
}

struct Null {
    const char* name;
    OverlapNull PairOverlap::*figures;
};
constexpr Null nulls[] = {{"pooled", &PairOverlap::pooled},
                          {"stratified", &PairOverlap::stratified},
                          {"relabel", &PairOverlap::relabel}};

/// One pair at one level under one null.
struct OverlapLine {
    std::string task, level, finding, encoder_a, encoder_b, null;
    PairOverlap sets;
    OverlapNull figures;
    Verdict verdict;
};

OverlapLine overlap_line(const study::Study& study, const study::Task& task, const Pair& pair,
                         const Null& null) {
    const auto encoder = [&](std::int64_t e) {
        return study.encoders[task.encoders[static_cast<std::size_t>(e)]].id;
    };
    const auto finding = pair.level->finding;
    return {task.id,
            finding ? "finding" : "task",
            finding ? task.findings[*finding] : "",
            encoder(pair.a),
            encoder(pair.b),
            null.name,
            pair.overlap,
            pair.overlap.*null.figures,
            {}};
}

void put_overlap(Rows& rows, const OverlapLine& line) {
    rows.put("task", line.task);
    rows.put("level", line.level);
    rows.put("finding", line.finding);
    rows.put("encoder_a", line.encoder_a);
    rows.put("encoder_b", line.encoder_b);
    rows.put("null", line.null);
    rows.put("contexts", line.sets.contexts);
    rows.put("n", line.sets.population);
    rows.put("blind_a", line.sets.blind_a);
    rows.put("blind_b", line.sets.blind_b);
    rows.put("overlap", line.sets.overlap);
    rows.put("jaccard", line.sets.jaccard);
    rows.put("expected_jaccard", line.figures.expected_jaccard);
    rows.put("delta_jaccard", line.figures.delta_jaccard);
    rows.put("log10_p", line.figures.log10_p);
    rows.put("p", line.figures.p);
    rows.put("q", line.verdict.q);
    rows.put("reject", line.verdict.reject);
}

/// The tests of a task's findings under one null, and what they say together.
struct TaskTests {
    TestFamily family;
    std::vector<Verdict> verdicts;
};

TaskTests tests_of(const study::Study& study, const study::Task& task, std::span<const Pair> pairs,
                   const Null& null) {
    TaskTests tests{{"blind-set overlap, " + std::string(null.name),
                     task.id,
                     null.figures == &PairOverlap::relabel ? "permutation" : "hypergeometric",
                     {},
                     0},
                    {}};
    for (const Pair& pair : pairs) {
        if (pair.level->finding) tests.family.p.push_back((pair.overlap.*null.figures).p);
    }
    tests.verdicts = tests.family.verdicts(study.test.alpha);
    return tests;
}

void put_summary(Rows& rows, const study::Task& task, std::span<const Pair> pairs, const Null& null,
                 const TaskTests& tests) {
    std::int64_t defined = 0, above = 0, one_empty = 0;
    double sum = 0, smallest = undefined;
    for (const Pair& pair : pairs) {
        const OverlapNull& figures = pair.overlap.*null.figures;
        if (!pair.level->finding || std::isnan(figures.p)) continue;
        ++defined;
        above += figures.delta_jaccard > 0;
        one_empty += pair.overlap.blind_a == 0 || pair.overlap.blind_b == 0;
        sum += figures.delta_jaccard;
        smallest = std::fmin(smallest, figures.log10_p);
    }
    const std::int64_t rejected = std::ranges::count_if(tests.verdicts, &Verdict::reject);
    const auto encoders = std::ssize(task.encoders);
    rows.begin();
    rows.put("task", task.id);
    rows.put("null", std::string(null.name));
    rows.put("pairs", static_cast<std::int64_t>(encoders * (encoders - 1) / 2));
    rows.put("tests", defined);
    rows.put("undefined", std::ssize(tests.verdicts) - defined);
    rows.put("one_empty", one_empty);
    rows.put("above", above);
    rows.put("above_share", ratio(above, defined));
    rows.put("rejected", rejected);
    rows.put("rejected_share", ratio(rejected, defined));
    rows.put("mean_delta_jaccard", defined == 0 ? undefined : sum / static_cast<double>(defined));
    rows.put("smallest_log10_p", smallest);
}

/// `pairs` are those of one task, its findings' first.
void put_overlaps(std::vector<OverlapLine>& overlaps, Rows& summary, std::vector<TestFamily>& families,
                  const study::Study& study, const study::Task& task, std::span<const Pair> pairs) {
    std::vector<TaskTests> tests;
    for (const Null& null : nulls) {
        tests.push_back(tests_of(study, task, pairs, null));
        put_summary(summary, task, pairs, null, tests.back());
        families.push_back(tests.back().family);
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        for (std::size_t j = 0; j < tests.size(); ++j) {
            overlaps.push_back(overlap_line(study, task, pairs[i], nulls[j]));
            if (i < tests[j].verdicts.size()) overlaps.back().verdict = tests[j].verdicts[i];
        }
    }
}

// ---- the panel ----

/// The positives of one finding, in the order of its cells and their queries.
struct Positives {
    std::vector<std::int32_t> patient;
    std::vector<std::int64_t> blind;                         // encoders
    std::vector<std::int64_t> by_consensus;                  // 0 or 1
    std::vector<std::int64_t> counted;                       // 1
    std::vector<std::int64_t> resampled_blind, resampled_n;  // weighted sums of the last two, a resample each
};

Positives positives_of(const TaskWork& work, const FindingSets& finding, std::int64_t resamples) {
    Positives positives;
    for (const std::size_t c : finding.cells) {
        const study::Cell& cell = work.cells[c];
        const auto& rows = work.contexts[static_cast<std::size_t>(cell.context)].rows;
        for (std::int64_t q = 0; q < cell.positive_queries; ++q) {
            const ContextRow query = cell.queries[static_cast<std::size_t>(q)];
            const PoolRow row = rows[static_cast<std::size_t>(query.value)];
            positives.patient.push_back(work.pool.patient[static_cast<std::size_t>(row.value)]);
        }
    }
    positives.blind = finding.sets.blind_encoders();
    for (const std::int64_t blind : positives.blind)
        positives.by_consensus.push_back(instruments::most_are_blind(blind, finding.sets.encoders()));
    positives.counted.resize(positives.blind.size(), 1);
    positives.resampled_blind.resize(static_cast<std::size_t>(resamples));
    positives.resampled_n.resize(static_cast<std::size_t>(resamples));
    return positives;
}

void resample(const study::Study& study, const TaskWork& work, std::vector<Positives>& findings,
              int threads) {
    const stats::Resampling resampling(study.seed, study.tasks[work.task].id, work.pool.clusters,
                                       study.bootstrap.resamples);
    std::vector<std::array<stats::WeightedSums, 2>> sums;  // of each finding: blind, counted
    for (const Positives& finding : findings) {
        const stats::RowPatients rows(finding.patient);
        sums.push_back(
            {stats::WeightedSums(rows, finding.by_consensus), stats::WeightedSums(rows, finding.counted)});
    }
    resampling.for_each_block([&](MatrixView<const stats::Weight> weights, std::int64_t first) {
        const auto part = [&](std::vector<std::int64_t>& values) {
            return std::span(values).subspan(static_cast<std::size_t>(first),
                                             static_cast<std::size_t>(weights.cols));
        };
        for_each_on_threads(threads, std::ssize(findings), [&](std::int64_t f) {
            const auto at = static_cast<std::size_t>(f);
            sums[at][0].add(weights, part(findings[at].resampled_blind));
            sums[at][1].add(weights, part(findings[at].resampled_n));
        });
    });
}

/// A row of consensus: the findings of `level` taken together.
void put_consensus(Rows& rows, const study::Study& study, const study::Task& task, const Level& level,
                   std::span<const Positives> findings) {
    const auto encoders = std::ssize(task.encoders);
    std::set<std::int32_t> patients;
    std::int64_t positives = 0, blind = 0, all_blind = 0, none_blind = 0;
    std::vector<std::int64_t> part(static_cast<std::size_t>(study.bootstrap.resamples));
    std::vector<std::int64_t> whole(part.size());
    for (const Positives& finding : findings) {
        patients.insert(finding.patient.begin(), finding.patient.end());
        positives += std::ssize(finding.blind);
        blind += std::ranges::count(finding.by_consensus, 1);
        all_blind += std::ranges::count(finding.blind, encoders);
        none_blind += std::ranges::count(finding.blind, 0);
        for (std::size_t b = 0; b < part.size(); ++b) {
            part[b] += finding.resampled_blind[b];
            whole[b] += finding.resampled_n[b];
        }
    }
    instruments::Replicates replicates{ratio(blind, positives), {}};
    for (std::size_t b = 0; b < part.size(); ++b) replicates.resampled.push_back(ratio(part[b], whole[b]));
    const instruments::Estimate share = instruments::estimate(replicates, study.bootstrap.confidence);
    const stats::Bounds bound = instruments::bound(share, std::ssize(patients), study.bootstrap.confidence);
    double independent = 0;
    for (const FindingSets* finding : level.parts)
        independent += instruments::independent_consensus(finding->sets);

    rows.begin();
    put_level(rows, task, level);
    rows.put("encoders", static_cast<std::int64_t>(encoders));
    rows.put("positives", positives);
    rows.put("patients", std::ssize(patients));
    rows.put("blind", blind);
    put_estimate(rows, "share", "low", "high", share);
    rows.put("n_boot_valid", share.valid);
    rows.put("few_patients", patients.size() < 10);
    rows.put("all_equal", share.all_equal);
    rows.put("bound_low", bound.low);
    rows.put("bound_high", bound.high);
    rows.put("all_blind", all_blind);
    rows.put("none_blind", none_blind);
    rows.put("independent_share", positives == 0 ? undefined : independent / static_cast<double>(positives));
}

/// `levels` are those of one task: its findings, then itself.
void put_panel(Rows& rows, const study::Study& study, const TaskWork& work, std::span<const Level> levels,
               int threads) {
    const Level& all = levels.back();
    std::vector<Positives> findings;
    for (const FindingSets* part : all.parts)
        findings.push_back(positives_of(work, *part, study.bootstrap.resamples));
    resample(study, work, findings, threads);
    const study::Task& task = study.tasks[work.task];
    for (std::size_t f = 0; f < findings.size(); ++f)
        put_consensus(rows, study, task, levels[f], std::span(findings).subspan(f, 1));
    put_consensus(rows, study, task, all, findings);
}

std::vector<std::vector<std::int64_t>> blind_encoders_of_cases(const std::vector<TaskWork>& work,
                                                               const std::vector<FindingSets>& all) {
    std::vector<std::vector<std::int64_t>> blind;
    for (const TaskWork& here : work) blind.emplace_back(static_cast<std::size_t>(here.cases), -1);
    for (const FindingSets& finding : all) {
        const TaskWork& here = work[finding.work];
        const std::vector<std::int64_t> counts = finding.sets.blind_encoders();
        auto next = counts.begin();
        for (const std::size_t c : finding.cells) {
            const auto end = next + here.cells[c].positive_queries;
            std::copy(next, end, blind[finding.work].begin() + here.first_case[c]);
            next = end;
        }
    }
    return blind;
}

/// The entries of a sorted list that are of one work. `work_of(entry)` says of which an entry is.
template <class T, class WorkOf>
std::span<const T> of_work(const std::vector<T>& list, std::size_t work, WorkOf work_of) {
    const auto range = std::ranges::equal_range(list, work, {}, work_of);
    return {range.begin(), range.end()};
}

}  // namespace

BlindSetResults blind_sets_mpi(const parallel::Communicator& world, const study::Study& study,
                               const std::vector<TaskWork>& work, const std::vector<Found>& owned,
                               int threads, const Log& log) {
    std::vector<FindingSets> all = make_sets(study, work);
    fill_mpi(world, study, work, owned, all);
    const std::vector<Level> levels = levels_of(work, all);
    std::vector<Pair> pairs = pairs_of(levels);
    compare_mpi(world, pairs, threads, log);
    relabel_mpi(world, study, work, owned, threads, pairs);
    if (world.rank() != 0) return {};

    std::vector<OverlapLine> overlaps;
    Rows summary("overlap_summary"), consensus("consensus");
    BlindSetResults results;
    for (std::size_t w = 0; w < work.size(); ++w) {
        put_overlaps(overlaps, summary, results.families, study, study.tasks[work[w].task],
                     of_work(pairs, w, [](const Pair& pair) { return pair.level->work; }));
        put_panel(consensus, study, work[w], of_work(levels, w, &Level::work), threads);
    }
    results.overlap = table_of("overlap", overlaps, put_overlap);
    results.overlap_summary = summary.take();
    results.consensus = consensus.take();
    results.blind_encoders = blind_encoders_of_cases(work, all);
    return results;
}

}  // namespace candor::campaign
