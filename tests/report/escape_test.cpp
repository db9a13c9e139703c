#include "candor/report/escape.hpp"

#include <boost/test/unit_test.hpp>

using namespace candor::report;

BOOST_AUTO_TEST_SUITE(report_escape)

// The names of faults.md 28 in each format; the csv keeps them raw.
BOOST_AUTO_TEST_CASE(the_reported_names) {
    BOOST_TEST(tex_text("Lung_Opacity") == "Lung\\_Opacity");
    BOOST_TEST(tex_text("R&D 50%") == "R\\&D 50\\%");
    BOOST_TEST(tex_text("a|b") == "a\\textbar{}b");
    BOOST_TEST(tex_text("x<y") == "x\\textless{}y");
    BOOST_TEST(tex_text("#1 {A}") == "\\#1 \\{A\\}");

    BOOST_TEST(markdown_text("Lung_Opacity") == "Lung_Opacity");
    BOOST_TEST(markdown_text("R&D 50%") == "R&D 50%");
    BOOST_TEST(markdown_text("a|b") == "a\\|b");
    BOOST_TEST(markdown_text("x<y") == "x\\<y");
    BOOST_TEST(markdown_text("#1 {A}") == "#1 {A}");

    for (const char* name : {"Lung_Opacity", "R&D 50%", "a|b", "x<y", "#1 {A}"}) {
        BOOST_TEST(csv_field(name) == name);
        BOOST_TEST(plain_text(name) == name);
        BOOST_TEST(json_string(name) == '"' + std::string(name) + '"');
    }
}

BOOST_AUTO_TEST_CASE(tex_leaves_no_special_character_alone) {
    BOOST_TEST(tex_text("~^\\") == "\\textasciitilde{}\\textasciicircum{}\\textbackslash{}");
    BOOST_TEST(tex_text("$`>") == "\\$\\textasciigrave{}\\textgreater{}");
    // After \\ these two would be the options of the line end.
    BOOST_TEST(tex_text("[2] *") == "{[}2] {*}");
    BOOST_TEST(tex_text("a--b---c") == "a-{}-b-{}-{}-c");
    BOOST_TEST(tex_text("\xC3\xA9") == "\xC3\xA9");
}

BOOST_AUTO_TEST_CASE(markdown_has_no_markup_left) {
    BOOST_TEST(markdown_text("_a_ *b* `c` [d](e) ~f~ $g$") ==
               "\\_a\\_ \\*b\\* \\`c\\` \\[d\\](e) \\~f\\~ \\$g\\$");
    BOOST_TEST(markdown_text("a\\|b") == "a\\\\\\|b");
    BOOST_TEST(markdown_text("&lt;") == "\\&lt;");
    BOOST_TEST(markdown_text("two\nlines") == "two lines");
}

BOOST_AUTO_TEST_CASE(csv_quotes_what_must_be) {
    BOOST_TEST(csv_field("a,b") == "\"a,b\"");
    BOOST_TEST(csv_field("a\"b") == "\"a\"\"b\"");
    BOOST_TEST(csv_field("a\nb") == "\"a\nb\"");
    BOOST_TEST(csv_field(" a") == "\" a\"");
    BOOST_TEST(csv_field("a ") == "\"a \"");
    BOOST_TEST(csv_field("") == "");
    BOOST_TEST(csv_field("007") == "007");
}

BOOST_AUTO_TEST_CASE(json_escapes_and_keeps_utf8) {
    BOOST_TEST(json_string("a\"b\\c\n\r\t\x01\x7F") == R"("a\"b\\c\n\r\t\u0001\u007f")");
    BOOST_TEST(json_string("\xC3\xA9\xF0\x9F\xAB\x81") == "\"\xC3\xA9\xF0\x9F\xAB\x81\"");
}

// Cut short, overlong, a surrogate and beyond U+10FFFF: each offending byte becomes U+FFFD.
BOOST_AUTO_TEST_CASE(bytes_that_are_no_utf8) {
    const std::string bad = "\xEF\xBF\xBD";
    BOOST_TEST(json_string("a\xC3") == "\"a" + bad + '"');
    BOOST_TEST(json_string("\xC0\xAF") == '"' + bad + bad + '"');
    BOOST_TEST(json_string("\xE0\x9F\xBF") == '"' + bad + bad + bad + '"');
    BOOST_TEST(json_string("\xF0\x8F\xBF\xBF") == '"' + bad + bad + bad + bad + '"');
    BOOST_TEST(json_string("\xED\xA0\x80") == '"' + bad + bad + bad + '"');
    BOOST_TEST(plain_text("\xF4\x90\x80\x80") == bad + bad + bad + bad);
    BOOST_TEST(plain_text("\xE2\x82\xACx\xFF") == "\xE2\x82\xACx" + bad);
}

// A name must not drive the terminal: ESC and the one-byte CSI of C1 become blanks.
BOOST_AUTO_TEST_CASE(terminals_are_safe) {
    BOOST_TEST(plain_text("a\x1B[31mb") == "a [31mb");
    BOOST_TEST(plain_text("a\xC2\x9B"
                          "31mb") == "a 31mb");
    BOOST_TEST(plain_text("\xC2\xA0") == "\xC2\xA0");
}

BOOST_AUTO_TEST_CASE(width_is_code_points) {
    BOOST_TEST(display_width("") == 0);
    BOOST_TEST(display_width("na\xC3\xAFve") == 5);
    BOOST_TEST(padded("\xC3\xA9", 3, false) == "\xC3\xA9  ");
    BOOST_TEST(padded("\xC3\xA9", 3, true) == "  \xC3\xA9");
    BOOST_TEST(padded("long", 2, true) == "long");
}

BOOST_AUTO_TEST_CASE(html_text_leaves_no_markup) {
    BOOST_TEST(html_text("<a href=\"x\">R&D 'y'</a>\n") ==
               "&lt;a href=&quot;x&quot;&gt;R&amp;D &#39;y&#39;&lt;/a&gt; ");
    BOOST_TEST(html_text("\xEF\xBF\xBE|\xEF\xBF\xBD|\xC3\xA4") == "\xEF\xBF\xBD|\xEF\xBF\xBD|\xC3\xA4");
}

BOOST_AUTO_TEST_CASE(gnuplot_strings_are_single_quoted) {
    BOOST_TEST(gnuplot_string("it's `ls` \\ 5%\n") == "'it''s `ls` \\ 5% '");
    BOOST_TEST(gnuplot_tic("50% of 'x'") == "'50%% of ''x'''");
}

BOOST_AUTO_TEST_CASE(file_parts_are_safe) {
    BOOST_TEST(file_part("chest-all.2") == "chest-all.2");
    BOOST_TEST(file_part("../-x y<>") == "_._-x_y__");
    BOOST_TEST(file_part("-rf") == "_rf");
    BOOST_TEST(file_part("") == "_");
    BOOST_TEST(file_part(std::string(100, 'a')).size() == 60U);
}

BOOST_AUTO_TEST_CASE(shortened_counts_code_points) {
    BOOST_TEST(shortened("abc", 3) == "abc");
    BOOST_TEST(shortened("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F", 3) == "\xC3\xA4\xC3\xB6\xE2\x80\xA6");
}

BOOST_AUTO_TEST_SUITE_END()
