// Entry of a room's serial test program.
#define BOOST_TEST_MODULE candor
#include <boost/test/unit_test.hpp>
