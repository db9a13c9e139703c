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
