#include "candor/campaign/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "candor/base/memory.hpp"
#include "candor/campaign/detection_work.hpp"
#include "candor/campaign/held_memory.hpp"
#include "candor/campaign/inference_mpi.hpp"
#include "candor/campaign/memory_budget.hpp"
#include "candor/campaign/stages.hpp"
#include "candor/instruments/detection.hpp"
#include "candor/instruments/discordance.hpp"
#include "candor/instruments/tally.hpp"
#include "candor/neighbors/census_rows.hpp"
#include "candor/parallel/schedule.hpp"

namespace candor::campaign {

namespace {

/// Seconds of each rank in one stage: all, and of that what more ranks do not make shorter.
struct OnRanks {
    explicit OnRanks(int ranks) : all(static_cast<std::size_t>(ranks)), fixed(all.size()) {}

    void add(std::size_t rank, double seconds) { all[rank] += seconds; }
    void add_fixed(std::size_t rank, double seconds) {
        all[rank] += seconds;
        fixed[rank] += seconds;
    }
    void add_fixed_everywhere(double seconds) {
        for (std::size_t rank = 0; rank < all.size(); ++rank) add_fixed(rank, seconds);
    }

    /// Adds what happens between two points at which all ranks meet.
    void into(StageForecast& stage) const {
        const auto slowest = static_cast<std::size_t>(std::ranges::max_element(all) - all.begin());
        stage.slowest += all[slowest];
        stage.fixed += fixed[slowest];
        stage.cpu_seconds += std::accumulate(all.begin(), all.end(), 0.0);
    }

    std::vector<double> all, fixed;
};

StageForecast& begin(Forecast& forecast, const char* name) {
    forecast.stages.push_back({name, 0, 0, 0, 0});
    return forecast.stages.back();
}

double real(std::int64_t count) {
    return static_cast<double>(count);
}

/// Rows of a cell times the worlds that are read off their lists.
double rows_read(const study::Study& study, const ListedCell& listed) {
    if (!listed.has_lists()) return 0;
    return real(listed.participants.size()) * real(study.test.permutations) +
           real(std::ssize(listed.query)) * real(instruments::wide_draws);
}

CensusShape shape_of(const study::Study& study, const TaskWork& work, const SearchGroup& group) {
    const int k = study.op.k;
    const std::int64_t rows = std::ssize(work.contexts[static_cast<std::size_t>(group.context)].rows);
    CensusShape shape{rows, 0, 0, 0, 0};
    std::vector<bool> takes_part(static_cast<std::size_t>(rows));
    const auto add = [&](const neighbors::Question& question) {
        ++shape.lists;
        for (const ContextRow row : question.queries) takes_part[static_cast<std::size_t>(row.value)] = true;
        const std::int64_t longest = neighbors::longest_reach(question);
        for (std::int64_t i = 0; i < longest; ++i)
            takes_part[static_cast<std::size_t>(question.list[static_cast<std::size_t>(i)].value)] = true;
    };
    for (const std::size_t cell : group.cells) {
        const std::vector<neighbors::Question> questions = questions_of(work, cell);
        for (const neighbors::Question& question : questions) add(question);
        shape.asked += asked_of(questions, k);
        if (!work.listed.empty()) shape.read += rows_read(study, work.listed[cell]);
    }
    shape.rows = std::ranges::count(takes_part, true);
    return shape;
}

std::vector<neighbors::Question> questions_of_group(const TaskWork& work, const SearchGroup& group) {
    std::vector<neighbors::Question> questions;
    for (const std::size_t cell : group.cells) {
        const auto own = questions_of(work, cell);
        questions.insert(questions.end(), own.begin(), own.end());
    }
    return questions;
}

}  // namespace

double asked_of(std::span<const neighbors::Question> questions, int k) {
    // Lists of a cell beyond its first two, under other rules and draws or of permutations, have mostly the
    // neighbours of the first: they were looked at already.
    constexpr double share_of_further_lists = 0.4;
    double asked = 0;
    for (std::size_t q = 0; q < questions.size(); ++q) {
        const double longer = questions[q].k > 0 ? real(questions[q].k) / real(k) : 1;
        asked += (q < 2 ? 1 : share_of_further_lists) * longer * real(std::ssize(questions[q].queries));
    }
    return asked;
}

const StageForecast* Forecast::stage(const std::string& name) const {
    const auto at = std::ranges::find(stages, name, &StageForecast::name);
    return at == stages.end() ? nullptr : &*at;
}

Player::Player(const PlannedStudy& study, const MachineRates& rates) : study_(study), rates_(rates) {
    for (const std::int64_t dimension : study.dimensions)
        of_encoder_.push_back(rates.at(std::max<std::int64_t>(1, dimension)));
    const neighbors::SearchOptions options;
    resident_ = resident_bytes();
    const double start = processor_seconds();
    plan_ = list_search(of(), study.work, study.dimensions, options);
    training_plan_ = list_search(study.training_study, study.training, study.dimensions, options);
    listing_seconds_ = processor_seconds() - start;
    for (const SearchGroup& group : training_plan_.groups) {
        const TaskWork& work = study.training[group.work];
        const std::size_t encoder = of().tasks[work.task].encoders[group.encoder];
        training_least_ = std::max(
            training_least_, neighbors::least_memory(
                                 std::ssize(work.contexts[static_cast<std::size_t>(group.context)].rows),
                                 study.dimensions[encoder], study.width(of().tasks[work.task], encoder) > 4,
                                 questions_of_group(work, group), of().op.k, options));
    }

    std::map<std::tuple<std::size_t, std::int32_t, std::size_t>, std::size_t> known;
    std::map<std::pair<std::size_t, std::int64_t>, std::pair<std::int64_t, std::int64_t>> memory;
    for (const SearchGroup& group : plan_.groups) {
        const TaskWork& work = study.work[group.work];
        const std::tuple key(group.work, group.context, group.cells.front());
        const auto [at, is_new] = known.emplace(key, shapes_.size());
        const std::int64_t rows = std::ssize(work.contexts[static_cast<std::size_t>(group.context)].rows);
        const bool doubles = study.width(of().tasks[work.task], encoder_of(group)) > 4;
        const std::int64_t dimension = study.dimensions[encoder_of(group)];
        const std::pair size(at->second, doubles ? -dimension : dimension);
        if (is_new || !memory.contains(size)) {
            const auto questions = questions_of_group(work, group);
            if (is_new) shapes_.push_back(campaign::shape_of(of(), work, group));
            memory.emplace(size, std::pair(neighbors::full_memory(shapes_[at->second].rows, dimension,
                                                                  doubles, questions, of().op.k, options),
                                           neighbors::least_memory(rows, dimension, doubles, questions,
                                                                   of().op.k, options)));
        }
        shape_.push_back(at->second);
        full_memory_.push_back(memory.at(size).first);
        least_memory_.push_back(memory.at(size).second);
    }
}

std::size_t Player::encoder_of(const SearchGroup& group) const {
    return of().tasks[study_.work[group.work].task].encoders[group.encoder];
}

double Player::seconds_of(const SearchTask& task) const {
    return task.encounter.products * of_encoder_[encoder_of(plan_.groups[task.group])].product;
}

double Player::drawing(std::size_t work) const {
    return real(study_.work[work].pool.clusters) * real(of().bootstrap.resamples) * rates_.draw;
}

Forecast Player::play(int ranks) {
    const double start = processor_seconds();
    place_search(plan_, ranks);
    place_search(training_plan_, ranks);
    placing_seconds_ = processor_seconds() - start;
    Forecast forecast;
    forecast.ranks = ranks;
    play_start(forecast);
    play_audit(forecast);
    play_search(forecast);
    play_permute(forecast);
    play_count(forecast);
    play_overlap(forecast);
    play_retention(forecast);
    play_heads(forecast);
    play_detection(forecast);
    play_training(forecast);
    play_selection(forecast);
    play_tables(forecast);
    play_write(forecast);
    play_memory(forecast);
    for (const StageForecast& stage : forecast.stages) {
        forecast.elapsed += stage.slowest;
        forecast.cpu_seconds += stage.cpu_seconds;
        forecast.fixed += stage.fixed;
    }
    return forecast;
}

/// Every rank starts and parses the tables.
void Player::play_start(Forecast& forecast) const {
    OnRanks ranks(forecast.ranks);
    ranks.add_fixed_everywhere(rates_.start + study_.tables_seconds);
    ranks.into(begin(forecast, "start"));
}

/// Encoders are shared over ranks, their files read whole; then every rank draws the pools.
void Player::play_audit(Forecast& forecast) const {
    OnRanks ranks(forecast.ranks);
    ranks.add_fixed_everywhere(study_.pools_seconds);
    std::map<std::size_t, std::set<std::size_t>> tasks_of;  // by dataset: works
    for (std::size_t w = 0; w < study_.work.size(); ++w) {
        for (const std::size_t d : study::pool_datasets(of(), of().tasks[study_.work[w].task]))
            tasks_of[d].insert(w);
    }
    std::map<std::pair<std::size_t, std::size_t>, std::int64_t> rows_of;  // by work and dataset
    for (std::size_t w = 0; w < study_.work.size(); ++w) {
        for (const std::int32_t d : study_.work[w].pool.dataset) ++rows_of[{w, static_cast<std::size_t>(d)}];
    }
    // An encoder's files are one rank's: with as many ranks as encoders no more can share them.
    const bool one_each = forecast.ranks >= static_cast<int>(of().encoders.size());
    const auto add = [&](std::size_t rank, double seconds) {
        one_each ? ranks.add_fixed(rank, seconds) : ranks.add(rank, seconds);
    };
    for (const auto& [key, header] : study_.features) {
        const auto& [encoder, dataset] = key;
        const auto rank = encoder % static_cast<std::size_t>(forecast.ranks);
        // Of several tasks that use a file, the largest stands for their union.
        std::int64_t used = 0;
        for (const std::size_t w : tasks_of[dataset]) {
            const study::Task& task = of().tasks[study_.work[w].task];
            if (std::ranges::find(task.encoders, encoder) == task.encoders.end()) continue;
            used = std::max(used, rows_of[{w, dataset}]);
        }
        add(rank, rates_.open + real(used) * real(header.dimension) * rates_.audit_value +
                      real(header.rows) * rates_.audit_row);
        forecast.bytes_read += header.rows * header.dimension * store::size_of(header.type);
    }
    for (const auto& [key, header] : study_.erased) {
        add(key.first % static_cast<std::size_t>(forecast.ranks),
            rates_.open + real(header.rows) * real(header.dimension) * rates_.audit_value +
                2 * real(header.rows) * rates_.audit_row);
        forecast.bytes_read += header.rows * header.dimension * store::size_of(header.type);
    }
    ranks.into(begin(forecast, "audit"));
}

/// What search_mpi does with this plan: a rank makes the census of each group that it has tasks of, lets its
/// panels meet, and decides; groups on several ranks are decided once all have met, the rows of all but the
/// last then read again.
void Player::play_search(Forecast& forecast) const {
    const auto count = static_cast<std::size_t>(forecast.ranks);
    OnRanks meeting(forecast.ranks), deciding(forecast.ranks);
    meeting.add_fixed_everywhere(listing_seconds_ + placing_seconds_);
    std::vector<double> costs(count);
    std::vector<std::int64_t> bytes(count);
    constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::vector<std::size_t> at_group(count, none), last_shared(count, none), open_encoder(count, none);
    std::vector<std::set<std::size_t>> open_files(count);
    const std::vector<bool> shared = shared_groups(plan_);

    const auto make = [&](std::size_t rank, std::size_t g, OnRanks& ranks) {
        const SearchGroup& group = plan_.groups[g];
        const TaskWork& work = study_.work[group.work];
        const CensusShape& shape = shape_of(g);
        const std::size_t encoder = encoder_of(group);
        const SearchRates& rates = of_encoder_[encoder];
        const std::int64_t looked_at = neighbors::rows_looked_at(shape.context_rows),
                           tried = neighbors::directions_tried(study_.dimensions[encoder]);
        // Fewer rows than directions span no more of them than they are.
        const double spanned = looked_at < tried ? real(looked_at) / real(tried) : 1;
        double seconds = real(shape.context_rows) * real(shape.lists) * rates_.build + spanned * rates.look +
                         real(looked_at) * rates.look_row + real(shape.rows) * rates.load;
        if (open_encoder[rank] != encoder) open_files[rank].clear();
        open_encoder[rank] = encoder;
        std::int64_t width = 0;
        std::set<std::size_t> datasets;
        for (const PoolRow row : work.contexts[static_cast<std::size_t>(group.context)].rows)
            datasets.insert(static_cast<std::size_t>(work.pool.dataset[static_cast<std::size_t>(row.value)]));
        for (const std::size_t dataset : datasets) {
            const store::FeatureHeader& header = study_.features.at({encoder, dataset});
            width = std::max(width, store::size_of(header.type));
            if (open_files[rank].insert(dataset).second)
                seconds += rates_.open + (header.has_ids ? real(header.rows) * rates_.audit_row : 0);
        }
        // What several ranks make for themselves, more ranks do not make shorter.
        shared[g] ? ranks.add_fixed(rank, seconds) : ranks.add(rank, seconds);
        bytes[rank] += shape.rows * study_.dimensions[encoder] * width;
    };

    std::vector<std::set<std::int64_t>> panels(count);  // of the group that a rank is at
    const auto fill = [&](std::size_t rank) {
        if (at_group[rank] == none) return;
        const std::size_t g = at_group[rank];
        const double share = real(std::ssize(panels[rank])) / real(plan_.groups[g].panels);
        meeting.add(rank, shape_of(g).asked * share * of_encoder_[encoder_of(plan_.groups[g])].fill);
        panels[rank].clear();
    };
    for (std::size_t t = 0; t < plan_.tasks.size(); ++t) {
        const SearchTask& task = plan_.tasks[t];
        const auto rank = static_cast<std::size_t>(plan_.rank[t]);
        if (at_group[rank] != task.group) {
            fill(rank);
            make(rank, task.group, meeting);
            at_group[rank] = task.group;
            if (shared[task.group]) last_shared[rank] = task.group;
        }
        panels[rank].insert(task.encounter.i);
        panels[rank].insert(task.encounter.j);
        const double seconds = seconds_of(task);
        costs[rank] += task.cost;
        meeting.add(rank, seconds);
        forecast.longest_task = std::max(forecast.longest_task, seconds);
        forecast.flops += task.flops;
    }
    for (std::size_t rank = 0; rank < count; ++rank) fill(rank);

    for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
        const double a_panel = shape_of(g).asked / real(std::max<std::int64_t>(1, plan_.groups[g].panels)) *
                               of_encoder_[encoder_of(plan_.groups[g])].decide;
        std::set<std::size_t> owners;
        for (const int owner : plan_.owner[g]) {
            const auto rank = static_cast<std::size_t>(owner);
            if (shared[g] && owners.insert(rank).second && last_shared[rank] != g) make(rank, g, deciding);
            (shared[g] ? deciding : meeting).add(rank, a_panel);
        }
        if (!shared[g] && !plan_.owner[g].empty())
            meeting.add(static_cast<std::size_t>(plan_.owner[g].front()), shape_of(g).read * rates_.world);
    }

    StageForecast& stage = begin(forecast, "search");
    meeting.into(stage);
    deciding.into(stage);
    stage.flops = forecast.flops;
    forecast.tasks = std::ssize(plan_.tasks);
    const double most = std::ranges::max(costs);
    const double mean = std::accumulate(costs.begin(), costs.end(), 0.0) / real(forecast.ranks);
    forecast.balance = most > 0 ? mean / most : 1;
    forecast.idle = std::ranges::count(at_group, none);
    forecast.most_read = std::ranges::max(bytes);
    forecast.bytes_read += std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

/// Cells that several ranks searched are permuted where they are counted; the others by then have been.
void Player::play_permute(Forecast& forecast) const {
    OnRanks ranks(forecast.ranks);
    const auto owner = counting_owners(of(), study_.work, forecast.ranks);
    const std::vector<bool> shared = shared_groups(plan_);
    for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
        const SearchGroup& group = plan_.groups[g];
        const TaskWork& work = study_.work[group.work];
        if (!shared[g] || work.listed.empty()) continue;
        for (const std::size_t cell : group.cells) {
            const int rank =
                owner(group.work, group.encoder, static_cast<std::size_t>(work.cells[cell].finding));
            ranks.add(static_cast<std::size_t>(rank), rows_read(of(), work.listed[cell]) * rates_.world);
        }
    }
    ranks.into(begin(forecast, "permute"));
}

/// Each (encoder, finding) is counted by the rank that a run gives it to; whoever counts draws all weights.
void Player::play_count(Forecast& forecast) const {
    OnRanks ranks(forecast.ranks);
    const auto owner = counting_owners(of(), study_.work, forecast.ranks);
    const double resamples = real(of().bootstrap.resamples);
    for (std::size_t w = 0; w < study_.work.size(); ++w) {
        const TaskWork& work = study_.work[w];
        const std::size_t encoders = of().tasks[work.task].encoders.size();
        std::vector<bool> draws(static_cast<std::size_t>(forecast.ranks));
        for (const study::Cell& cell : work.cells) {
            if (!cell.scored()) continue;
            const double positives = real(cell.positive_queries), all = real(std::ssize(cell.queries));
            const double rules = real(rules_of(work, cell));
            const double seconds =
                all * rules * rates_.counting + resamples * (summed_rows(positives, all, rules) * rates_.sum +
                                                             all * rates_.pair + rules * rates_.tally);
            for (std::size_t e = 0; e < encoders; ++e) {
                const auto rank =
                    static_cast<std::size_t>(owner(w, e, static_cast<std::size_t>(cell.finding)));
                ranks.add(rank, seconds);
                draws[rank] = true;
            }
        }
        for (std::size_t rank = 0; rank < draws.size(); ++rank) {
            if (draws[rank]) ranks.add_fixed(rank, drawing(w));
        }
    }
    ranks.into(begin(forecast, "count"));
}

/// Pairs of encoders are shared over ranks; the panel's consensus is rank 0's.
void Player::play_overlap(Forecast& forecast) const {
    OnRanks ranks(forecast.ranks);
    std::vector<double> costs;
    for (std::size_t w = 0; w < study_.work.size(); ++w) {
        const TaskWork& work = study_.work[w];
        const std::size_t encoders = of().tasks[work.task].encoders.size();
        std::map<std::int32_t, std::pair<double, double>> findings;  // contexts, positives
        std::pair<double, double> task;
        for (const study::Cell& cell : work.cells) {
            if (!cell.scored() || cell.pooled_reference) continue;
            auto& [contexts, positives] = findings[cell.finding];
            contexts += 1;
            positives += real(cell.positive_queries);
            task.first += 1;
            task.second += real(cell.positive_queries);
        }
        const auto cost_of = [&](const std::pair<double, double>& level) {
            const auto& [contexts, positives] = level;
            return positives * std::sqrt(contexts) * rates_.overlap + contexts * rates_.overlap_context;
        };
        for (std::size_t pair = 0; pair < encoders * (encoders - 1) / 2; ++pair) {
            for (const auto& [finding, size] : findings) costs.push_back(cost_of(size));
            costs.push_back(cost_of(task));
        }
        const double resamples = real(of().bootstrap.resamples);
        ranks.add_fixed(0, drawing(w) + resamples * (2 * task.second * rates_.sum +
                                                     real(std::ssize(findings) + 1) * rates_.summary));
    }
    const std::vector<int> placed = parallel::place_longest_first(costs, forecast.ranks);
    for (std::size_t i = 0; i < costs.size(); ++i) ranks.add(static_cast<std::size_t>(placed[i]), costs[i]);
    ranks.into(begin(forecast, "overlap"));
}

/// A task's erased features under one encoder are one rank's. How many of them are of use only their ids
/// tell: all are taken to be.
void Player::play_retention(Forecast& forecast) const {
    OnRanks ranks(forecast.ranks);
    struct Job {
        std::size_t work;
        double seconds;
    };
    std::vector<Job> jobs;
    std::vector<double> costs;
    for (std::size_t w = 0; w < study_.work.size(); ++w) {
        const study::Task& task = of().tasks[study_.work[w].task];
        for (const std::size_t encoder : task.encoders) {
            double rows = 0, seconds = 0;
            for (const std::size_t dataset : task.datasets) {
                const auto at = study_.erased.find({encoder, dataset});
                if (at == study_.erased.end()) continue;
                rows += real(at->second.rows);
                const store::FeatureHeader& original = study_.features.at({encoder, dataset});
                seconds += 2 * rates_.open + real(original.rows) * rates_.audit_row +
                           real(at->second.rows) *
                               (real(at->second.dimension) * (2 * rates_.audit_value + rates_.retention) +
                                rates_.audit_row);
            }
            if (rows == 0) continue;
            jobs.push_back({w, seconds + rows * real(of().bootstrap.resamples) * rates_.rank});
            costs.push_back(rows);
        }
    }
    const std::vector<int> placed = parallel::place_longest_first(costs, forecast.ranks);
    std::set<std::pair<std::size_t, std::size_t>> draws;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const auto rank = static_cast<std::size_t>(placed[j]);
        ranks.add(rank, jobs[j].seconds);
        if (draws.emplace(jobs[j].work, rank).second) ranks.add_fixed(rank, drawing(jobs[j].work));
    }
    ranks.into(begin(forecast, "retention"));
}

/// Trainings are placed as train_heads_mpi does; their products are taken to be as fast as the search's, the
/// resamples to be shared evenly.
void Player::play_heads(Forecast& forecast) const {
    OnRanks ranks(forecast.ranks);
    const std::vector<HeadJob> jobs = head_jobs(of(), study_.work, study_.heads);
    std::vector<double> costs;
    double flops = 0;
    for (const HeadJob& job : jobs) {
        const std::size_t encoder = of().tasks[study_.work[job.work].task].encoders[job.encoder];
        costs.push_back(head_cost(of(), study_.work, study_.heads, job, study_.dimensions[encoder]));
        flops += costs.back();
    }
    const std::vector<int> placed = parallel::place_longest_first(costs, forecast.ranks);
    std::map<std::size_t, double> resampled;  // by work: test rows of all heads
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const HeadJob& job = jobs[j];
        const study::Task& task = of().tasks[study_.work[job.work].task];
        const std::size_t encoder = task.encoders[job.encoder];
        const double a_pair = 2 * real(study_.dimensions[encoder]);
        ranks.add(static_cast<std::size_t>(placed[j]), costs[j] / a_pair * of_encoder_[encoder].product);
        if (job.member == 0)
            resampled[job.work] +=
                real(std::ssize(task.findings)) * real(std::ssize(study_.heads[job.work][job.dataset].test));
    }
    for (const auto& [work, rows] : resampled) {
        ranks.add_fixed_everywhere(drawing(work));
        for (int rank = 0; rank < forecast.ranks; ++rank)
            ranks.add(static_cast<std::size_t>(rank),
                      rows * real(of().bootstrap.resamples) * rates_.pair / real(forecast.ranks));
    }
    StageForecast& stage = begin(forecast, "heads");
    ranks.into(stage);
    stage.flops = flops;
}

/// Jobs are placed as score_heads_mpi does; products as in `play_heads`, and each rank resamples its own
/// jobs: a sorted pass a score for AUROC and another for AURC, which draws the weights anew.
void Player::play_detection(Forecast& forecast) const {
    OnRanks ranks(forecast.ranks);
    const std::vector<DetectionJob> jobs = detection_jobs(of(), study_.work, study_.heads);
    std::vector<double> costs;
    for (const DetectionJob& job : jobs) {
        const std::size_t encoder = of().tasks[study_.work[job.work].task].encoders[job.encoder];
        costs.push_back(detection_cost(study_.work, study_.heads, job, study_.dimensions[encoder]));
    }
    const std::vector<int> placed = parallel::place_longest_first(costs, forecast.ranks);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const DetectionJob& job = jobs[j];
        const study::Task& task = of().tasks[study_.work[job.work].task];
        const std::size_t encoder = task.encoders[job.encoder];
        const double findings = real(std::ssize(task.findings));
        const double rows = findings * real(std::ssize(study_.heads[job.work][job.dataset].test));
        ranks.add(static_cast<std::size_t>(placed[j]),
                  costs[j] / (2 * real(study_.dimensions[encoder])) * of_encoder_[encoder].product +
                      rows * 2 * real(instruments::detection_scores) * real(of().bootstrap.resamples) *
                          rates_.pair +
                      (1 + findings) * drawing(job.work));
    }
    StageForecast& stage = begin(forecast, "detection");
    ranks.into(stage);
    stage.flops = std::accumulate(costs.begin(), costs.end(), 0.0);
}

/// The search among training rows: products, and what its queries keep and decide.
void Player::play_training(Forecast& forecast) const {
    OnRanks ranks(forecast.ranks);
    double flops = 0;
    std::size_t last = static_cast<std::size_t>(-1);
    for (std::size_t t = 0; t < training_plan_.tasks.size(); ++t) {
        const SearchTask& task = training_plan_.tasks[t];
        const SearchGroup& group = training_plan_.groups[task.group];
        const TaskWork& work = study_.training[group.work];
        const SearchRates& rates = of_encoder_[of().tasks[work.task].encoders[group.encoder]];
        const auto rank = static_cast<std::size_t>(training_plan_.rank[t]);
        ranks.add(rank, task.encounter.products * rates.product);
        if (task.group != last)
            ranks.add(rank, campaign::shape_of(of(), work, group).asked * (rates.fill + rates.decide));
        last = task.group;
        flops += task.flops;
    }
    StageForecast& stage = begin(forecast, "search, training rows");
    ranks.into(stage);
    stage.flops = flops;
}

/// The heads of a dataset are one rank's: a sum an encoder, and some, of all rows and resamples.
void Player::play_selection(Forecast& forecast) const {
    OnRanks ranks(forecast.ranks);
    std::vector<double> costs, seconds;
    for (const DetectionJob& job : detection_jobs(of(), study_.work, study_.heads)) {
        const study::Task& task = of().tasks[study_.work[job.work].task];
        if (job.encoder > 0 || task.encoders.size() < 2) continue;
        const double rows =
            real(std::ssize(task.findings)) * real(std::ssize(study_.heads[job.work][job.dataset].test));
        const double encoders = real(std::ssize(task.encoders));
        costs.push_back(rows * encoders);
        seconds.push_back(rows * 2 * encoders * real(of().bootstrap.resamples) * rates_.sum +
                          drawing(job.work));
    }
    const std::vector<int> placed = parallel::place_longest_first(costs, forecast.ranks);
    for (std::size_t j = 0; j < placed.size(); ++j)
        ranks.add(static_cast<std::size_t>(placed[j]), seconds[j]);
    ranks.into(begin(forecast, "selection"));
}

/// Rank 0 summarises findings, tasks, panels and distances.
void Player::play_tables(Forecast& forecast) const {
    OnRanks ranks(forecast.ranks);
    double summaries = 0;
    for (const TaskWork& work : study_.work) {
        const study::Task& task = of().tasks[work.task];
        const double levels = real(std::ssize(task.findings)) + 2;
        const double encoders = real(std::ssize(task.encoders));
        // A task's macro rates take every finding's again; panels and distances a few an encoder.
        summaries +=
            encoders * real(std::ssize(work.rules)) * (2 * levels) * statistics_of_a_summary + 4 * encoders;
    }
    ranks.add_fixed(0, summaries * real(of().bootstrap.resamples) * rates_.summary);
    ranks.into(begin(forecast, "tables"));
}

/// All ranks write their cases: three numbers and a margin a case and encoder.
void Player::play_write(Forecast& forecast) const {
    OnRanks ranks(forecast.ranks);
    double shared = 0, of_root = 0;
    for (const TaskWork& work : study_.work) {
        const double encoders = real(std::ssize(of().tasks[work.task].encoders));
        shared += real(work.cases) * encoders * 4 * sizeof(double);
        constexpr double texts = 5;  // image, dataset, patient, context and finding of a case
        of_root += real(work.cases) * texts;
    }
    for (std::size_t rank = 0; rank < ranks.all.size(); ++rank)
        ranks.add(rank, shared / real(forecast.ranks) * rates_.write);
    ranks.add_fixed(0, of_root * rates_.text);
    ranks.into(begin(forecast, "write"));
}

/// What a rank holds of tables and pools, its largest census, and what it found; then what it counts.
void Player::play_memory(Forecast& forecast) const {
    const auto count = static_cast<std::size_t>(forecast.ranks);
    std::vector<std::int64_t> census(count), least(count);
    for (std::size_t t = 0; t < plan_.tasks.size(); ++t) {
        const auto rank = static_cast<std::size_t>(plan_.rank[t]);
        census[rank] = std::max(census[rank], full_memory_[plan_.tasks[t].group]);
        least[rank] = std::max(least[rank], least_memory_[plan_.tasks[t].group]);
    }
    const HeldMemory held = held_memory(of(), study_.work, plan_, forecast.ranks);
    for (std::size_t rank = 0; rank < count; ++rank)
        forecast.memory = std::max(forecast.memory,
                                   held.found[rank] + std::max({census[rank] + held.lists[rank],
                                                                held.delivered[rank], held.counted[rank]}));
    const std::int64_t heads =
        head_memory(of(), study_.work, study_.heads, study_.dimensions, forecast.ranks, 1);
    forecast.memory = std::max(forecast.memory, std::ranges::max(held.found) + heads);
    forecast.memory += resident_ + memory_beside_search;
    // A bound holds for every rank, whichever gets the largest census.
    forecast.least_memory = resident_ + memory_beside_search + memory_margin +
                            held.most(std::ranges::max(least), std::max(heads, training_least_));
}

}  // namespace candor::campaign
