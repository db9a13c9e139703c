#include "candor/report/cell_text.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

using namespace candor;
using namespace candor::report;

BOOST_AUTO_TEST_SUITE(report_cell_text)

namespace {

/// The text of one real value in a column of that name.
std::string shown(const std::string& table, const std::string& column, double value) {
    store::ResultTable one{table, {}};
    one.reals(column) = {value};
    return cell_text(one, one.columns[0], 0);
}

ColumnKind kind(const std::string& column) {
    store::ResultTable one{"cells", {}};
    one.reals(column);
    return kind_of(one, one.columns[0]);
}

}  // namespace

// Every real column of the tables of version 0.1.0.
BOOST_AUTO_TEST_CASE(kinds_by_name) {
    for (const char* name :
         {"d", "d_low", "d_high", "rate_mid", "draw_sd", "bound_low", "bound_high", "margin_auroc",
          "margin_auroc_low", "margin_auroc_high", "margin_balanced_accuracy", "margin_balanced_accuracy_low",
          "margin_balanced_accuracy_high"}) {
        BOOST_TEST((kind(name) == ColumnKind::share), name);
    }
    for (const char* name : {"p", "q", "margin_p", "margin_q", "smallest_p"}) {
        BOOST_TEST((kind(name) == ColumnKind::probability), name);
    }
    for (const char* name : {"cap_q1", "cap_median", "cap_q3", "cap1_q1", "cap1_median", "cap1_q3"}) {
        BOOST_TEST((kind(name) == ColumnKind::cap), name);
    }
    BOOST_TEST((kind("alpha") == ColumnKind::real));

    store::ResultTable table{"cells", {}};
    table.integers("margin_auroc_n_boot_valid");
    table.texts("d");
    BOOST_TEST((kind_of(table, table.columns[0]) == ColumnKind::whole));
    BOOST_TEST((kind_of(table, table.columns[1]) == ColumnKind::text));
}

BOOST_AUTO_TEST_CASE(values_for_people) {
    BOOST_TEST(shown("cells", "d", 0.277) == "27.7");
    BOOST_TEST(shown("cells", "d", 1) == "100.0");
    BOOST_TEST(shown("cells", "d", -0.0001) == "0.0");
    BOOST_TEST(shown("cells", "d", NAN) == "-");
    BOOST_TEST(shown("findings", "p", 0.012) == "0.012");
    BOOST_TEST(shown("findings", "q", 0.00002) == "2.0e-05");
    BOOST_TEST(shown("findings", "q", 0.049951) == "0.05");
    BOOST_TEST(shown("findings", "q", 0.04994) == "0.0499");
    BOOST_TEST(shown("findings", "margin_p", 1) == "1");
    BOOST_TEST(shown("families", "smallest_p", NAN) == "-");
    BOOST_TEST(shown("cells", "cap_median", 0.25049) == "0.250");
    BOOST_TEST(shown("families", "alpha", 0.05) == "0.05");
    BOOST_TEST(shown("other", "x", -0.0) == "0");
    BOOST_TEST(shown("other", "x", 1234567.0) == "1.235e+06");
}

// `associations` holds correlations, slopes and shares in one column.
BOOST_AUTO_TEST_CASE(association_values) {
    store::ResultTable table{"associations", {}};
    table.texts("kind") = {"spearman", "slope", "bin", "share"};
    table.reals("value") = {-0.78182, 0.041, 0.451, 0.6923};
    const store::Column& value = table.columns[1];
    BOOST_TEST(cell_text(table, value, 0) == "-0.782");
    BOOST_TEST(cell_text(table, value, 1) == "0.041");
    BOOST_TEST(cell_text(table, value, 2) == "45.1 %");
    BOOST_TEST(cell_text(table, value, 3) == "69.2 %");
}

BOOST_AUTO_TEST_CASE(shares_of_single_tables) {
    for (const auto& [table, column] : {std::pair("overlap", "delta_jaccard"),
                                        {"overlap_summary", "mean_delta_jaccard"},
                                        {"overlap_summary", "above_share"},
                                        {"consensus", "share"},
                                        {"consensus", "independent_share"},
                                        {"consensus", "low"},
                                        {"retention", "retention"},
                                        {"retention", "area"},
                                        {"distances", "distance"},
                                        {"contrasts", "boot_high"},
                                        {"rules", "prevalence"},
                                        {"ablations", "merged_low"},
                                        {"ablations", "unequal"}}) {
        BOOST_TEST(shown(table, column, 0.313) == "31.3", column);
    }
    BOOST_TEST(shown("retention", "correlation_low", 0.3125) == "0.3125");
}

// `panels` holds shares and counts in one column.
BOOST_AUTO_TEST_CASE(panel_statistics) {
    store::ResultTable panels{"panels", {}};
    panels.texts("statistic") = {"best", "above_0.40", "best_below_half", "range"};
    panels.reals("value") = {0.277, 7, 1, NAN};
    const store::Column& value = panels.columns[1];
    BOOST_TEST(cell_text(panels, value, 0) == "27.7 %");
    BOOST_TEST(cell_text(panels, value, 1) == "7");
    BOOST_TEST(cell_text(panels, value, 2) == "1");
    BOOST_TEST(cell_text(panels, value, 3) == "-");
    BOOST_TEST(heading(panels, value) == "value");
}

BOOST_AUTO_TEST_CASE(headings_say_percent) {
    store::ResultTable table{"cells", {}};
    table.reals("d_low");
    table.reals("cap_q1");
    table.texts("encoder");
    BOOST_TEST(heading(table, table.columns[0]) == "d_low %");
    BOOST_TEST(heading(table, table.columns[1]) == "cap_q1");
    BOOST_TEST(heading(table, table.columns[2]) == "encoder");
}

BOOST_AUTO_TEST_CASE(whole_numbers_keep_every_digit) {
    store::ResultTable table{"cells", {}};
    table.integers("n") = {std::numeric_limits<std::int64_t>::max()};
    BOOST_TEST(cell_text(table, table.columns[0], 0) == "9223372036854775807");
}

BOOST_AUTO_TEST_SUITE_END()
