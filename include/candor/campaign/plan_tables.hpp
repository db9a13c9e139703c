#pragma once

/// What `candor plan` prints: forecasts as tables, and where a study stops to scale.

#include <span>
#include <string>
#include <vector>

#include "candor/campaign/forecast.hpp"
#include "candor/store/table.hpp"

namespace candor::campaign {

/// A row a task: what there is to do. @param player  has played some rank count.
store::ResultTable work_table(const PlannedStudy& study, const Player& player);

/// A row a stage of one forecast.
store::ResultTable stages_table(const Forecast& forecast);

/// A row a forecast: a rank count.
store::ResultTable scaling_table(std::span<const Forecast> forecasts);

/// Where the forecasts, by rising ranks, first show that more ranks do not pay, why, and what to change; a
/// line each, none where all is well.
std::vector<std::string> scaling_warnings(std::span<const Forecast> forecasts);

}  // namespace candor::campaign
