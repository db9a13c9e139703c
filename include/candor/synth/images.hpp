#pragma once

/// The images of a synthetic dataset as its table states them: who, where, and with which findings.
/// Everything is a function of (seed, dataset, row), never of ranks or of the other datasets.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "candor/study/study.hpp"
#include "candor/study/table.hpp"
#include "candor/synth/shape.hpp"

namespace candor::synth {

enum class Split : std::uint8_t { train, val, test };
std::string_view name_of(Split split);

/// How a row's features follow from the row before it.
enum class Twin : std::uint8_t { none, exact, near };

/// Shares of the images, but for rounding.
inline constexpr double train_share = 0.60, val_share = 0.15;  ///< by patients; the rest is test
inline constexpr double twin_share = 0.02;                     ///< of the rows, half of them exact
inline constexpr double uncertain_share = 0.04, blank_share = 0.10;
inline constexpr double blank_context_share = 0.01, blank_patient_share = 0.01;

/// All images of one dataset, in table order. A twin shares everything with the row before it.
struct Images {
    std::size_t dataset = 0;               ///< position in Study::datasets
    std::size_t source = 0;                ///< whose images these are: `dataset`, or its reference
    std::vector<std::int64_t> source_row;  ///< row of it among the images of `source`
    std::vector<std::int64_t> patient;     ///< number of the patient in `source`; -1: blank
    std::vector<Split> split;
    bool has_splits = true;             ///< its table says so
    std::vector<std::int16_t> context;  ///< position in `contexts`; -1: blank
    std::vector<std::string> contexts;  ///< values of the context column; empty: there is none
    std::vector<Twin> twin;
    /// What is true of the image and shows in its features: bit f of `present` says whether it has the
    /// subject's finding f; under an exclusive subject `kind` is the one finding that it has.
    std::vector<std::uint64_t> present;
    std::vector<std::int32_t> kind;
    std::int64_t kinds = 0;  ///< exclusive: findings that some image may have, the first so many

    std::int64_t rows() const { return static_cast<std::int64_t>(source_row.size()); }
    std::string id(std::int64_t row) const;
    std::string source_id;  ///< id of the dataset `source`
};

/// Draws the images of the dataset at `dataset`; `rows` of them, or where it describes its reference's images
/// as many as suit, at most `rows`: those that have one of `asked` findings (positions), by label and in
/// truth, a context, and no twin. `reference` are then the reference's images, else null.
/// @throws InternalError where the subject has more than 64 findings that do not exclude each other
Images draw_images(const Subject& subject, const DatasetShape& shape, std::size_t dataset, std::int64_t rows,
                   std::uint64_t seed, const Images* reference, std::span<const std::size_t> asked);

/// Share of a subject's images that have finding f, alike in all its contexts.
double prevalence(const Subject& subject, std::size_t finding);

/// What the table states of finding f on image `row`.
study::Label stated_label(const Images& images, const Subject& subject, const DatasetShape& shape,
                          std::int64_t row, std::size_t finding, std::uint64_t seed);

}  // namespace candor::synth
