#include "candor/instruments/panel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "candor/stats/interval.hpp"

namespace candor::instruments {

std::array<double, panel_statistics> summarise_panel(std::span<const double> rates,
                                                     const std::vector<bool>& is_anchor) {
    constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
    std::array<double, panel_statistics> out;
    out.fill(undefined);

    double anchors = 0, anchor_sum = 0;
    std::vector<double> all(rates.begin(), rates.end()), trained;
    for (std::size_t e = 0; e < rates.size(); ++e) {
        if (is_anchor[e]) {
            anchors += 1;
            anchor_sum += rates[e];
        } else {
            trained.push_back(rates[e]);
        }
    }
    const auto set = [&](PanelStatistic which, double value) {
        out[static_cast<std::size_t>(which)] = value;
    };
    if (anchors > 0) set(PanelStatistic::anchor, anchor_sum / anchors);
    if (all.empty() || std::ranges::any_of(all, [](double r) { return std::isnan(r); })) return out;

    std::ranges::sort(all);
    std::ranges::sort(trained);
    set(PanelStatistic::best, all.front());
    set(PanelStatistic::median, stats::quantile(all, 0.5));
    set(PanelStatistic::median_without_anchor, stats::quantile(trained, 0.5));
    set(PanelStatistic::highest, all.back());
    set(PanelStatistic::range, all.back() - all.front());
    set(PanelStatistic::above_040,
        static_cast<double>(std::ranges::count_if(all, [](double r) { return r > 0.40; })));
    set(PanelStatistic::best_below_half, all.front() < 0.5 ? 1.0 : 0.0);
    return out;
}

}  // namespace candor::instruments
