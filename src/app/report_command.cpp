#include "candor/app/report_command.hpp"

#include <boost/program_options.hpp>
#include <functional>
#include <optional>
#include <utility>

#include "candor/app/options.hpp"
#include "candor/app/results_study.hpp"
#include "candor/base/error.hpp"
#include "candor/base/log.hpp"
#include "candor/report/blind_figures.hpp"
#include "candor/report/draw.hpp"
#include "candor/report/exhibits.hpp"
#include "candor/report/head_exhibits.hpp"
#include "candor/report/head_figures.hpp"
#include "candor/report/page.hpp"
#include "candor/report/rate_figures.hpp"
#include "candor/report/report_folder.hpp"
#include "candor/report/scatter_figures.hpp"
#include "candor/store/results_file.hpp"

namespace candor::app {

namespace po = boost::program_options;

namespace {

constexpr const char* usage = R"(Usage: candor report OUT.h5 -o DIR [options]

Writes the folder DIR: index.html (start there; it needs no other file), tables/ (each as CSV, Markdown and LaTeX),
figures/ (each as SVG and PDF, with its data as CSV and the gnuplot script that draws it). Needs gnuplot for figures.

Example:
  candor report results.h5 -o report
)";

struct Options {
    std::string file, folder;
    bool overwrite = false, quiet = false, verbose = false, help = false;
};

Options parse_options(const std::vector<std::string>& arguments) {
    Options options;
    po::options_description known;
    known.add_options()                                                                     //
        ("output,o", po::value(&options.folder)->value_name("DIR"), "the folder to write")  //
        ("overwrite", po::bool_switch(&options.overwrite),
         "replace the report in DIR; a folder with other files than a report's is left alone")  //
        ("quiet", po::bool_switch(&options.quiet), "warnings and errors only")                  //
        ("verbose", po::bool_switch(&options.verbose), "say what is being done")                //
        ("help", po::bool_switch(&options.help), "this text");
    const std::vector<std::string> places = parse_arguments("report", arguments, known, 1);
    if (options.help) {
        print_help(usage, known);
        return options;
    }
    if (places.empty()) throw UsageError("candor report", "name a results file: candor report OUT.h5 -o DIR");
    if (options.folder.empty()) throw UsageError("candor report", "name the folder to write: -o DIR");
    options.file = places[0];
    return options;
}

/// All exhibits and figures of the study.
report::Page make_page(const report::ReportData& data) {
    report::Page page;
    const auto keep = [&](std::vector<report::Figure>& into, std::optional<report::Figure> figure,
                          const std::string& absent) {
        if (figure) {
            into.push_back(std::move(*figure));
        } else {
            page.absent.push_back(absent);
        }
    };
    std::string why;
    keep(page.figures, report::collapse_by_task(data, why), why);
    keep(page.figures, report::rules_over_prevalence(data, why), why);
    page.exhibits = {report::datasets_exhibit(data), report::encoders_exhibit(data),
                     report::tasks_exhibit(data), report::overlap_exhibit(data)};
    using Maker =
        std::optional<report::Figure> (*)(const report::ReportData&, const std::string&, std::string&);
    constexpr Maker makers[] = {report::heat_map,
                                report::forest,
                                report::margin_against_d,
                                report::auroc_against_d,
                                report::margins_against_caps,
                                report::overlap_matrix,
                                report::consensus_by_finding,
                                report::retention_against_d,
                                report::risk_coverage,
                                report::selection_by_policy};
    for (const report::TaskFacts& task : data.tasks) {
        report::TaskPart part{task.id,
                              {report::panel_exhibit(data, task.id), report::consensus_exhibit(data, task.id),
                               report::rates_exhibit(data, task.id)},
                              {}};
        for (auto&& exhibit : {report::detection_exhibit(data, task.id), report::gaps_exhibit(data, task.id),
                               report::selection_exhibit(data, task.id)}) {
            if (exhibit) part.exhibits.push_back(*exhibit);
        }
        for (const Maker make : makers) keep(part.figures, make(data, task.id, why), why);
        page.tasks.push_back(std::move(part));
    }
    return page;
}

void for_each_exhibit(const report::Page& page, const std::function<void(const report::Exhibit&)>& take) {
    for (const auto& exhibit : page.exhibits) take(exhibit);
    for (const auto& part : page.tasks) {
        for (const auto& exhibit : part.exhibits) take(exhibit);
    }
}

void for_each_figure(const report::Page& page, const std::function<void(const report::Figure&)>& take) {
    for (const auto& figure : page.figures) take(figure);
    for (const auto& part : page.tasks) {
        for (const auto& figure : part.figures) take(figure);
    }
}

}  // namespace

int report_command(const std::vector<std::string>& arguments) {
    const Options options = parse_options(arguments);
    if (options.help) return 0;
    const Log log(options.quiet     ? Verbosity::quiet
                  : options.verbose ? Verbosity::verbose
                                    : Verbosity::normal,
                  true);
    const store::ResultsReader results(options.file);
    report::ReportFolder folder(options.folder, options.overwrite);
    const report::ReportData data = read_report_data(results);
    report::Page page = make_page(data);

    for_each_exhibit(page, [&](const report::Exhibit& exhibit) {
        const std::string name = "tables/" + exhibit.name;
        folder.write(name + ".csv", report::exhibit_csv(exhibit));
        folder.write(name + ".md", report::exhibit_markdown(exhibit));
        folder.write(name + ".tex", report::exhibit_latex(exhibit));
    });
    std::vector<std::string> names;
    for_each_figure(page, [&](const report::Figure& figure) {
        folder.write("figures/" + figure.name + ".csv", figure.data);
        folder.write("figures/" + figure.name + ".gp", figure.script);
        names.push_back(figure.name);
    });
    log.detail("drawing " + std::to_string(names.size()) + " figures");
    const std::string fault = report::draw_figures(folder.work() + "/figures", names);
    if (!fault.empty()) log.warning("figures: " + fault);
    for (const std::string& name : names) {
        std::string svg = folder.read("figures/" + name + ".svg");
        if (svg.find("</svg>") != std::string::npos) page.drawn[name] = std::move(svg);
    }
    folder.write("index.html", report::html_page(data, page));
    folder.publish();
    log.info("wrote " + options.folder + "/index.html");
    return 0;
}

}  // namespace candor::app
