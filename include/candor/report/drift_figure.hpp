#pragma once

/// Chance under the candidate rules (METHODS 12.2): what `candor calibrate` shows.

#include <string>

#include "candor/report/figure.hpp"
#include "candor/store/table.hpp"

namespace candor::report {

/// The mean rate of shuffled labels over the candidates a side: of `equal` 1/2, and how `literal`, `unequal`
/// and, where patients have several images, `equal` drift from it.
/// @param drift the table of that name, columns rule, n, prevalence, images, rate (README). @param name of
/// the figure's files.
Figure drift_figure(const store::ResultTable& drift, const std::string& name);

}  // namespace candor::report
