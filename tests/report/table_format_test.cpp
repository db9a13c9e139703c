#include "candor/report/table_format.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "candor/base/error.hpp"

using namespace candor;
using namespace candor::report;

BOOST_AUTO_TEST_SUITE(report_table_format)

namespace {

/// Findings with the names of faults.md 28, a count, a share and a p.
store::ResultTable hostile_table() {
    store::ResultTable table{"findings", {}};
    table.texts("finding") = {"Lung_Opacity", "R&D 50%", "a|b", "x<y", "#1 {A}"};
    table.integers("n_pos") = {1, 20, 300, 4000, 50000};
    table.reals("d") = {0.277, 0.1, NAN, 1, -0.0};
    table.reals("p") = {0.012, 0.00002, NAN, 1, 1.0 / 3};
    return table;
}

store::ResultTable empty_table() {
    store::ResultTable table{"skipped", {}};
    table.texts("task");
    table.integers("n");
    return table;
}

}  // namespace

BOOST_AUTO_TEST_CASE(text) {
    BOOST_TEST(format_table(hostile_table(), Format::text) ==
               "finding       n_pos    d %        p\n"
               "------------  -----  -----  -------\n"
               "Lung_Opacity      1   27.7    0.012\n"
               "R&D 50%          20   10.0  2.0e-05\n"
               "a|b             300      -        -\n"
               "x<y            4000  100.0        1\n"
               "#1 {A}        50000    0.0    0.333\n");
}

// Raw names, fractions, every digit: the values read back as the same doubles.
BOOST_AUTO_TEST_CASE(csv) {
    BOOST_TEST(format_table(hostile_table(), Format::csv) ==
               "finding,n_pos,d,p\n"
               "Lung_Opacity,1,0.277,0.012\n"
               "R&D 50%,20,0.1,2e-05\n"
               "a|b,300,,\n"
               "x<y,4000,1,1\n"
               "#1 {A},50000,-0,0.3333333333333333\n");
}

BOOST_AUTO_TEST_CASE(json) {
    BOOST_TEST(format_table(hostile_table(), Format::json) ==
               "[\n"
               "  {\"finding\": \"Lung_Opacity\", \"n_pos\": 1, \"d\": 0.277, \"p\": 0.012},\n"
               "  {\"finding\": \"R&D 50%\", \"n_pos\": 20, \"d\": 0.1, \"p\": 2e-05},\n"
               "  {\"finding\": \"a|b\", \"n_pos\": 300, \"d\": null, \"p\": null},\n"
               "  {\"finding\": \"x<y\", \"n_pos\": 4000, \"d\": 1, \"p\": 1},\n"
               "  {\"finding\": \"#1 {A}\", \"n_pos\": 50000, \"d\": -0, \"p\": 0.3333333333333333}\n"
               "]\n");
}

BOOST_AUTO_TEST_CASE(markdown) {
    BOOST_TEST(format_table(hostile_table(), Format::md) ==
               "| finding      | n_pos |   d % |       p |\n"
               "| ------------ | ----: | ----: | ------: |\n"
               "| Lung_Opacity |     1 |  27.7 |   0.012 |\n"
               "| R&D 50%      |    20 |  10.0 | 2.0e-05 |\n"
               "| a\\|b         |   300 |     - |       - |\n"
               "| x\\<y         |  4000 | 100.0 |       1 |\n"
               "| #1 {A}       | 50000 |   0.0 |   0.333 |\n");
}

BOOST_AUTO_TEST_CASE(tex) {
    BOOST_TEST(format_table(hostile_table(), Format::tex) ==
               "% needs \\usepackage{booktabs}\n"
               "\\begin{tabular}{lrrr}\n"
               "\\toprule\n"
               "finding & n\\_pos & d \\% & p \\\\\n"
               "\\midrule\n"
               "Lung\\_Opacity & 1 & 27.7 & 0.012 \\\\\n"
               "R\\&D 50\\% & 20 & 10.0 & 2.0e-05 \\\\\n"
               "a\\textbar{}b & 300 & -- & -- \\\\\n"
               "x\\textless{}y & 4000 & 100.0 & 1 \\\\\n"
               "\\#1 \\{A\\} & 50000 & 0.0 & 0.333 \\\\\n"
               "\\bottomrule\n"
               "\\end{tabular}\n");
}

BOOST_AUTO_TEST_CASE(tables_without_rows) {
    BOOST_TEST(format_table(empty_table(), Format::text) == "task  n\n----  -\n");
    BOOST_TEST(format_table(empty_table(), Format::csv) == "task,n\n");
    BOOST_TEST(format_table(empty_table(), Format::json) == "[]\n");
    BOOST_TEST(format_table(empty_table(), Format::md) == "| task |   n |\n| ---- | --: |\n");
    BOOST_TEST(format_table(empty_table(), Format::tex).find("task & n \\\\\n\\midrule\n\\bottomrule") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(text_aligns_by_code_points) {
    store::ResultTable table{"t", {}};
    table.texts("name") = {"\xC3\xA9t\xC3\xA9", "winter"};
    table.integers("n") = {1, 10};
    BOOST_TEST(format_table(table, Format::text) ==
               "name     n\n------  --\n\xC3\xA9t\xC3\xA9      1\nwinter  10\n");
}

BOOST_AUTO_TEST_CASE(csv_of_one_column_has_no_empty_line) {
    store::ResultTable table{"t", {}};
    table.reals("d") = {NAN, 0.5};
    BOOST_TEST(format_table(table, Format::csv) == "d\n\"\"\n0.5\n");
}

BOOST_AUTO_TEST_CASE(infinities) {
    store::ResultTable table{"t", {}};
    table.reals("x") = {-std::numeric_limits<double>::infinity()};
    BOOST_TEST(format_table(table, Format::csv) == "x\n-inf\n");
    BOOST_TEST(format_table(table, Format::json) == "[\n  {\"x\": null}\n]\n");
    BOOST_TEST(format_table(table, Format::text) == "   x\n----\n-inf\n");
}

BOOST_AUTO_TEST_CASE(tex_numbers_have_minus_signs) {
    store::ResultTable table{"t", {}};
    table.reals("x") = {-0.25};
    table.texts("name") = {"-a"};
    BOOST_TEST(format_table(table, Format::tex).find("\n$-$0.25 & -a \\\\\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(format_names) {
    BOOST_TEST((parse_format("csv") == Format::csv));
    BOOST_TEST((parse_format("tex") == Format::tex));
    BOOST_CHECK_EXCEPTION(parse_format("jsn"), UsageError, [](const UsageError& error) {
        BOOST_TEST(error.subject() == "--format");
        BOOST_TEST(error.rule() ==
                   "\"jsn\" is not known; use one of text, csv, json, md, tex (did you mean \"json\"?)");
        return error.code() == ExitCode::usage;
    });
    BOOST_CHECK_THROW(parse_format("CSV "), UsageError);
    BOOST_CHECK_THROW(parse_format(""), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
