#pragma once

/// The figures of a report. Each returns nothing where the study has nothing for it to show, and then says
/// why in `absent`.

#include <optional>
#include <string>
#include <vector>

#include "candor/report/figure.hpp"
#include "candor/report/report_data.hpp"

namespace candor::report {

/// Encoders by findings, coloured by D around 50.
std::optional<Figure> heat_map(const ReportData& data, const std::string& task, std::string& absent);
/// Figure 2a: D of each encoder with its interval, between 0 and chance.
std::optional<Figure> forest(const ReportData& data, const std::string& task, std::string& absent);
/// Figure 2b: D per task, a mark an encoder.
std::optional<Figure> collapse_by_task(const ReportData& data, std::string& absent);
/// Figure 3: retention against D, a mark an encoder.
std::optional<Figure> retention_against_d(const ReportData& data, const std::string& task,
                                          std::string& absent);
/// AUROC of the linear heads against D, a mark an (encoder, finding).
std::optional<Figure> auroc_against_d(const ReportData& data, const std::string& task, std::string& absent);
/// Margin AUROC against D, likewise.
std::optional<Figure> margin_against_d(const ReportData& data, const std::string& task, std::string& absent);
/// Pairs of encoders: delta_J above the diagonal, significant findings below.
std::optional<Figure> overlap_matrix(const ReportData& data, const std::string& task, std::string& absent);
/// Equal against unequal candidates, over prevalence, a mark an (encoder, finding) of the study.
std::optional<Figure> rules_over_prevalence(const ReportData& data, std::string& absent);
/// Normalised margins of heads against the caps on them.
std::optional<Figure> margins_against_caps(const ReportData& data, const std::string& task,
                                           std::string& absent);
/// Consensus blind share by finding.
std::optional<Figure> consensus_by_finding(const ReportData& data, const std::string& task,
                                           std::string& absent);

}  // namespace candor::report
