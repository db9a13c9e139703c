#pragma once

/// The study that a results file was written for, as overview and report want it.

#include "candor/report/overview.hpp"
#include "candor/report/report_data.hpp"
#include "candor/store/results_file.hpp"

namespace candor::app {

/// @throws DataError where the file lacks a table or attribute.
report::Overview read_overview(const store::ResultsReader& results);

/// All tables of the file, and who took part.
report::ReportData read_report_data(const store::ResultsReader& results);

}  // namespace candor::app
