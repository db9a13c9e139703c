#include "candor/instruments/associations.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "candor/base/error.hpp"

using namespace candor;
using namespace candor::instruments;

namespace {

/// The answer to one question; fails where there is not exactly one.
Association answer(const TaskFigures& task, const std::string& kind, const std::string& x,
                   const std::string& y, const std::string& group) {
    const std::vector<Association> all = associations(task);
    const auto is = [&](const Association& a) {
        return a.kind == kind && a.x == x && a.y == y && a.group == group;
    };
    BOOST_REQUIRE_EQUAL(std::ranges::count_if(all, is), 1);
    return *std::ranges::find_if(all, is);
}

/// Encoders with these rates; the figures are ranks that the tests set.
TaskFigures panel(const std::vector<double>& d) {
    TaskFigures task;
    for (const double rate : d) {
        EncoderFigures encoder;
        encoder.d = rate / 20;
        task.encoders.push_back(encoder);
    }
    return task;
}

void set(TaskFigures& task, double EncoderFigures::*figure, const std::vector<double>& values) {
    for (std::size_t e = 0; e < values.size(); ++e) task.encoders.at(e).*figure = values[e];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_associations)

// METHODS 7, the paper's own numbers: retention with D, 0.8545 -> 0.00081; with AUROC -0.7818 -> 0.00447; the
// anchor left out 0.5273 -> 0.1173, with its exact p as n = 10.
BOOST_AUTO_TEST_CASE(correlations_over_the_panel) {
    TaskFigures task = panel({1, 2, 7, 4, 5, 6, 3, 8, 9, 10, 11});
    set(task, &EncoderFigures::retention, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    set(task, &EncoderFigures::task_auroc, {11, 10, 7, 8, 5, 6, 2, 9, 4, 1, 3});
    const Association with_d = answer(task, "spearman", "retention", "d", "panel");
    BOOST_CHECK_EQUAL(with_d.n, 11);
    BOOST_CHECK_CLOSE(with_d.value, 1 - 6.0 * 32 / 1320, 1e-12);
    BOOST_CHECK_CLOSE(with_d.p, 0.00080667, 1e-3);
    BOOST_CHECK(std::isnan(with_d.exact_p) && std::isnan(with_d.standard_error));
    BOOST_CHECK_EQUAL(with_d.method, "Spearman, Student t");
    BOOST_CHECK_EQUAL(with_d.undefined, "");
    const Association with_auroc = answer(task, "spearman", "retention", "task_auroc", "panel");
    BOOST_CHECK_CLOSE(with_auroc.value, 1 - 6.0 * 392 / 1320, 1e-12);
    BOOST_CHECK_CLOSE(with_auroc.p, 0.00447316, 1e-3);

    TaskFigures sizes = panel({7, 2, 4, 1, 5, 8, 6, 3, 10, 9, 19});
    set(sizes, &EncoderFigures::parameters, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0.5});
    sizes.encoders.back().anchor = true;
    const Association with_size = answer(sizes, "spearman", "parameters", "d", "without the anchor");
    BOOST_CHECK_EQUAL(with_size.n, 10);
    BOOST_CHECK_CLOSE(with_size.value, 1 - 6.0 * 78 / 990, 1e-12);
    BOOST_CHECK_CLOSE(with_size.p, 0.117308065550202, 1e-9);
    BOOST_CHECK(with_size.exact_p > 0.11 && with_size.exact_p < 0.14);
}

BOOST_AUTO_TEST_CASE(a_domain_of_five_has_its_own_correlations) {
    TaskFigures task = panel({1, 2, 3, 4, 5, 9, 8, 7, 6, 5});
    set(task, &EncoderFigures::retention, {1, 2, 3, 4, 5, 1, 2, 3, 4, 5});
    for (std::size_t e = 0; e < 10; ++e) task.encoders[e].domain = e < 5 ? "general" : "chest";
    BOOST_CHECK_EQUAL(answer(task, "spearman", "retention", "d", "domain general").value, 1);
    const Association chest = answer(task, "spearman", "retention", "d", "domain chest");
    BOOST_CHECK_EQUAL(chest.n, 5);
    BOOST_CHECK_EQUAL(chest.value, -1);
    BOOST_CHECK_EQUAL(chest.exact_p, 2.0 / 120);
    BOOST_CHECK_EQUAL(answer(task, "spearman", "retention", "task_auroc", "domain chest").undefined,
                      "no linear head has an AUROC");
    std::vector<std::string> groups;
    for (const Association& one : associations(task)) {
        if (one.group.starts_with("domain")) groups.push_back(one.group);
    }
    BOOST_TEST(groups == (std::vector<std::string>{"domain chest", "domain chest", "domain general",
                                                   "domain general"}),
               boost::test_tools::per_element());
    task.encoders[0].domain = "";  // four are left, and blank is no domain
    for (const Association& one : associations(task)) BOOST_CHECK(one.group != "domain general");
    for (EncoderFigures& encoder : task.encoders) encoder.domain = "";
    for (const Association& one : associations(task)) BOOST_CHECK(!one.group.starts_with("domain"));
}

// d = 0.1 + 2 area exactly for one encoder; the other's is 0.25 above: the slope of the cells is 2 with
// residuals of 1/8, that of the means 2 without any.
BOOST_AUTO_TEST_CASE(slopes_over_cells_and_over_findings) {
    TaskFigures task = panel({1, 1});
    task.area = {0.0, 0.125, 0.25, std::nan("")};
    for (std::size_t f = 0; f < 4; ++f) {
        const double rate = f == 3 ? 0.9 : 0.125 + 2 * task.area[f];
        task.cells.push_back({0, f, rate, std::nan("")});
        task.cells.push_back({1, f, rate + 0.25, std::nan("")});
    }
    const Association cells = answer(task, "slope", "area", "d", "encoder x finding");
    BOOST_CHECK_EQUAL(cells.n, 6);
    BOOST_CHECK_CLOSE(cells.value, 2, 1e-12);
    // Residuals +-1/8 six times over 4 degrees of freedom; the squares of the areas about their mean are
    // 1/16.
    BOOST_CHECK_CLOSE(cells.standard_error, std::sqrt(6.0 / 64 / 4 * 16), 1e-12);
    BOOST_CHECK_CLOSE(cells.p, 0.0307, 1);  // t = 3.266 with 4 degrees of freedom
    BOOST_CHECK_EQUAL(cells.method, "least squares, t-test");
    const Association findings = answer(task, "slope", "area", "d", "finding");
    BOOST_CHECK_EQUAL(findings.n, 3);
    BOOST_CHECK_CLOSE(findings.value, 2, 1e-12);
    BOOST_CHECK_EQUAL(findings.undefined, "");
}

BOOST_AUTO_TEST_CASE(bins_hold_their_lower_ends) {
    TaskFigures task = panel({1, 1});
    task.area = {std::nan("")};
    const std::vector<std::pair<double, double>> cells{{0.42, 0.9},  {0.5, 0.5},  {0.549999, 0.25},
                                                       {0.55, 0.1},  {0.75, 0.3}, {0.7500001, 0.3},
                                                       {0.95, 0.25}, {1.0, 0.0},  {0.9, std::nan("")}};
    for (const auto& [auroc, rate] : cells) task.cells.push_back({0, 0, rate, auroc});
    const auto bin = [&](const std::string& group) { return answer(task, "bin", "task_auroc", "d", group); };
    BOOST_CHECK_EQUAL(bin("[0.40, 0.45)").value, 0.9);
    BOOST_CHECK_EQUAL(bin("[0.50, 0.55)").n, 2);
    BOOST_CHECK_EQUAL(bin("[0.50, 0.55)").value, 0.375);
    BOOST_CHECK_EQUAL(bin("[0.55, 0.60)").value, 0.1);
    BOOST_CHECK_EQUAL(bin("[0.75, 0.80)").n, 2);
    BOOST_CHECK_EQUAL(bin("[0.95, 1.00]").value, 0.125);
    BOOST_CHECK_EQUAL(bin("[0.95, 1.00]").method, "mean");
    BOOST_CHECK_EQUAL(std::ranges::count(associations(task), "bin", &Association::kind), 5);
    // Above 0.75 are three with a rate, of which one is above 0.25.
    const Association share = answer(task, "share", "task_auroc", "d", "task_auroc > 0.75");
    BOOST_CHECK_EQUAL(share.n, 3);
    BOOST_CHECK_CLOSE(share.value, 1.0 / 3, 1e-12);

    // Each multiple of 5 points begins its bin.
    TaskFigures edges = panel({1});
    edges.area = {0.1};
    for (int b = 0; b < 20; ++b) edges.cells.push_back({0, 0, 0.5, b / 20.0});
    for (const Association& one : associations(edges)) {
        if (one.kind == "bin") BOOST_CHECK_EQUAL(one.n, 1);
    }
    BOOST_CHECK_EQUAL(std::ranges::count(associations(edges), "bin", &Association::kind), 20);
}

BOOST_AUTO_TEST_CASE(what_has_no_answer_says_why) {
    TaskFigures task = panel({1, 2, 3});
    task.area = {std::nan(""), std::nan("")};
    task.cells = {{0, 0, 0.5, std::nan("")}};
    const auto why = [&](const std::string& kind, const std::string& x, const std::string& y,
                         const std::string& group) {
        const Association a = answer(task, kind, x, y, group);
        BOOST_CHECK(std::isnan(a.p));
        return a.undefined;
    };
    BOOST_CHECK_EQUAL(why("spearman", "parameters", "d", "without the anchor"), "no encoder has parameters");
    BOOST_CHECK_EQUAL(why("spearman", "year", "d", "panel"), "no encoder has a year");
    BOOST_CHECK_EQUAL(why("spearman", "retention", "d", "panel"), "no retention was measured");
    BOOST_CHECK_EQUAL(why("spearman", "task_auroc", "d", "panel"), "no linear head has an AUROC");
    BOOST_CHECK_EQUAL(why("slope", "area", "d", "encoder x finding"), "no finding has evidence boxes");
    BOOST_CHECK_EQUAL(why("slope", "area", "d", "finding"), "no finding has evidence boxes");
    BOOST_CHECK_EQUAL(why("bin", "task_auroc", "d", ""), "no linear head has an AUROC");
    BOOST_CHECK_EQUAL(why("share", "task_auroc", "d", "task_auroc > 0.75"), "no linear head has an AUROC");
    set(task, &EncoderFigures::year, {2020, 2020, 2020});
    BOOST_CHECK_EQUAL(why("spearman", "year", "d", "panel"), "constant year");
    set(task, &EncoderFigures::year, {2020, 2021, std::nan("")});
    BOOST_CHECK_EQUAL(why("spearman", "year", "d", "panel"), "fewer than 3 pairs");
    task.area = {0.1, 0.1};
    task.cells = {{0, 0, 0.5, 0.6}, {0, 1, 0.25, 0.7}, {1, 1, std::nan(""), 0.9}};
    BOOST_CHECK_EQUAL(why("slope", "area", "d", "encoder x finding"), "constant area");
    BOOST_CHECK_EQUAL(why("share", "task_auroc", "d", "task_auroc > 0.75"), "no cell has such a task_auroc");
    task.area = {0.1, 0.2};
    BOOST_CHECK_EQUAL(why("slope", "area", "d", "finding"), "no test with 2 points");
    task.cells = {{3, 0, 0.5, 0.6}};
    BOOST_CHECK_THROW(associations(task), InternalError);
    for (const Association& one : associations({})) BOOST_CHECK(!one.undefined.empty());
}

BOOST_AUTO_TEST_SUITE_END()
