#include "candor/instruments/panel.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

using namespace candor;
using instruments::PanelStatistic;
using instruments::summarise_panel;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

struct Panel {
    std::array<double, instruments::panel_statistics> values;
    double operator[](PanelStatistic which) const { return values[static_cast<std::size_t>(which)]; }
};

Panel panel(const std::vector<double>& rates, const std::vector<bool>& anchors) {
    return {summarise_panel(rates, anchors)};
}

const std::vector<PanelStatistic> of_all{
    PanelStatistic::best,           PanelStatistic::median, PanelStatistic::median_without_anchor,
    PanelStatistic::highest,        PanelStatistic::range,  PanelStatistic::above_040,
    PanelStatistic::best_below_half};

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_panel)

BOOST_AUTO_TEST_CASE(a_panel_is_summarised) {
    const Panel p = panel({0.375, 0.5, 0.25, 0.4375}, {false, true, false, false});
    BOOST_TEST(p[PanelStatistic::best] == 0.25);
    BOOST_TEST(p[PanelStatistic::median] == (0.375 + 0.4375) / 2);
    BOOST_TEST(p[PanelStatistic::median_without_anchor] == 0.375);
    BOOST_TEST(p[PanelStatistic::anchor] == 0.5);
    BOOST_TEST(p[PanelStatistic::highest] == 0.5);
    BOOST_TEST(p[PanelStatistic::range] == 0.25);
    BOOST_TEST(p[PanelStatistic::above_040] == 2);
    BOOST_TEST(p[PanelStatistic::best_below_half] == 1);
}

BOOST_AUTO_TEST_CASE(limits_are_not_passed_by_reaching_them) {
    BOOST_TEST(panel({0.40, 0.41}, {false, false})[PanelStatistic::above_040] == 1);
    BOOST_TEST(panel({0.5, 0.75}, {false, false})[PanelStatistic::best_below_half] == 0);
    BOOST_TEST(panel({0.499, 0.75}, {false, false})[PanelStatistic::best_below_half] == 1);
}

BOOST_AUTO_TEST_CASE(anchors_are_averaged_and_may_be_missing_or_alone) {
    BOOST_TEST(panel({0.25, 0.5, 0.75}, {true, false, true})[PanelStatistic::anchor] == 0.5);
    BOOST_TEST(std::isnan(panel({0.25, 0.5}, {false, false})[PanelStatistic::anchor]));
    const Panel alone = panel({0.25}, {true});
    BOOST_TEST(alone[PanelStatistic::median] == 0.25);
    BOOST_TEST(std::isnan(alone[PanelStatistic::median_without_anchor]));
    BOOST_TEST(alone[PanelStatistic::range] == 0);
}

BOOST_AUTO_TEST_CASE(one_undefined_rate_leaves_the_anchor_alone_defined) {
    const Panel p = panel({0.25, not_a_number, 0.5}, {false, false, true});
    for (const PanelStatistic which : of_all) BOOST_TEST(std::isnan(p[which]));
    BOOST_TEST(p[PanelStatistic::anchor] == 0.5);
    BOOST_TEST(std::isnan(panel({0.25, not_a_number}, {false, true})[PanelStatistic::anchor]));
    for (const double value : panel({}, {}).values) BOOST_TEST(std::isnan(value));
}

BOOST_AUTO_TEST_SUITE_END()
