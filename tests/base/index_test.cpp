#include "candor/base/index.hpp"

#include <boost/test/unit_test.hpp>
#include <type_traits>

using namespace candor;

BOOST_AUTO_TEST_SUITE(base_index)

BOOST_AUTO_TEST_CASE(the_wrong_position_does_not_compile) {
    static_assert(!std::is_convertible_v<TableRow, PoolRow>);
    static_assert(!std::is_constructible_v<ContextRow, PoolRow>);
    static_assert(!std::is_convertible_v<int, PoolRow>);
    BOOST_TEST((PoolRow(3) < PoolRow(4)));
    BOOST_TEST((PoolRow(3) == PoolRow(3)));
    BOOST_TEST(PoolRow().value == 0);
}

BOOST_AUTO_TEST_SUITE_END()
