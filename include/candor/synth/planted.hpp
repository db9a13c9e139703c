#pragma once

/// The discordance rate that a synthetic study holds, known beforehand: counted cells and the geometry's own
/// distribution of cosines, simulated directly. No feature, no neighbour search and no pool of the program
/// that will measure it takes part.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "candor/study/study.hpp"
#include "candor/synth/geometry.hpp"
#include "candor/synth/images.hpp"

namespace candor::synth {

/// What decides the rate of one cell beside the geometry (rule `equal`): counts of rows that answer, and of
/// twins both of which do.
struct CellCounts {
    std::size_t finding = 0;  ///< position in Task::findings
    std::string context;      ///< values joined by " / "
    std::int64_t positives = 0, negatives = 0;
    std::int64_t positive_pairs = 0, negative_pairs = 0;
    std::int64_t n = 0;        ///< candidates a side: min(cap, positives - 1, negatives - 1)
    std::int64_t queries = 0;  ///< positives that ask
    bool asks_reference = false;
};

/// The cells of a task that have n >= k and a query, by finding, then context. Rows are those of the task's
/// splits, at most `rows` a dataset by the order of image_key under the study's seed, a blank context left
/// out.
/// @param images of every dataset of the study; null where the task has nothing to do with it
/// @param labels likewise: [f * rows + row], as the tables state them, of the subject's findings f
std::vector<CellCounts> count_cells(const study::Study& study, const study::Task& task,
                                    const Subject& subject, std::span<const Images* const> images,
                                    std::span<const std::vector<study::Label>* const> labels);

/// An expected rate: of `discordant` among `simulated` independent queries, each with candidates of its own.
struct Expected {
    std::int64_t simulated = 0, discordant = 0;
    double rate() const { return static_cast<double>(discordant) / static_cast<double>(simulated); }
    /// sqrt(p (1 - p) / N) with p = (discordant + 1) / (simulated + 2), so that it is never 0.
    double standard_error() const;
};

/// Simulates `queries` positives of a cell: for each, other findings as frequent as they are planted, its
/// twin where chance puts it among the candidates, and the largest cosines of n positive and of n negative
/// candidates.
/// @param finding position in the subject
Expected simulate_cell(const Geometry& geometry, const Subject& subject, std::size_t finding,
                       const CellCounts& cell, int k, std::int64_t queries, const Stream& stream);

}  // namespace candor::synth
