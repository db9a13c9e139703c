#include "candor/report/comparison.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "candor/report/table_columns.hpp"
#include "candor/store/table_rows.hpp"

namespace candor::report {

namespace {

struct Row {
    std::string encoder;
    double d = 0, low = 0, high = 0;
};

store::ResultTable tasks_of(const std::vector<Row>& rows) {
    return store::table_of("tasks", rows, [](store::TableRows& into, const Row& row) {
        into.put("task", std::string("t"));
        into.put("encoder", row.encoder);
        into.put("level", std::string("micro"));
        into.put("d", row.d);
        into.put("d_low", row.low);
        into.put("d_high", row.high);
    });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(comparison)

BOOST_AUTO_TEST_CASE(each_change_by_its_name) {
    const auto a = tasks_of({{"same", .2, .1, .3},
                             {"within", .2, .1, .3},
                             {"other way", .25, .24, .26},
                             {"near", .2, .1, .3},
                             {"beyond", .2, .1, .3},
                             {"no width", 0, 0, 0},
                             {"gone", .2, .1, .3},
                             {"none", NAN, NAN, NAN},
                             {"a alone", .2, .1, .3}});
    const auto b = tasks_of({{"b alone", .4, .3, .5},
                             {"none", NAN, NAN, NAN},
                             {"gone", NAN, NAN, NAN},
                             {"no width", .2, .1, .3},
                             {"beyond", .4, .31, .5},
                             {"near", .4, .29, .5},
                             {"other way", .3, .1, .4},
                             {"within", .3, .29, .31},
                             {"same", .2, .1, .3}});
    const auto table = compare_rates(a, b);
    const std::vector<std::string> expected{"same",     "within",    "within", "near",   "beyond",
                                            "unjudged", "undefined", "same",   "only a", "only b"};
    BOOST_TEST(texts(table, "change") == expected, boost::test_tools::per_element());
    BOOST_TEST(texts(table, "encoder").back() == "b alone");
    BOOST_TEST(reals(table, "difference")[1] == .3 - .2);
    BOOST_TEST(std::isnan(reals(table, "difference").back()));
}

BOOST_AUTO_TEST_CASE(tables_without_rows_still_have_their_columns) {
    const auto table = compare_rates(tasks_of({}), tasks_of({}));
    BOOST_TEST(table.rows() == 0);
    BOOST_TEST(table.columns.size() == 11u);  // three keys, six of rates, the difference and the change
    BOOST_TEST(texts(table, "change").empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace candor::report
