#pragma once

/// A study as text, the same text for the same study.

#include <string>

#include "candor/study/study.hpp"

namespace candor::study {

/// `study` as TOML: sections and keys in the order of DESIGN 4, one key a line, every default written out,
/// lists of encoders resolved; keys without a value (parameters, year, erased, boxes, reference, split, an
/// unset `also`) are left out, as are empty domains and objectives. Reading the text gives the same text
/// again.
std::string effective_text(const Study& study);

}  // namespace candor::study
