#pragma once

/// What a panel of encoders says together about a task (METHODS 3.1): the same summary of the observed rates
/// and of every resample's.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace candor::instruments {

/// Statistics of a panel, in this order.
enum class PanelStatistic {
    best,
    median,
    median_without_anchor,
    anchor,
    highest,
    range,
    above_040,
    best_below_half
};
inline constexpr std::size_t panel_statistics = 8;

/// One value a statistic, from the rates of E encoders; `is_anchor[e]` marks the anchor.
/// best and highest: the smallest and largest rate; range: their difference; above_040: encoders with a rate
/// above 0.40; best_below_half: 1 where the smallest rate is below 1/2, else 0. Any undefined rate makes all
/// undefined but `anchor`, which is NaN where the panel has none (the mean where it has several).
std::array<double, panel_statistics> summarise_panel(std::span<const double> rates,
                                                     const std::vector<bool>& is_anchor);

}  // namespace candor::instruments
