#pragma once

/// What a run will take at any number of ranks: the very schedule of a run, played with what each piece of
/// work takes on a machine.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "candor/campaign/machine_rates.hpp"
#include "candor/campaign/planned_study.hpp"
#include "candor/campaign/search_plan.hpp"

namespace candor::campaign {

/// Statistics that a summary has an interval or a value of: D, its mid-rate, the margin's AUROC and balanced
/// accuracy.
inline constexpr double statistics_of_a_summary = 4;

/// Rows that a cell's rates add up in each resample: its discordant ones, about half of the positives, and
/// the positives under every rule; under the primary one the right answers among both labels too.
constexpr double summed_rows(double positives, double all, double rules) {
    return 1.5 * positives * rules + 1.5 * all;
}

/// One stage of a run, named as in /run/stages.
struct StageForecast {
    std::string name;
    double flops = 0;        ///< of products, all ranks
    double slowest = 0;      ///< seconds of the rank that takes longest
    double cpu_seconds = 0;  ///< all ranks
    /// Of `slowest`: what more ranks do not make shorter (starting, reading, drawing weights, rank 0's part).
    double fixed = 0;
};

struct Forecast {
    int ranks = 1;
    std::vector<StageForecast> stages;
    double flops = 0;                   ///< of products
    double elapsed = 0;                 ///< seconds: the slowest rank of each stage
    double cpu_seconds = 0, fixed = 0;  ///< as of the stages, summed
    /// Planned compute of the search (SearchTask::cost): its mean over ranks divided by the most of one.
    double balance = 1;
    std::int64_t tasks = 0;         ///< of the search
    std::int64_t idle = 0;          ///< ranks without any
    double longest_task = 0;        ///< seconds
    std::int64_t bytes_read = 0;    ///< of features, all ranks, again and again
    std::int64_t most_read = 0;     ///< by one rank
    std::int64_t memory = 0;        ///< bytes of the rank that takes most, about
    std::int64_t least_memory = 0;  ///< the same with as little as --memory allows

    double fixed_share() const { return elapsed > 0 ? fixed / elapsed : 0; }
    /// Seconds of one stage or 0.
    const StageForecast* stage(const std::string& name) const;
};

/// What the search of one context or cell is about, the same under every encoder.
struct CensusShape {
    std::int64_t context_rows = 0;  ///< of its context
    std::int64_t rows = 0;          ///< that someone asks or that stand on a list
    std::int64_t lists = 0;
    double asked = 0;  ///< asked_of its cells
    double read = 0;   ///< rows times the permutations and draws that are read off their lists
};

/// Lists that the questions of one cell ask, in lists of k neighbours; further ones count for less.
double asked_of(std::span<const neighbors::Question> questions, int k);

/// Plays a study's schedule for one rank count after another.
class Player {
  public:
    /// Every rank computes on one thread. The study and the rates must outlive this.
    Player(const PlannedStudy& study, const MachineRates& rates);

    /// @pre ranks >= 1.
    Forecast play(int ranks);

    /// The tasks of the search, as last played.
    const SearchPlan& plan() const { return plan_; }
    const CensusShape& shape_of(std::size_t group) const { return shapes_[shape_[group]]; }
    /// Seconds of one task.
    double seconds_of(const SearchTask& task) const;

  private:
    void play_start(Forecast& forecast) const;
    void play_audit(Forecast& forecast) const;
    void play_search(Forecast& forecast) const;
    void play_permute(Forecast& forecast) const;
    void play_count(Forecast& forecast) const;
    void play_overlap(Forecast& forecast) const;
    void play_retention(Forecast& forecast) const;
    void play_heads(Forecast& forecast) const;
    void play_detection(Forecast& forecast) const;
    void play_training(Forecast& forecast) const;
    void play_selection(Forecast& forecast) const;
    void play_tables(Forecast& forecast) const;
    void play_write(Forecast& forecast) const;
    void play_memory(Forecast& forecast) const;

    const study::Study& of() const { return study_.inputs.study; }
    std::size_t encoder_of(const SearchGroup& group) const;
    /// Weights of a task drawn for all resamples.
    double drawing(std::size_t work) const;

    const PlannedStudy& study_;
    const MachineRates& rates_;
    std::vector<SearchRates> of_encoder_;
    SearchPlan plan_, training_plan_;
    std::vector<CensusShape> shapes_;
    std::vector<std::size_t> shape_;                        // of each group
    std::vector<std::int64_t> full_memory_, least_memory_;  // of each group
    std::int64_t training_least_ = 0;
    double listing_seconds_ = 0, placing_seconds_ = 0;
    std::int64_t resident_ = 0;
};

}  // namespace candor::campaign
