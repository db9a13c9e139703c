#pragma once

/// What a recipe asks for, file by file, before any image is read.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "candor/embed/recipe.hpp"
#include "candor/study/boxes.hpp"
#include "candor/study/study.hpp"

namespace candor::embed {

/// A row of a feature file.
struct Item {
    std::string id;
    std::string place;                     ///< of the image (ImageReader)
    std::string region;                    ///< erased from it; empty: none
    const study::Region* boxes = nullptr;  ///< of the region
};

/// A feature file to write.
struct Job {
    std::size_t encoder = 0;  ///< of the recipe
    std::string output;
    std::vector<Item> items;  ///< in the order of the table, then of the regions' names
    bool erased = false;
    /// What it is made from, a line each, but for what only the machine knows: equal text means equal
    /// features.
    std::string origin;
};

/// All that a recipe and its study say, held together: jobs point into the boxes.
struct Work {
    Recipe recipe;
    study::Study study;
    std::vector<study::Boxes> boxes;  ///< by [[images]] of the recipe; without regions where there are none
    std::vector<Job> jobs;
};

/// Where the bytes of text files and the digests of others come from.
struct Files {
    std::function<std::string(const std::string& path)> read;
    std::function<std::string(const std::string& path)> digest;
};

/// Makes the work: for each [[images]] and encoder the features of every row of the dataset's table, and,
/// where the dataset has `erased` and `boxes`, those of every boxed region of its images.
/// @param only  ids of encoders; empty: all
/// @param overrides  of the study, as --set
/// @throws UsageError for what is wrong in recipe and study: an encoder, dataset or column that is not there
/// (with the
///         nearest that is), two jobs with one output; DataError for tables and boxes as parse_table and
///         parse_boxes, a blank cell in the place of an image, and a box of an image that the table lacks.
Work make_work(const std::string& recipe_file, const std::vector<std::string>& overrides,
               const std::vector<std::string>& only, const Files& files);

}  // namespace candor::embed
