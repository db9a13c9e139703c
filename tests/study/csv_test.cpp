#include "candor/study/csv.hpp"

#include "study/sample.hpp"

BOOST_AUTO_TEST_SUITE(study_csv)

using candor::DataError;
using candor::study::Csv;
using candor::study::parse_csv;
using candor::study::reads;
using Cells = std::vector<std::string>;

BOOST_AUTO_TEST_CASE(plain_cells_are_trimmed_text) {
    const Csv csv = parse_csv("x.csv", "a, b\t,c\n 001 ,NA, 1234567890123456789\n");
    BOOST_TEST(csv.header == (Cells{"a", "b", "c"}), boost::test_tools::per_element());
    BOOST_REQUIRE_EQUAL(csv.records.size(), 1);
    BOOST_TEST(csv.records[0] == (Cells{"001", "NA", "1234567890123456789"}),
               boost::test_tools::per_element());
    BOOST_CHECK_EQUAL(csv.line[0], 2);
}

// faults.md case 6: the byte-order mark, CRLF and a blank behind a header are not part of anything.
BOOST_AUTO_TEST_CASE(mark_and_line_ends_are_no_text) {
    const Csv csv = parse_csv("x.csv", "\xEF\xBB\xBF\"image_id\",patient_id ,Edema\r\ni1,p1,1\r\n");
    BOOST_TEST(csv.header == (Cells{"image_id", "patient_id", "Edema"}), boost::test_tools::per_element());
    BOOST_TEST(csv.records.at(0) == (Cells{"i1", "p1", "1"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(quotes_hold_commas_quotes_and_line_breaks) {
    const Csv csv = parse_csv("x.csv", "a,b\n\"x, \"\"y\"\"\", \"two\nlines\" \nlast,\"\"");
    BOOST_REQUIRE_EQUAL(csv.records.size(), 2);
    BOOST_TEST(csv.records[0] == (Cells{"x, \"y\"", "two\nlines"}), boost::test_tools::per_element());
    BOOST_TEST(csv.records[1] == (Cells{"last", ""}), boost::test_tools::per_element());
    BOOST_CHECK_EQUAL(csv.line[1], 4);  // the quoted break counts as a line of the file
}

BOOST_AUTO_TEST_CASE(blank_cells_and_blank_lines_at_the_end) {
    const Csv csv = parse_csv("x.csv", "a,b\n,\n1,\n\n  \r\n");
    BOOST_REQUIRE_EQUAL(csv.records.size(), 2);
    BOOST_TEST(csv.records[0] == (Cells{"", ""}), boost::test_tools::per_element());
    BOOST_TEST(csv.records[1] == (Cells{"1", ""}), boost::test_tools::per_element());
    BOOST_CHECK(parse_csv("x.csv", "a,b").records.empty());
}

BOOST_AUTO_TEST_CASE(a_ragged_row_names_its_line) {
    BOOST_CHECK_EXCEPTION(
        parse_csv("x.csv", "a,b\n1,\"\n\"\n1,2,3\n"), DataError,
        reads<DataError>("x.csv, row 4: has 3 cells where the header has 2; quote cells that "
                         "hold commas, and give every row all columns"));
    BOOST_CHECK_THROW(parse_csv("x.csv", "a,b\n\n1,2\n"), DataError);  // a blank line within
}

BOOST_AUTO_TEST_CASE(misplaced_quotes_name_line_and_column) {
    BOOST_CHECK_EXCEPTION(parse_csv("x.csv", "a,b\n1,\"open\n2,3\n"), DataError,
                          reads<DataError>("x.csv, row 2, column \"b\": a quote is opened and never closed"));
    BOOST_CHECK_EXCEPTION(parse_csv("x.csv", "a,b\n1,\"x\"y\n"), DataError,
                          reads<DataError>("x.csv, row 2, column \"b\": text follows a closing quote; double "
                                           "every quote inside a quoted cell"));
    BOOST_CHECK_EXCEPTION(parse_csv("x.csv", "a,b\n5\" tube,1\n"), DataError, [](const DataError& error) {
        return error.place().row == 2 && error.place().column == "a";
    });
}

BOOST_AUTO_TEST_CASE(headers_are_named_once) {
    BOOST_CHECK_EXCEPTION(parse_csv("x.csv", "a,b, a\n1,2,3\n"), DataError,
                          reads<DataError>("x.csv, row 1, column \"a\": the header names this column twice; "
                                           "rename or remove one"));
    BOOST_CHECK_EXCEPTION(
        parse_csv("x.csv", ",b\n0,1\n"), DataError,
        reads<DataError>("x.csv, row 1: column 1 has no name; name it in the header or remove it"));
}

BOOST_AUTO_TEST_CASE(what_is_not_text_is_refused) {
    const std::string nul("a,b\n1,\0\n", 8);
    BOOST_CHECK_EXCEPTION(parse_csv("x.csv", nul), DataError, [](const DataError& error) {
        return error.fault() == "holds a NUL byte" && error.place().row == 2;
    });
    for (const char* bad : {"a\n\xff\n", "a\n\xc0\xaf\n", "a\n\xed\xa0\x80\n", "a\n\xf4\x90\x80\x80\n",
                            "a\n\xe2\x82", "a\n\x80\n"}) {
        BOOST_CHECK_EXCEPTION(parse_csv("x.csv", bad), DataError, [](const DataError& error) {
            return error.fault() == "is not valid UTF-8" && error.place().row == 2;
        });
    }
    const Csv csv = parse_csv("x.csv", "a\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n");
    BOOST_CHECK_EQUAL(csv.records.at(0).at(0), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

BOOST_AUTO_TEST_CASE(a_lone_carriage_return_is_refused) {
    BOOST_CHECK_EXCEPTION(parse_csv("x.csv", "a,b\r1,2\r"), DataError, [](const DataError& error) {
        return error.fault() == "a carriage return stands alone";
    });
    BOOST_CHECK_EQUAL(parse_csv("x.csv", "a,b\r\r\n1,2\r").records.at(0).at(1), "2");
}

BOOST_AUTO_TEST_CASE(an_empty_file_has_no_header) {
    for (const char* empty : {"", "\xEF\xBB\xBF", "\n \r\n"}) {
        BOOST_CHECK_EXCEPTION(parse_csv("x.csv", empty), DataError,
                              reads<DataError>("x.csv: is empty; the first line must name the columns"));
    }
}

BOOST_AUTO_TEST_SUITE_END()
