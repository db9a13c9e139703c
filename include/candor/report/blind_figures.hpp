#pragma once

/// Figures of blind sets: of pairs of encoders, of most of them. Each returns nothing where the study has
/// nothing for it to show, and then says why in `absent`.

#include <optional>
#include <string>

#include "candor/report/figure.hpp"
#include "candor/report/report_data.hpp"

namespace candor::report {

/// Pairs of encoders: delta_J above the diagonal, significant findings below.
std::optional<Figure> overlap_matrix(const ReportData& data, const std::string& task, std::string& absent);
/// Consensus blind share by finding.
std::optional<Figure> consensus_by_finding(const ReportData& data, const std::string& task,
                                           std::string& absent);

}  // namespace candor::report
