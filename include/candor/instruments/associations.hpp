#pragma once

/// What discordance goes along with over the encoders, findings and cells of a task (METHODS 11). Every
/// figure of a table is NaN where it is not known; a question without an answer says why.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace candor::instruments {

/// One encoder of the task's panel.
struct EncoderFigures {
    std::string domain;  ///< blank: none
    bool anchor = false;
    double parameters = std::numeric_limits<double>::quiet_NaN();
    double year = std::numeric_limits<double>::quiet_NaN();
    double d = std::numeric_limits<double>::quiet_NaN();  ///< micro, ties half
    double task_auroc = std::numeric_limits<double>::quiet_NaN();
    double retention = std::numeric_limits<double>::quiet_NaN();  ///< micro
};

/// One (encoder, finding).
struct CellFigures {
    std::size_t encoder = 0, finding = 0;
    double d = std::numeric_limits<double>::quiet_NaN();
    double task_auroc = std::numeric_limits<double>::quiet_NaN();
};

struct TaskFigures {
    std::vector<EncoderFigures> encoders;
    std::vector<CellFigures> cells;
    std::vector<double> area;  ///< by finding: mean evidence area share
};

/// One question and its answer.
struct Association {
    std::string kind;                                                  ///< spearman, slope, bin, share
    std::string x, y, group;                                           ///< of what with what, over what
    std::int64_t n = 0;                                                ///< points that have both
    double value = std::numeric_limits<double>::quiet_NaN();           ///< rho, slope, mean or share
    double standard_error = std::numeric_limits<double>::quiet_NaN();  ///< of a slope
    double p = std::numeric_limits<double>::quiet_NaN();
    double exact_p = std::numeric_limits<double>::quiet_NaN();  ///< of a Spearman over at most 10 encoders
    std::string method{};
    std::string undefined{};  ///< why there is no value, or no test; empty where there are both
};

/// Encoders that a domain needs for a correlation of its own.
inline constexpr std::size_t domain_encoders = 5;

/// In this order:
///  - spearman over encoders: parameters with d "without the anchor"; year, retention and task_auroc with d,
///    and retention with task_auroc, over the "panel"; retention with d and with task_auroc in each domain,
///    in byte order, that has `domain_encoders` of them ("domain NAME");
///  - slope of d on area: over all cells ("encoder x finding"), and over findings of the mean d ("finding");
///  - bin: mean d of the cells in each 5-point bin of task_auroc that has some ("[0.75, 0.80)"; the last one
///    holds 1);
///  - share: of cells with d above 0.25 among those with task_auroc above 0.75 ("task_auroc > 0.75").
/// @throws InternalError where a cell names an encoder or finding that is not there.
std::vector<Association> associations(const TaskFigures& task);

}  // namespace candor::instruments
