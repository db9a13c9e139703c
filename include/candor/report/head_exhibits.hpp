#pragma once

/// Tables of what the heads of a task show. Each returns nothing where the study has nothing for it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "candor/report/exhibit.hpp"
#include "candor/report/report_data.hpp"

namespace candor::report {

/// A score of failure as it is shown: MSP, max logit and energy are one order, "confidence".
struct ShownScore {
    std::string_view score, words;
};
/// Those that are shown, impurity last.
const std::vector<ShownScore>& shown_scores();

/// Encoders by scores: AUROC against the errors of their linear heads, and the share of errors; all encoders
/// together in the last row.
std::optional<Exhibit> detection_exhibit(const ReportData& data, const std::string& task);

/// Impurity against each other score: the gap over all cells and by data set, and in how many cells impurity
/// is above and below, significantly too.
std::optional<Exhibit> gaps_exhibit(const ReportData& data, const std::string& task);

/// What each policy of choosing an encoder by image errs, mean of the findings (macro) and all cases together
/// (micro).
std::optional<Exhibit> selection_exhibit(const ReportData& data, const std::string& task);

}  // namespace candor::report
