#include "candor/neighbors/memory_rows.hpp"

#include <boost/test/unit_test.hpp>
#include <variant>
#include <vector>

using namespace candor;
using namespace candor::neighbors;

BOOST_AUTO_TEST_SUITE(neighbors_memory_rows)

BOOST_AUTO_TEST_CASE(rows_come_as_they_are_stored_in_the_order_asked_for) {
    Matrix<double> stored(5, 3);
    for (std::int64_t i = 0; i < 5; ++i) {
        for (std::size_t j = 0; j < 3; ++j)
            stored.row(i)[j] = 10 * static_cast<double>(i) + 0.1 * static_cast<double>(j);
    }
    const MemoryRows rows{StoredRows(std::move(stored))};
    BOOST_CHECK_EQUAL(rows.rows(), 5);
    BOOST_CHECK_EQUAL(rows.dimension(), 3);
    const std::vector<ContextRow> which{ContextRow(4), ContextRow(0), ContextRow(4)};
    const StoredRows read = rows.read(which);
    const Matrix<double>& doubles = std::get<Matrix<double>>(read);
    BOOST_CHECK_EQUAL(doubles.rows(), 3);
    BOOST_CHECK_EQUAL(doubles.row(0)[2], 40 + 0.1 * 2);
    BOOST_CHECK_EQUAL(doubles.row(1)[0], 0);
    BOOST_CHECK_EQUAL(doubles.row(2)[1], 40 + 0.1);

    const RowSubset some(rows, {ContextRow(3), ContextRow(1)});
    BOOST_CHECK_EQUAL(some.rows(), 2);
    BOOST_CHECK_EQUAL(some.dimension(), 3);
    const std::vector<ContextRow> last{ContextRow(1)};
    BOOST_CHECK_EQUAL(std::get<Matrix<double>>(some.read(last)).row(0)[0], 10);
}

BOOST_AUTO_TEST_SUITE_END()
