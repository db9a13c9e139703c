#pragma once

/// Figures that set another instrument against D, or heads against their caps. Each returns nothing where the
/// study has nothing for it to show, and then says why in `absent`.

#include <optional>
#include <string>

#include "candor/report/figure.hpp"
#include "candor/report/report_data.hpp"

namespace candor::report {

/// Figure 3: retention against D, a mark an encoder.
std::optional<Figure> retention_against_d(const ReportData& data, const std::string& task,
                                          std::string& absent);
/// AUROC of the linear heads against D, a mark an (encoder, finding).
std::optional<Figure> auroc_against_d(const ReportData& data, const std::string& task, std::string& absent);
/// Margin AUROC against D, likewise.
std::optional<Figure> margin_against_d(const ReportData& data, const std::string& task, std::string& absent);
/// Normalised margins of heads against the caps on them.
std::optional<Figure> margins_against_caps(const ReportData& data, const std::string& task,
                                           std::string& absent);

}  // namespace candor::report
