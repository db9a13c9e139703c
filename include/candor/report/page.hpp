#pragma once

/// `index.html`: one page that answers the questions first, needs nothing but itself, and no script to be
/// read.

#include <map>
#include <string>
#include <vector>

#include "candor/report/exhibit.hpp"
#include "candor/report/figure.hpp"
#include "candor/report/report_data.hpp"

namespace candor::report {

/// What a task's part of the page shows, in this order.
struct TaskPart {
    std::string task;
    std::vector<Exhibit> exhibits;
    std::vector<Figure> figures;
};

struct Page {
    std::vector<Exhibit> exhibits;  ///< of the whole study
    std::vector<Figure> figures;
    std::vector<TaskPart> tasks;
    std::vector<std::string> absent;           ///< what could not be shown and why, a sentence each
    std::map<std::string, std::string> drawn;  ///< SVG by the figure's name; a figure without is told of
};

/// Sentences that answer a question on a task, each with its numbers, none saying more than its test.
std::vector<std::string> separation_sentences(const ReportData& data, const std::string& task);
std::vector<std::string> unseparated_sentences(const ReportData& data, const std::string& task);

/// An SVG document for a page that holds others: without prologue, its ids made its own by `prefix`.
std::string inline_svg(const std::string& svg, const std::string& prefix);

/// The whole page, UTF-8. Every text of the study is escaped.
std::string html_page(const ReportData& data, const Page& page);

}  // namespace candor::report
