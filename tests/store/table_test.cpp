#include "candor/store/table.hpp"

#include <boost/test/unit_test.hpp>

using namespace candor::store;

BOOST_AUTO_TEST_SUITE(store_table)

BOOST_AUTO_TEST_CASE(columns_are_filled_in_any_order) {
    ResultTable table;
    BOOST_TEST(table.rows() == 0);
    auto& names = table.texts("name");
    std::vector<std::vector<std::int64_t>*> many;
    for (int i = 0; i < 100; ++i) many.push_back(&table.integers("n" + std::to_string(i)));
    auto& reals = table.reals("d");
    names = {"a", "b"};
    reals = {0.5, 1};
    for (auto* column : many) *column = {1, 2};
    BOOST_TEST(table.rows() == 2);
    BOOST_TEST(std::get<std::vector<std::string>>(table.find("name")->values) ==
               (std::vector<std::string>{"a", "b"}));
    BOOST_TEST(std::get<std::vector<double>>(table.find("d")->values) == (std::vector<double>{0.5, 1}));
    BOOST_TEST(table.find("absent") == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
