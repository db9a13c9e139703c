#pragma once

/// Figures of heads: what giving up uncertain images leaves of their errors, and what choosing among encoders
/// would. Each returns nothing where the study has nothing for it to show, and then says why in `absent`.

#include <optional>
#include <string>

#include "candor/report/figure.hpp"
#include "candor/report/report_data.hpp"

namespace candor::report {

/// Risk-coverage curves, a line a score, means over the cells of the task; below all the oracle's.
std::optional<Figure> risk_coverage(const ReportData& data, const std::string& task, std::string& absent);
/// Balanced error of each policy with its interval, macro.
std::optional<Figure> selection_by_policy(const ReportData& data, const std::string& task,
                                          std::string& absent);

}  // namespace candor::report
