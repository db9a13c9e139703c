#pragma once

/// A figure: its data as CSV and the gnuplot script that draws it, so that whoever wants another look changes
/// the script and runs `gnuplot NAME.gp` beside the data.

#include <cstdint>
#include <string>
#include <vector>

namespace candor::report {

struct Figure {
    std::string name;         ///< of its files, safe in any
    std::string title;        ///< a line
    std::string caption;      ///< how to read it
    std::string description;  ///< what it shows, in words, for those who do not see it
    std::string data;         ///< CSV with a header; numbers first, names last
    std::string script;       ///< gnuplot, whole
};

/// Numbers of a figure's CSV file and, behind them, names. gnuplot reads no doubled quotes and no names over
/// several lines: only numbers are read by its scripts, so names do no harm in the last columns.
class FigureData {
  public:
    FigureData(std::vector<std::string> numbers, std::vector<std::string> names);
    /// NaN: an empty field. @pre as many as the header has.
    void add(const std::vector<double>& numbers, const std::vector<std::string>& names);
    std::int64_t rows() const { return rows_; }
    const std::string& csv() const { return csv_; }

  private:
    std::string csv_;
    std::int64_t rows_ = 0;
};

/// Widths in inches of one and of two columns of a journal.
inline constexpr double one_column = 3.35, two_columns = 6.9;

/// The whole script around `body`, which holds one `plot` command: as SVG and, where this gnuplot can, as PDF
/// of the same size; text of 8 points.
std::string figure_script(const std::string& name, double width, double height, const std::string& body);

/// `set ytics` (or another axis) with `labels` at 1, 2, ...
std::string named_tics(const std::string& axis, const std::vector<std::string>& labels,
                       const std::string& options = "");

/// Inches that the longest of `labels` takes in text of 8 points, about.
double label_width(const std::vector<std::string>& labels);

/// The colours of the figures: told apart by the colour-blind (Okabe and Ito) and, with their marks, in grey.
inline constexpr const char* blue = "#0072b2";
inline constexpr const char* orange = "#d55e00";
inline constexpr const char* grey = "#666666";

}  // namespace candor::report
