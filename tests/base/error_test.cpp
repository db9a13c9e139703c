#include "candor/base/error.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>

using namespace candor;

namespace {

std::string line_of(const Error& error) {
    return error.what();
}

bool is_one_line(const Error& error) {
    return std::string_view(error.what()).find_first_of("\r\n") == std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(base_error)

BOOST_AUTO_TEST_CASE(a_usage_error_says_what_must_hold_of_what) {
    const UsageError error("study.toml: operator.k", "must be at least 1");
    BOOST_TEST(line_of(error) == "study.toml: operator.k: must be at least 1");
    BOOST_TEST(error.subject() == "study.toml: operator.k");
    BOOST_TEST(error.rule() == "must be at least 1");
    BOOST_TEST(static_cast<int>(error.code()) == 2);
    BOOST_TEST(line_of(UsageError("", "no command")) == "no command");
}

BOOST_AUTO_TEST_CASE(a_data_error_names_the_place_the_fault_and_the_remedy) {
    const DataError error({"t.csv", 7, "Edema", "img 1"}, "\"x\" is no label", "use 1, 0, -1 or blank");
    BOOST_TEST(line_of(error) ==
               "t.csv, row 7, column \"Edema\", id \"img 1\": \"x\" is no label; use 1, 0, -1 or blank");
    BOOST_TEST(error.place().file == "t.csv");
    BOOST_TEST(error.place().row.value() == 7);
    BOOST_TEST(error.place().column == "Edema");
    BOOST_TEST(error.place().id == "img 1");
    BOOST_TEST(error.fault() == "\"x\" is no label");
    BOOST_TEST(error.remedy() == "use 1, 0, -1 or blank");
    BOOST_TEST(static_cast<int>(error.code()) == 3);
}

BOOST_AUTO_TEST_CASE(only_what_is_known_of_a_place_is_printed) {
    BOOST_TEST((Place{"t.csv"}.text()) == "t.csv");
    BOOST_TEST((Place{"t.npy", 0}.text()) == "t.npy, row 0");
    BOOST_TEST((Place{"t.csv", {}, "view"}.text()) == "t.csv, column \"view\"");
    BOOST_TEST((Place{"t.csv", {}, "", "p7"}.text()) == "t.csv, id \"p7\"");
    BOOST_TEST((Place{"", 3, "", "p7"}.text()) == "row 3, id \"p7\"");
    BOOST_TEST(line_of(DataError({}, "nothing there")) == "nothing there");
}

BOOST_AUTO_TEST_CASE(a_machine_error_carries_its_subject) {
    const MachineError error("out.h5", "disk full", "free some space");
    BOOST_TEST(line_of(error) == "out.h5: disk full; free some space");
    BOOST_TEST(error.subject() == "out.h5");
    BOOST_TEST(static_cast<int>(error.code()) == 4);
    BOOST_TEST(line_of(MachineError("MPI", "gone")) == "MPI: gone");
}

BOOST_AUTO_TEST_CASE(a_broken_contract_tells_expression_place_and_values) {
    const int rows = 3;
    BOOST_CHECK_NO_THROW(CANDOR_REQUIRE(rows == 3, "never built"));
    BOOST_CHECK_EXCEPTION(CANDOR_REQUIRE(rows < 2, "rows " + std::to_string(rows)), InternalError,
                          [](const InternalError& error) {
                              const std::string line = line_of(error);
                              BOOST_TEST(static_cast<int>(error.code()) == 70);
                              BOOST_TEST(line.find("rows < 2") != std::string::npos);
                              BOOST_TEST(line.find("error_test.cpp:") != std::string::npos);
                              BOOST_TEST(line.find("(rows 3)") != std::string::npos);
                              return true;
                          });
}

BOOST_AUTO_TEST_CASE(every_failure_is_one_line_whatever_an_input_holds) {
    BOOST_TEST(is_one_line(UsageError("a\nb", "c\r\nd")));
    BOOST_TEST(is_one_line(DataError({"f\n", 1, "co\rl", "i\nd"}, "fa\nult", "rem\nedy")));
    BOOST_TEST(is_one_line(MachineError("s\n", "f\n", "r\n")));
    BOOST_TEST(is_one_line(InternalError("x", "file", 1, "id\n7")));
    // The fields keep what was there.
    BOOST_TEST(DataError({"f", 1, "", "i\nd"}, "x").place().id == "i\nd");
}

BOOST_AUTO_TEST_CASE(exit_codes_never_change_meaning) {
    BOOST_TEST(static_cast<int>(ExitCode::done) == 0);
    BOOST_TEST(static_cast<int>(ExitCode::usage) == 2);
    BOOST_TEST(static_cast<int>(ExitCode::data) == 3);
    BOOST_TEST(static_cast<int>(ExitCode::machine) == 4);
    BOOST_TEST(static_cast<int>(ExitCode::internal) == 70);
    BOOST_TEST(static_cast<int>(ExitCode::interrupted) == 75);
}

BOOST_AUTO_TEST_SUITE_END()
