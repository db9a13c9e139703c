#include "candor/base/reach.hpp"

#include <boost/test/unit_test.hpp>

using namespace candor;

BOOST_AUTO_TEST_SUITE(base_reach)

BOOST_AUTO_TEST_CASE(a_reach_has_one_fewer_where_its_own_entry_is_within) {
    BOOST_TEST((Reach{5, -1}.size()) == 5);
    BOOST_TEST((Reach{5, 0}.size()) == 4);
    BOOST_TEST((Reach{5, 4}.size()) == 4);
    BOOST_TEST((Reach{5, 5}.size()) == 5);  // beyond the end: nothing is lost
    BOOST_TEST((Reach{0, -1}.size()) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
