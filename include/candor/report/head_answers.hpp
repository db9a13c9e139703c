#pragma once

/// What the page says of heads: sentences made of the tables `heads`, `detection`, `risk_coverage` and
/// `selection`, each with its numbers, none saying more than its test. Empty where a task has none.

#include <string>
#include <vector>

#include "candor/report/report_data.hpp"

namespace candor::report {

/// How well linear heads read the findings, and whether all keep to their caps.
std::vector<std::string> reading_answers(const ReportData& data, const std::string& task);
/// Which encoders' errors can be flagged, by what, and what giving up images leaves of them.
std::vector<std::string> detection_answers(const ReportData& data, const std::string& task);
/// How far choosing an encoder by image would go: with the labels, and without.
std::vector<std::string> selection_answers(const ReportData& data, const std::string& task);

}  // namespace candor::report
