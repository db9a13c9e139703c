#include "candor/report/head_answers.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "candor/report/head_exhibits.hpp"
#include "candor/store/table_rows.hpp"

namespace candor::report {

namespace {

struct Policy {
    std::string name;
    double miss = 0, miss_low = 0, miss_high = 0, closed = NAN, closed_low = NAN, closed_high = NAN;
    double bound_low = NAN, bound_high = NAN;
};

store::ResultTable selection_of(const std::vector<Policy>& policies) {
    return store::table_of("selection", policies, [](store::TableRows& rows, const Policy& policy) {
        rows.put("task", std::string("t"));
        rows.put("level", std::string("macro"));
        rows.put("policy", policy.name);
        rows.put("positives", std::int64_t{263});
        rows.put("encoders", std::int64_t{11});
        for (const auto& [name, value] : {std::pair<const char*, double>{"miss", policy.miss},
                                          {"miss_low", policy.miss_low},
                                          {"miss_high", policy.miss_high},
                                          {"bound_low", policy.bound_low},
                                          {"bound_high", policy.bound_high},
                                          {"gap_closed", policy.closed},
                                          {"gap_closed_low", policy.closed_low},
                                          {"gap_closed_high", policy.closed_high}})
            rows.put(name, value);
    });
}

std::string answers(const Policy& oracle, const Policy& independent, const Policy& rule) {
    ReportData data;
    data.tables["selection"] = selection_of({{"single", .359, .32, .39, 0, 0, 0}, oracle, independent, rule});
    std::string all;
    for (const std::string& one : selection_answers(data, "t")) all += one + '\n';
    return all;
}

struct Score {
    std::string level, dataset, score;
    double gap = NAN;
    std::int64_t reject = 0, won = 0, lost = 0;
};

/// A task of two encoders' cells: confidence is beaten significantly in one, beats in two, and one is open.
ReportData with_detection() {
    const std::vector<Score> scores{
        {"cell", "a", "msp", .2, 1, 1, 0},   {"cell", "a", "msp", -.2, 1, 0, 1},
        {"cell", "b", "msp", -.3, 1, 0, 1},  {"cell", "b", "msp", -.1, 0, 0, 1},
        {"dataset", "a", "msp", 0, 0, 1, 1}, {"dataset", "b", "msp", -.2, 0, 0, 2},
        {"task", "", "msp", -.1, 0, 1, 3},   {"task", "", "impurity"}};
    ReportData data;
    data.tasks = {{"t", "Task", "", {"f"}, {"dataset"}}};
    data.datasets = {{"a", "A", "", {"t"}, 1, 1}, {"b", "B", "", {"t"}, 1, 1}};
    data.tables["detection"] =
        store::table_of("detection", scores, [](store::TableRows& rows, const Score& one) {
            for (const auto& [name, value] : {std::pair<const char*, const std::string&>{"level", one.level},
                                              {"dataset", one.dataset},
                                              {"score", one.score}})
                rows.put(name, value);
            rows.put("task", std::string("t"));
            rows.put("encoder", std::string());
            for (const auto& [name, value] : {std::pair<const char*, std::int64_t>{"rows", 80},
                                              {"errors", 20},
                                              {"reject", one.reject},
                                              {"won", one.won},
                                              {"lost", one.lost},
                                              {"even", 0}})
                rows.put(name, value);
            for (const auto& [name, value] : {std::pair<const char*, double>{"gap", one.gap},
                                              {"gap_low", NAN},
                                              {"gap_high", NAN},
                                              {"q", one.level == "cell" ? .01 : NAN},
                                              {"auroc", .6},
                                              {"auroc_low", .5},
                                              {"auroc_high", .7}})
                rows.put(name, value);
        });
    return data;
}

const Policy oracle{"oracle", .028, .01, .05, 1, 1, 1}, lower{"independent", .001, 0, .005};

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(head_answers)

BOOST_AUTO_TEST_CASE(nothing_is_said_without_heads) {
    BOOST_TEST(reading_answers({}, "t").empty());
    BOOST_TEST(detection_answers({}, "t").empty());
    BOOST_TEST(selection_answers({}, "t").empty());
    BOOST_TEST(!detection_exhibit({}, "t").has_value());
    BOOST_TEST(!gaps_exhibit({}, "t").has_value());
    BOOST_TEST(!selection_exhibit({}, "t").has_value());
}

BOOST_AUTO_TEST_CASE(only_what_was_rejected_is_called_significant) {
    const ReportData data = with_detection();
    std::string all;
    for (const std::string& one : detection_answers(data, "t")) all += one + '\n';
    BOOST_TEST(says(all, "err in 20 of 80 answers (25.0 percent)"), all);
    BOOST_TEST(says(all, "significantly below confidence in 2 of 4 tested cells"), all);
    BOOST_TEST(says(all, "significantly above it in 1 "), all);

    const auto exhibit = gaps_exhibit(data, "t");
    BOOST_TEST_REQUIRE(exhibit.has_value());
    const std::vector<std::vector<std::int64_t>> expected{
        {4, 1, 1, 3, 2},
        {2, 1, 1, 1, 1},
        {2, 0, 0, 2, 1}};  // cells, above, significantly, below, significantly
    const std::vector<std::string> data_sets{"all", "A", "B"};
    BOOST_TEST_REQUIRE(exhibit->rows.size() == 3u);
    for (std::size_t r = 0; r < 3; ++r) {
        BOOST_TEST(exhibit->rows[r][0].text == data_sets[r]);
        for (std::size_t c = 0; c < 5; ++c) BOOST_TEST(exhibit->rows[r][3 + c].count == expected[r][c]);
    }
}

BOOST_AUTO_TEST_CASE(the_oracle_is_told_with_what_independence_would_give) {
    const Policy rule{"most_confident", .3, .2, .4, .2, .1, .3};
    const std::string text = answers(oracle, lower, rule);
    BOOST_TEST(says(text,
                    "one head misses 35.9 [32.0, 39.0] percent and a selector that is shown the label 2.8 "
                    "[1.0, 5.0] (means of the findings)"),
               text);
    BOOST_TEST(says(text, "all would miss 0.1 [0.0, 0.5] together, less than they do"), text);
    BOOST_TEST(says(answers(oracle, {"independent", .2, .1, .3}, rule), "more than they do"));
    BOOST_TEST(says(answers(oracle, {"independent", .03, .01, .05}, rule), "do not tell from what they do"));
    // Where no resample moves a share of 0, its bound over patients does.
    const Policy none{"oracle", 0, 0, 0, 1, 1, 1, 0, .014};
    BOOST_TEST(says(answers(none, lower, rule), "is shown the label 0.0 [0.0, 1.4]"));
    BOOST_TEST(says(answers(none, {"independent", .02, .01, .05}, rule), "do not tell from what they do"));
    BOOST_TEST(says(answers(none, {"independent", .2, .1, .3}, rule), "more than they do"));
    // An interval without width separates nothing.
    BOOST_TEST(says(answers({"oracle", 0, 0, 0, 1, 1, 1}, lower, rule), "has no width"));
    BOOST_TEST(says(answers({"oracle", 0, NAN, NAN, 1, 1, 1}, lower, rule), "has no width"));
}

BOOST_AUTO_TEST_CASE(a_rule_is_never_said_to_do_more_than_its_interval) {
    const auto with = [&](double low, double high) {
        return answers(oracle, lower, {"lowest_impurity", .3, .2, .4, (low + high) / 2, low, high});
    };
    BOOST_TEST(says(with(.1, .3), "(lowest impurity) closes 20.0 [10.0, 30.0]"));
    BOOST_TEST(says(with(.1, .3), "its interval lies above 0."));
    BOOST_TEST(says(with(-.1, .3), "holds 0, so it is not told from an encoder at random"));
    BOOST_TEST(says(with(0, .3), "holds 0"));
    BOOST_TEST(says(with(-.3, -.1), "worse than an encoder at random"));
    BOOST_TEST(
        says(answers(oracle, lower, {"lowest_d", .3, .2, .4}), "No rule without labels could be judged"));
    BOOST_TEST(says(with(.1, .3), "flatters"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace candor::report
