#pragma once

/// Figures of discordance rates. Each returns nothing where the study has nothing for it to
/// show, and then says why in `absent`.

#include <optional>
#include <string>

#include "candor/report/figure.hpp"
#include "candor/report/report_data.hpp"

namespace candor::report {

/// Encoders by findings, coloured by D around 50.
std::optional<Figure> heat_map(const ReportData& data, const std::string& task, std::string& absent);
/// Figure 2a: D of each encoder with its interval, between 0 and chance.
std::optional<Figure> forest(const ReportData& data, const std::string& task, std::string& absent);
/// Figure 2b: D per task, a mark an encoder.
std::optional<Figure> collapse_by_task(const ReportData& data, std::string& absent);
/// Equal against unequal candidates, over prevalence, a mark an (encoder, finding) of the study.
std::optional<Figure> rules_over_prevalence(const ReportData& data, std::string& absent);

}  // namespace candor::report
