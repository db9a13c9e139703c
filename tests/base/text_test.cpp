#include "candor/base/text.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <locale>
#include <string>
#include <vector>

#include "candor/base/random.hpp"

using namespace candor;

namespace {

using Names = std::vector<std::string>;

/// A decimal comma and grouped thousands, as de_DE has them, for machines on which that locale is not
/// installed.
class German : public std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

/// Sets the locale of C++ and, where it is there, of C.
class GermanLocale {
  public:
    GermanLocale()
        : before_(std::locale::global(std::locale(std::locale(), new German))),
          c_before_(std::setlocale(LC_ALL, nullptr)) {
        std::setlocale(LC_ALL, "de_DE.UTF-8");
    }
    ~GermanLocale() {
        std::locale::global(before_);
        std::setlocale(LC_ALL, c_before_.c_str());
    }
    GermanLocale(const GermanLocale&) = delete;
    GermanLocale& operator=(const GermanLocale&) = delete;

  private:
    std::locale before_;
    std::string c_before_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(base_text)

BOOST_AUTO_TEST_CASE(trim_takes_blanks_from_both_ends_alone) {
    BOOST_TEST(trim(" \t a b \r\n") == "a b");
    BOOST_TEST(trim("1\r") == "1");
    BOOST_TEST(trim("") == "");
    BOOST_TEST(trim(" \t") == "");
    BOOST_TEST(trim("\u00a0x") == "\u00a0x");  // a no-break space is no blank of ours
}

BOOST_AUTO_TEST_CASE(a_number_is_the_whole_text_or_nothing) {
    BOOST_TEST(parse_real("0.5").value() == 0.5);
    BOOST_TEST(parse_real("+0.5").value() == 0.5);
    BOOST_TEST(parse_real("-1e-3").value() == -0.001);
    BOOST_TEST(parse_real("7").value() == 7);
    BOOST_TEST(std::isnan(parse_real("nan").value()));
    for (const char* text : {"", " ", "0,5", "1.000,5", "1x", "x1", " 1", "1 ", "0x10", "+", "-", "+-1",
                             "++1", "--1", "1e", "1e999", "1;2", "1_000"}) {
        BOOST_TEST(!parse_real(text).has_value(), '"' << text << '"');
    }
    BOOST_TEST(parse_integer("0042").value() == 42);
    BOOST_TEST(parse_integer("-7").value() == -7);
    BOOST_TEST(parse_integer("9223372036854775807").value() == std::numeric_limits<std::int64_t>::max());
    for (const char* text : {"", "9223372036854775808", "1.0", "1e3", "+1", " 1", "1 ", "-"}) {
        BOOST_TEST(!parse_integer(text).has_value(), '"' << text << '"');
    }
}

BOOST_AUTO_TEST_CASE(numbers_do_not_depend_on_the_locale) {
    const GermanLocale german;
    BOOST_TEST(parse_real("0.5").value() == 0.5);
    BOOST_TEST(!parse_real("0,5").has_value());
    BOOST_TEST(!parse_integer("1.000").has_value());
    BOOST_TEST(format_real(1234567.25) == "1234567.25");
    BOOST_TEST(format_fixed(1234567.25, 1) == "1234567.2");
}

BOOST_AUTO_TEST_CASE(a_formatted_double_reads_back_as_the_same_bits) {
    const Stream stream(1, "text", 0);
    for (std::uint64_t i = 0; i < 2000; ++i) {
        const double value =
            std::ldexp(stream.uniform(2 * i) - 0.5, static_cast<int>(stream.below(2 * i + 1, 2000)) - 1000);
        BOOST_TEST(parse_real(format_real(value)).value() == value);
    }
    for (const double value : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308}) {
        BOOST_TEST(parse_real(format_real(value)).value() == value);
    }
    BOOST_TEST(format_real(0.1) == "0.1");
    BOOST_TEST(format_real(-std::numeric_limits<double>::quiet_NaN()) == "nan");
    BOOST_TEST(format_real(-std::numeric_limits<double>::infinity()) == "-inf");
}

BOOST_AUTO_TEST_CASE(a_fixed_number_has_its_digits_and_never_a_negative_nothing) {
    BOOST_TEST(format_fixed(49.5, 1) == "49.5");
    BOOST_TEST(format_fixed(49.96, 1) == "50.0");
    BOOST_TEST(format_fixed(-49.96, 1) == "-50.0");
    BOOST_TEST(format_fixed(-0.04, 1) == "0.0");
    BOOST_TEST(format_fixed(-0.0, 1) == "0.0");
    BOOST_TEST(format_fixed(-0.4, 0) == "0");
    BOOST_TEST(format_fixed(-0.06, 1) == "-0.1");
    BOOST_TEST(format_fixed(std::numeric_limits<double>::quiet_NaN(), 1) == "nan");
    BOOST_TEST(format_fixed(-std::numeric_limits<double>::infinity(), 1) == "-inf");
    // The widest there is: 309 digits before the point.
    BOOST_TEST(format_fixed(-1.7976931348623157e308, 6).size() == 1 + 309 + 1 + 6);
}

BOOST_AUTO_TEST_CASE(the_nearest_name_is_near_or_none) {
    const Names known{"resamples", "confidence", "bank_cap", "k"};
    BOOST_TEST(nearest_name("resample", known) == "resamples");
    BOOST_TEST(nearest_name("bankcap", known) == "bank_cap");
    BOOST_TEST(nearest_name("Bank_Cap", known) == "bank_cap");  // two of eight letters
    BOOST_TEST(nearest_name("confidnece", known) == "confidence");
    BOOST_TEST(nearest_name("permutations", known) == "");
    BOOST_TEST(nearest_name("resamples", known) == "resamples");
    BOOST_TEST(nearest_name("", known) == "k");  // one letter is always near
    BOOST_TEST(nearest_name("x", Names{}) == "");
    // Equally near: the first known one.
    BOOST_TEST(nearest_name("rows", Names{"cows", "row"}) == "cows");
}

BOOST_AUTO_TEST_CASE(lists_are_joined_named_and_split) {
    BOOST_TEST(join_text(Names{"a", "b", "c"}, ", ") == "a, b, c");
    BOOST_TEST(join_text(Names{}, ", ") == "");
    BOOST_TEST(first_names(Names{"a", "b"}) == "\"a\", \"b\"");
    BOOST_TEST(first_names(Names{"a", "b", "c", "d"}, 2) == "\"a\", \"b\" and 2 more");
    BOOST_TEST(first_names(Names{}) == "");
    BOOST_TEST(split_text(" a, b ,,c", ',') == (Names{"a", "b", "", "c"}), boost::test_tools::per_element());
    BOOST_TEST(split_text("", ',') == Names{""}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
