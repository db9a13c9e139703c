#include "candor/report/selection.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>

#include "candor/base/error.hpp"

using namespace candor;
using namespace candor::report;

BOOST_AUTO_TEST_SUITE(report_selection)

namespace {

store::ResultTable sample() {
    store::ResultTable table{"findings", {}};
    table.texts("encoder") = {"a", "a", "b", "b"};
    table.texts("finding") = {"Edema", "Effusion", "Edema", "a=b"};
    table.integers("n") = {7, 70, 7, (std::int64_t{1} << 53) + 1};
    table.reals("d") = {0.5, 0.25, NAN, 0.1};
    return table;
}

/// Row numbers that `conditions` keep, found by a column of row numbers.
std::vector<std::int64_t> kept(const std::vector<std::string>& conditions) {
    store::ResultTable table = sample();
    table.integers("row") = {0, 1, 2, 3};
    std::vector<Condition> parsed;
    for (const std::string& text : conditions) parsed.push_back(parse_condition(text));
    const store::ResultTable selected = select_rows(table, parsed);
    return std::get<std::vector<std::int64_t>>(selected.find("row")->values);
}

void check_usage_error(const std::function<void()>& act, const std::string& subject,
                       const std::string& rule) {
    BOOST_CHECK_EXCEPTION(act(), UsageError, [&](const UsageError& error) {
        BOOST_TEST(error.subject() == subject);
        BOOST_TEST(error.rule() == rule);
        return true;
    });
}

using Rows = std::vector<std::int64_t>;

}  // namespace

BOOST_AUTO_TEST_CASE(rows_that_meet_all) {
    BOOST_TEST(kept({}) == (Rows{0, 1, 2, 3}));
    BOOST_TEST(kept({"encoder=a"}) == (Rows{0, 1}));
    BOOST_TEST(kept({"encoder!=a"}) == (Rows{2, 3}));
    BOOST_TEST(kept({"encoder=b", "finding=Edema"}) == Rows{2});
    BOOST_TEST(kept({"encoder=a", "encoder=b"}) == Rows{});
    BOOST_TEST(kept({"finding=a=b"}) == Rows{3});
    BOOST_TEST(kept({"finding=edema"}) == Rows{});
}

BOOST_AUTO_TEST_CASE(numbers_compare_as_numbers) {
    BOOST_TEST(kept({"n=7"}) == (Rows{0, 2}));
    BOOST_TEST(kept({"n=7.0"}) == (Rows{0, 2}));
    BOOST_TEST(kept({"n!=7"}) == (Rows{1, 3}));
    BOOST_TEST(kept({"d=0.50"}) == Rows{0});
    BOOST_TEST(kept({"d=5e-1"}) == Rows{0});
    BOOST_TEST(kept({"d=nan"}) == Rows{2});
    BOOST_TEST(kept({"d!=nan"}) == (Rows{0, 1, 3}));
    // 2^53 + 1 is no double: whole numbers are compared as whole numbers.
    BOOST_TEST(kept({"n=9007199254740993"}) == Rows{3});
    BOOST_TEST(kept({"n=9007199254740992"}) == Rows{});
}

BOOST_AUTO_TEST_CASE(conditions_that_are_none) {
    for (const char* text : {"encoder", "=a", "!=a", "", " =a"}) {
        check_usage_error([&] { parse_condition(text); }, "--where",
                          '"' + std::string(text) + "\" must be column=value or column!=value");
    }
    check_usage_error([] { kept({"d=0,5"}); }, "--where",
                      "\"d=0,5\": column d holds numbers, and \"0,5\" is none");
    check_usage_error([] { kept({"n="}); }, "--where", "\"n=\": column n holds numbers, and \"\" is none");
    check_usage_error([] { kept({"fnding=x"}); }, "--where",
                      "table findings has no column \"fnding\"; did you mean \"finding\"?");
    check_usage_error([] { kept({"zzzz=x"}); }, "--where",
                      "table findings has no column \"zzzz\"; it has encoder, finding, n, d, row");
}

BOOST_AUTO_TEST_CASE(columns_in_the_order_asked) {
    const store::ResultTable selected = select_columns(sample(), {"d", "encoder"});
    BOOST_REQUIRE(selected.columns.size() == 2u);
    BOOST_TEST(selected.name == "findings");
    BOOST_TEST(selected.columns[0].name == "d");
    BOOST_TEST(selected.columns[1].name == "encoder");
    BOOST_TEST(selected.rows() == 4);
    check_usage_error(
        [] {
            select_columns(sample(), {"d", "encodr"});
        },
        "--columns", "table findings has no column \"encodr\"; did you mean \"encoder\"?");
    check_usage_error([] { select_columns(sample(), {"d", "d"}); }, "--columns", "\"d\" is named twice");
}

BOOST_AUTO_TEST_CASE(an_empty_selection_is_explained) {
    BOOST_TEST(explain_empty(sample(), {parse_condition("encoder=a"), parse_condition("finding=Edma")}) ==
               "no row of table findings has finding=Edma; did you mean \"Edema\"?");
    BOOST_TEST(explain_empty(sample(), {parse_condition("n=8")}) == "no row of table findings has n=8");
    BOOST_TEST(explain_empty(sample(), {parse_condition("encoder=a"), parse_condition("encoder=b")}) == "");
}

BOOST_AUTO_TEST_SUITE_END()
