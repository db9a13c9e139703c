#pragma once

/// The study files that the shapes are made of, as they were when this was built.

#include <string_view>

namespace candor::synth {

extern const std::string_view paper_study_text;  ///< inputs/paper/study.toml
extern const std::string_view small_study_text;  ///< src/synth/small.toml

}  // namespace candor::synth
