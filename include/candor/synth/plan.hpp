#pragma once

/// A synthetic study before it is written: the study, its subjects, and on demand the images and geometries
/// that they are made of. Every rank holds the same plan and draws of it what its own files need.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "candor/study/study.hpp"
#include "candor/synth/geometry.hpp"
#include "candor/synth/images.hpp"
#include "candor/synth/planted.hpp"
#include "candor/synth/shape.hpp"

namespace candor::synth {

struct SynthOptions {
    std::string shape;
    double scale = 1;
    std::uint64_t seed = 42;
    std::string folder;
    int threads = 1;
};

/// One (image, region) with evidence, in table order.
struct Evidence {
    std::int64_t row = 0;
    std::uint64_t region = 0;  ///< position in Plan::regions
};

class Plan {
  public:
    /// @throws UsageError for an unknown shape
    explicit Plan(const SynthOptions& options);

    const SynthOptions& options() const { return options_; }
    const Shape& shape() const { return shape_; }
    const study::Study& study() const { return study_; }
    const Subject& subject_of(std::size_t dataset) const { return subjects_[subject_[dataset]]; }
    /// Images that dataset `d` is asked to have; one that describes its reference's may have fewer.
    std::int64_t images_asked(std::size_t d) const { return asked_[d]; }
    std::int64_t dimension(std::size_t encoder) const { return shape_.encoders[encoder].dimension; }
    /// Names of the regions of a dataset with boxes: the shape's, else the findings of its tasks.
    const std::vector<std::string>& regions(std::size_t dataset) const { return regions_[dataset]; }
    /// The column beside `dataset` that makes contexts; "" where there is none.
    std::string context_column(std::size_t dataset) const;

    // What follows is drawn when it is first asked for, and kept. Not to be called by several threads.
    const Images& images(std::size_t dataset);
    /// [f * rows + row], f of the subject.
    const std::vector<study::Label>& labels(std::size_t dataset);
    const std::vector<Evidence>& evidence(std::size_t dataset);
    const Geometry& geometry(std::size_t dataset, std::size_t encoder);
    const std::vector<CellCounts>& cells(std::size_t task);

  private:
    SynthOptions options_;
    Shape shape_;
    study::Study study_;
    std::vector<Subject> subjects_;
    std::vector<std::size_t> subject_;  // of each dataset
    std::vector<std::int64_t> asked_;
    std::vector<std::vector<std::string>> regions_;
    std::map<std::size_t, Images> images_;
    std::map<std::size_t, std::vector<study::Label>> labels_;
    std::map<std::size_t, std::vector<Evidence>> evidence_;
    std::map<std::size_t, std::vector<CellCounts>> cells_;
    std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<Geometry>> geometries_;  // subject, encoder
};

}  // namespace candor::synth
