#include "candor/instruments/class_distances.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/neighbors/memory_rows.hpp"
#include "neighbors/made_rows.hpp"

using namespace candor;
using namespace candor::instruments;
using namespace candor::testing;
using Way = DistancePlan::Way;

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

/// Findings on the same rows, the training rows first.
struct Made {
    std::int64_t training = 0, test = 0, d = 0;
    std::vector<std::vector<std::int8_t>> labels;  // of all rows

    std::vector<FindingLabels> findings() const {
        std::vector<FindingLabels> out;
        for (const auto& of : labels) {
            const std::span<const std::int8_t> all(of);
            out.push_back({all.first(static_cast<std::size_t>(training)),
                           all.subspan(static_cast<std::size_t>(training))});
        }
        return out;
    }
    std::vector<Way> ways() const { return plan_distances(findings(), d).ways; }
};

constexpr auto never = [] { return false; };

Matrix<double> distances(const neighbors::RowSource& rows, const Made& made, int threads = 1) {
    linalg::open_blas();
    std::vector<ContextRow> test;
    for (std::int64_t i = 0; i < made.test; ++i) test.emplace_back(made.training + i);
    return class_distances(rows, first_rows(made.training), test, made.findings(), threads, never).value();
}

/// Positive where i % every is 0; not labelled where i % gaps is 1.
std::vector<std::int8_t> every(std::int64_t rows, std::int64_t every, std::int64_t gaps = 0) {
    std::vector<std::int8_t> out;
    for (std::int64_t i = 0; i < rows; ++i)
        out.push_back(static_cast<std::int8_t>(gaps > 0 && i % gaps == 1 ? -1 : i % every == 0));
    return out;
}

/// Some findings that are labelled in all training rows, some in most, one in few, one in a single class.
Made made_findings() {
    Made made{1300, 700, 24, {}};
    const std::int64_t all = made.training + made.test;
    for (const std::int64_t n : {3, 4, 5, 7, 9}) made.labels.push_back(every(all, n));
    for (const std::int64_t n : {3, 4}) made.labels.push_back(every(all, n, 50));
    made.labels.push_back(every(all, 6));
    for (std::int64_t i = 0; i < made.training; ++i)
        if (i % 10 > 2) made.labels.back()[static_cast<std::size_t>(i)] = -1;
    made.labels.push_back(std::vector<std::int8_t>(static_cast<std::size_t>(all), 0));
    made.labels.front().back() = -1;  // a test row that does not ask
    return made;
}

const std::vector<Way> made_ways{Way::the_axes, Way::the_axes, Way::the_axes, Way::the_axes, Way::the_axes,
                                 Way::shared,   Way::shared,   Way::own,      Way::none};

/// Each finding by itself, which shares nothing.
void compare_with_own(const neighbors::RowSource& rows, const Made& made, double tolerance) {
    const Matrix<double> found = distances(rows, made);
    for (std::size_t f = 0; f < made.labels.size(); ++f) {
        Made one = made;
        one.labels = {made.labels[f]};
        // Rows without a label say nothing either way.
        BOOST_TEST((one.ways().front() == Way::own || made.ways()[f] == Way::none));
        const Matrix<double> own = distances(rows, one);
        for (std::size_t i = 0; i < static_cast<std::size_t>(made.test); ++i) {
            const double a = found.row(static_cast<std::int64_t>(f))[i], b = own.row(0)[i];
            if (std::isnan(b)) {
                BOOST_TEST(std::isnan(a));
            } else {
                BOOST_TEST(std::abs(a - b) <= tolerance * b,
                           "finding " << f << " row " << i << ": " << a << " is not " << b);
            }
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(instruments_class_distances)

// S comes with an error of at most n eps times the trace T of the rows' scatter / n; its least eigenvalue is
// 1e-3 t / d, t the part of T within classes, here nearly all.
BOOST_AUTO_TEST_CASE(what_is_shared_gives_what_each_finding_gives_by_itself) {
    const Made made = made_findings();
    BOOST_TEST((made.ways() == made_ways));
    Matrix<float> rows = gaussian<float>(made.training + made.test, made.d);
    for (std::int64_t i = 0; i < rows.rows(); ++i) rows.row(i)[0] += 3;  // far from the origin
    const double tolerance = static_cast<double>(made.training) * eps * 2e3 * static_cast<double>(made.d);
    compare_with_own(neighbors::MemoryRows(std::move(rows)), made, tolerance);
}

// Classes so far apart that what is left of the shared scatter would be its rounding: each finding has a
// scatter of its own, to the bit.
BOOST_AUTO_TEST_CASE(where_classes_lie_far_apart_nothing_is_shared) {
    Made made = made_findings();
    made.labels.resize(6);
    for (auto& of : made.labels) of = made.labels.front();
    made.labels.back()[1] = -1;
    made.labels.back()[0] = -1;
    BOOST_TEST((made.ways().front() == Way::the_axes && made.ways().back() == Way::shared));
    Matrix<double> rows = gaussian<double>(made.training + made.test, made.d);
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
        for (double& v : rows.row(i)) v *= 1e-9;
        rows.row(i)[static_cast<std::size_t>(i % 3 == 0)] += 1;
    }
    compare_with_own(neighbors::MemoryRows(std::move(rows)), made, 0);
}

BOOST_AUTO_TEST_CASE(without_any_scatter_there_is_none) {
    Made made = made_findings();
    Matrix<double> same(made.training + made.test, made.d), classes(made.training + made.test, made.d);
    for (std::int64_t i = 0; i < same.rows(); ++i) {
        for (std::int64_t j = 0; j < made.d; ++j) {
            same.row(i)[static_cast<std::size_t>(j)] = 1.0 / static_cast<double>(j + 3);
            classes.row(i)[static_cast<std::size_t>(j)] = 1.0 / static_cast<double>(j + 3 + i % 3);
        }
    }
    for (auto& of : made.labels) of = every(made.training + made.test, 3);
    for (Matrix<double>* rows : {&same, &classes}) {
        const Matrix<double> found = distances(neighbors::MemoryRows(std::move(*rows)), made);
        for (std::int64_t f = 0; f < found.rows(); ++f)
            BOOST_TEST((std::isnan(found.row(f)[0]) == (rows == &same)));
    }
}

BOOST_AUTO_TEST_CASE(threads_do_not_change_it) {
    const Made made = made_findings();
    const neighbors::MemoryRows rows(gaussian<float>(made.training + made.test, made.d));
    const Matrix<double> one = distances(rows, made);
    for (const int threads : {2, 5}) {
        const Matrix<double> more = distances(rows, made, threads);
        for (std::int64_t f = 0; f < one.rows(); ++f) {
            for (std::size_t i = 0; i < one.row(f).size(); ++i)
                BOOST_TEST((more.row(f)[i] == one.row(f)[i] || std::isnan(one.row(f)[i])));
        }
    }
}

BOOST_AUTO_TEST_CASE(it_can_be_stopped_anywhere) {
    linalg::open_blas();
    const Made made = made_findings();
    const neighbors::MemoryRows rows(gaussian<float>(made.training + made.test, made.d));
    int most = 0;
    for (int after = 0;; ++after, ++most) {
        int asked = 0;
        const auto found =
            class_distances(rows, first_rows(made.training), std::vector<ContextRow>(700, ContextRow(5)),
                            made.findings(), 1, [&] { return asked++ == after; });
        if (found) break;
    }
    BOOST_TEST(most >= 4);  // the scatter, two blocks of test rows on the axes, and findings one by one
}

BOOST_AUTO_TEST_CASE(sizes_that_do_not_fit_are_refused) {
    Made made = made_findings();
    const neighbors::MemoryRows rows(gaussian<float>(made.training + made.test, made.d));
    made.labels.front().pop_back();
    BOOST_CHECK_THROW((void)distances(rows, made), InternalError);
    BOOST_TEST(plan_distances({}, 5).ways.empty());
}

BOOST_AUTO_TEST_SUITE_END()
