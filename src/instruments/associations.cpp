#include "candor/instruments/associations.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/stats/least_squares.hpp"
#include "candor/stats/spearman.hpp"

namespace candor::instruments {

namespace {

constexpr int bins = 20;  // of 5 points
constexpr double separable = 0.75, discordant = 0.25;

/// Why a figure is known of no encoder, cell or finding.
std::string absent(std::string_view figure) {
    if (figure == "parameters") return "no encoder has parameters";
    if (figure == "year") return "no encoder has a year";
    if (figure == "retention") return "no retention was measured";
    if (figure == "task_auroc") return "no linear head has an AUROC";
    if (figure == "area") return "no finding has evidence boxes";
    return "no cell is scored";
}

/// `reason` of a statistic over x and y in words of the figures; "" stays "".
std::string reason_of(std::string_view reason, const std::vector<double>& x, const std::vector<double>& y,
                      const Association& of) {
    const auto known = [](double v) { return !std::isnan(v); };
    if (std::ranges::none_of(x, known)) return absent(of.x);
    if (std::ranges::none_of(y, known)) return absent(of.y);
    if (reason == "the first values are all equal" || reason == "the x are all equal")
        return "constant " + of.x;
    if (reason == "the second values are all equal" || reason == "no test with all y equal")
        return "constant " + of.y;
    return std::string(reason);
}

using Figure = double EncoderFigures::*;

/// A figure of the encoders by its name.
struct Named {
    const char* name;
    Figure figure;
};
constexpr Named parameters{"parameters", &EncoderFigures::parameters};
constexpr Named year{"year", &EncoderFigures::year};
constexpr Named d{"d", &EncoderFigures::d};
constexpr Named task_auroc{"task_auroc", &EncoderFigures::task_auroc};
constexpr Named retention{"retention", &EncoderFigures::retention};

template <class Takes>
Association correlate(const TaskFigures& task, Named x, Named y, const std::string& group, Takes takes) {
    std::vector<double> xs, ys;
    for (const EncoderFigures& encoder : task.encoders) {
        if (!takes(encoder)) continue;
        xs.push_back(encoder.*x.figure);
        ys.push_back(encoder.*y.figure);
    }
    const stats::Spearman s = stats::spearman(xs, ys);
    Association out{"spearman", x.name, y.name, group};
    out.n = s.n;
    out.value = s.rho;
    out.p = s.p;
    out.exact_p = s.exact_p;
    out.method = "Spearman, Student t";
    out.undefined = reason_of(s.undefined, xs, ys, out);
    return out;
}

Association slope(const std::vector<double>& area, const std::vector<double>& rate,
                  const std::string& group) {
    const stats::LeastSquares line = stats::least_squares(area, rate);
    Association out{"slope", "area", "d", group};
    out.n = line.n;
    out.value = line.slope;
    out.standard_error = line.standard_error;
    out.p = line.p;
    out.method = "least squares, t-test";
    out.undefined = reason_of(line.undefined, area, rate, out);
    return out;
}

/// The mean d of each finding over the encoders that have one; NaN where none has.
std::vector<double> mean_d(const TaskFigures& task) {
    std::vector<double> sum(task.area.size()), count(task.area.size());
    for (const CellFigures& cell : task.cells) {
        if (std::isnan(cell.d)) continue;
        sum[cell.finding] += cell.d;
        count[cell.finding] += 1;
    }
    for (std::size_t f = 0; f < sum.size(); ++f) sum[f] /= count[f];  // 0 / 0 is NaN
    return sum;
}

/// Cells that have both a rate and an AUROC.
std::vector<CellFigures> cells_with_auroc(const TaskFigures& task) {
    std::vector<CellFigures> cells;
    std::ranges::copy_if(task.cells, std::back_inserter(cells), [](const CellFigures& cell) {
        return !std::isnan(cell.d) && !std::isnan(cell.task_auroc);
    });
    return cells;
}

std::string bin_name(int bin) {
    return '[' + format_fixed(bin / double{bins}, 2) + ", " + format_fixed((bin + 1) / double{bins}, 2) +
           (bin + 1 == bins ? ']' : ')');
}

void add_bins(const std::vector<CellFigures>& cells, std::vector<Association>& out) {
    std::map<int, std::vector<double>> rates;
    for (const CellFigures& cell : cells) {
        // Times 20 rather than by 0.05: every multiple of 5 points is then the whole number it should be.
        const int bin = std::min(static_cast<int>(std::floor(cell.task_auroc * bins)), bins - 1);
        rates[bin].push_back(cell.d);
    }
    for (const auto& [bin, values] : rates) {
        Association one{"bin", "task_auroc", "d", bin_name(bin)};
        one.n = std::ssize(values);
        one.value = 0;
        for (const double v : values) one.value += v;
        one.value /= static_cast<double>(values.size());
        one.method = "mean";
        out.push_back(one);
    }
    if (!rates.empty()) return;
    Association none{"bin", "task_auroc", "d", ""};
    none.method = "mean";
    none.undefined = absent("task_auroc");
    out.push_back(none);
}

Association share(const std::vector<CellFigures>& cells) {
    Association out{"share", "task_auroc", "d", "task_auroc > " + format_fixed(separable, 2)};
    out.method = "share";
    std::int64_t above = 0;
    for (const CellFigures& cell : cells) {
        if (!(cell.task_auroc > separable)) continue;
        ++out.n;
        above += cell.d > discordant;
    }
    if (out.n > 0) {
        out.value = static_cast<double>(above) / static_cast<double>(out.n);
    } else {
        out.undefined = cells.empty() ? absent("task_auroc") : "no cell has such a task_auroc";
    }
    return out;
}

}  // namespace

std::vector<Association> associations(const TaskFigures& task) {
    for (const CellFigures& cell : task.cells) {
        CANDOR_REQUIRE(
            cell.encoder < task.encoders.size() && cell.finding < task.area.size(),
            "encoder " + std::to_string(cell.encoder) + ", finding " + std::to_string(cell.finding));
    }
    const auto all = [](const EncoderFigures&) { return true; };
    std::vector<Association> out;
    out.push_back(correlate(task, parameters, d, "without the anchor",
                            [](const EncoderFigures& e) { return !e.anchor; }));
    out.push_back(correlate(task, year, d, "panel", all));
    out.push_back(correlate(task, retention, d, "panel", all));
    out.push_back(correlate(task, task_auroc, d, "panel", all));
    out.push_back(correlate(task, retention, task_auroc, "panel", all));
    std::map<std::string, std::size_t> domains;
    for (const EncoderFigures& encoder : task.encoders) ++domains[encoder.domain];
    for (const auto& [domain, encoders] : domains) {
        if (domain.empty() || encoders < domain_encoders) continue;
        const auto within = [&name = domain](const EncoderFigures& e) { return e.domain == name; };
        out.push_back(correlate(task, retention, d, "domain " + domain, within));
        out.push_back(correlate(task, retention, task_auroc, "domain " + domain, within));
    }

    std::vector<double> area, rate;
    for (const CellFigures& cell : task.cells) {
        area.push_back(task.area[cell.finding]);
        rate.push_back(cell.d);
    }
    out.push_back(slope(area, rate, "encoder x finding"));
    out.push_back(slope(task.area, mean_d(task), "finding"));

    const std::vector<CellFigures> cells = cells_with_auroc(task);
    add_bins(cells, out);
    out.push_back(share(cells));
    return out;
}

}  // namespace candor::instruments
