#pragma once

/// What a synthetic study is made like: a study file, and the facts that no study file holds (how many images
/// a dataset has, how many numbers an encoder gives).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "candor/study/study.hpp"

namespace candor::synth {

/// One dataset of a shape, under the same position as in the study.
struct DatasetShape {
    std::string id;
    std::int64_t images = 0;           ///< at scale 1
    std::vector<std::string> values;   ///< of its context column, each half as frequent as the one before
    bool patients = true;              ///< its table has a patient column
    bool splits = true;                ///< its table has a split column
    std::vector<std::string> unknown;  ///< findings that this site does not label: their columns are blank
    std::vector<std::string> regions;  ///< of its boxes, where they are no findings
    /// It has no images of its own but describes some of its reference's.
    bool describes_reference = false;
};

struct EncoderShape {
    std::string id;
    std::int64_t dimension = 0;
};

struct Shape {
    std::string name;
    std::string_view text;  ///< the study file
    std::vector<DatasetShape> datasets;
    std::vector<EncoderShape> encoders;
    /// Tasks whose findings exclude each other (species): an image has exactly one, and its superclass is a
    /// run of `classes_a_superclass` neighbours in the task's list.
    std::vector<std::string> exclusive_tasks;
};

inline constexpr std::int64_t classes_a_superclass = 5;

/// The shape called `name`: "paper" is inputs/paper/study.toml, "small" a tiny one with every feature of the
/// study format. @throws UsageError naming the nearest known shape.
Shape shape_named(const std::string& name);

/// Images of each dataset at `scale`: the shape's times `scale`, rounded, but not fewer than 400 (or than the
/// shape's own). At scale 1 exactly the shape's. @pre 0 < scale
std::vector<std::int64_t> images_at(const Shape& shape, double scale);

/// Datasets that belong together, since a task or a reference joins them: the same findings are planted in
/// all of them, for the same encoders.
struct Subject {
    std::vector<std::size_t> datasets;  ///< positions in Study::datasets
    std::vector<std::size_t> encoders;  ///< positions in Study::encoders, in the study's order
    std::vector<std::string> findings;  ///< of all its tasks, in the order in which these name them
    bool exclusive = false;             ///< as Shape::exclusive_tasks
};

/// The subjects of a study, in the order of their first datasets.
std::vector<Subject> subjects_of(const study::Study& study, const Shape& shape);

}  // namespace candor::synth
