#include "candor/report/exhibit.hpp"

#include <boost/test/unit_test.hpp>

#include "candor/report/page.hpp"

namespace candor::report {

namespace {

Exhibit made() {
    Exhibit exhibit{"t", "Title_1.", "Caption & more."};
    exhibit.columns = {{"Name", "name"},
                       {"n+", "n", ValueKind::count},
                       {"D", "d", ValueKind::share, true},
                       {"Size", "size", ValueKind::magnitude}};
    exhibit.rows = {
        {ExhibitCell::of_text("a|b"), ExhibitCell::of_count(3), ExhibitCell::of(0.2, 0.1, 0.25),
         ExhibitCell::of(86e6)},
        {ExhibitCell::of_text("R&D"), ExhibitCell::of_count(ExhibitCell::absent), ExhibitCell::of(NAN),
         ExhibitCell::of(NAN)},
        {ExhibitCell::of_text("c"), ExhibitCell::of_count(0), ExhibitCell::of(-1e-9, -0.01, 0.5),
         ExhibitCell::of(1.1e9)},
        {ExhibitCell::of_text("d"), ExhibitCell::of_count(1), ExhibitCell::of(0.5), ExhibitCell::of(999.7)}};
    return exhibit;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(exhibit)

BOOST_AUTO_TEST_CASE(csv_is_for_programs) {
    BOOST_TEST(
        exhibit_csv(made()) ==
        "name,n,d,d_low,d_high,size\na|b,3,0.2,0.1,0.25,8.6e+07\nR&D,,,,,\nc,0,-1e-09,-0.01,0.5,1.1e+09\n"
        "d,1,0.5,,,999.7\n");
}

BOOST_AUTO_TEST_CASE(a_bound_stands_beside_the_interval_for_programs_and_in_its_place_for_people) {
    Exhibit exhibit = made();
    exhibit.columns[2].bounded = true;
    ExhibitCell& cell = exhibit.rows[0][2];
    cell = ExhibitCell::of(0, 0, 0);
    cell.bound_low = 0;
    cell.bound_high = 0.037;
    BOOST_TEST(
        exhibit_csv(exhibit) ==
        "name,n,d,d_low,d_high,d_bound_low,d_bound_high,size\na|b,3,0,0,0,0,0.037,8.6e+07\nR&D,,,,,,,\n"
        "c,0,-1e-09,-0.01,0.5,,,1.1e+09\nd,1,0.5,,,,,999.7\n");
    BOOST_TEST(value_text(exhibit.columns[2], cell) == "0.0 [0.0, 3.7]");
    BOOST_TEST(exhibit_markdown(exhibit).find("| a\\|b | 3 | 0.0 [0.0, 3.7] | 86M |") != std::string::npos);
    BOOST_TEST(value_text(exhibit.columns[2], exhibit.rows[2][2]) == "0.0 [-1.0, 50.0]");
}

BOOST_AUTO_TEST_CASE(best_and_second_best_are_marked_in_each_format) {
    Exhibit exhibit = made();
    mark_best(exhibit, 2, Better::lower);
    const std::string markdown = exhibit_markdown(exhibit), latex = exhibit_latex(exhibit),
                      html = exhibit_html(exhibit);
    BOOST_TEST(markdown.find("| c | 0 | **0.0** [-1.0, 50.0] | 1.1B |") != std::string::npos, markdown);
    BOOST_TEST(markdown.find("| a\\|b | 3 | *20.0* [10.0, 25.0] | 86M |") != std::string::npos, markdown);
    BOOST_TEST(markdown.find("| R&D | - | - | - |") != std::string::npos, markdown);
    BOOST_TEST(
        latex.find("c & 0 & \\textbf{0.0} {\\scriptsize [$-$1.0, 50.0]} & 1.1B \\\\") != std::string::npos,
        latex);
    BOOST_TEST(latex.find("R\\&D & -- & -- & -- \\\\") != std::string::npos, latex);
    BOOST_TEST(latex.find("d & 1 & 50.0 & 1k \\\\") != std::string::npos, latex);
    BOOST_TEST(html.find("<strong>0.0<span class=\"said\"> best</span></strong>") != std::string::npos, html);
    BOOST_TEST(html.find("<u>20.0<span") != std::string::npos, html);
    BOOST_TEST(html.find("data-v=\"\">-</td>") != std::string::npos, html);
}

BOOST_AUTO_TEST_CASE(equal_values_share_the_mark_and_leave_no_second) {
    Exhibit exhibit = made();
    exhibit.rows[0][2].value = exhibit.rows[3][2].value = 0.7;
    mark_best(exhibit, 2, Better::higher);
    BOOST_TEST((exhibit.rows[0][2].mark == Mark::best && exhibit.rows[3][2].mark == Mark::best));
    BOOST_TEST((exhibit.rows[2][2].mark == Mark::none));
    exhibit = made();
    exhibit.rows[0][2].value = NAN;  // two defined values: nothing to mark
    mark_best(exhibit, 2, Better::lower);
    BOOST_TEST((exhibit.rows[2][2].mark == Mark::none));
}

BOOST_AUTO_TEST_CASE(latex_numbers_tables_itself_and_breaks_long_texts) {
    Exhibit exhibit = made();
    exhibit.title = "Table 1b. The panel.";
    exhibit.rows[0][0].text = std::string(41, 'a');
    const std::string latex = exhibit_latex(exhibit);
    BOOST_TEST(latex.find("\\caption{The panel. Caption") != std::string::npos, latex);
    BOOST_TEST(latex.find("\\begin{tabular}{p{3.2cm}rrr}") != std::string::npos, latex);
    BOOST_TEST(exhibit_markdown(exhibit).starts_with("**Table 1b. The panel.**"));
}

BOOST_AUTO_TEST_CASE(intervals_of_a_wide_table_stand_below_their_values) {
    Exhibit exhibit = made();
    while (exhibit.columns.size() < 9) {
        exhibit.columns.push_back(exhibit.columns[2]);
        for (auto& row : exhibit.rows) row.push_back(row[2]);
    }
    const std::string latex = exhibit_latex(exhibit);
    BOOST_TEST(latex.find("\\begin{tabular}[t]{@{}r@{}}20.0\\\\[-.5ex]{\\tiny [10.0, 25.0]}\\end{tabular}") !=
                   std::string::npos,
               latex);
}

BOOST_AUTO_TEST_CASE(a_long_table_breaks_over_pages) {
    Exhibit exhibit = made();
    while (exhibit.rows.size() < 60) exhibit.rows.push_back(exhibit.rows[0]);
    const std::string latex = exhibit_latex(exhibit);
    BOOST_TEST(latex.starts_with("% needs \\usepackage{booktabs} and \\usepackage{longtable}\n"));
    BOOST_TEST(latex.find("\\endhead") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_inlined_svg_keeps_its_ids_to_itself) {
    BOOST_TEST(
        inline_svg(
            "<?xml?><!DOCTYPE svg><svg id=\"a\"><use xlink:href='#b'/><g style='fill:url(#c)'><text> id='d' "
            "href='#e'</text></g></svg>\n",
            "f") ==
        "<svg id=\"f-a\"><use xlink:href='#f-b'/><g style='fill:url(#f-c)'><text> id='d' "
        "href='#e'</text></g></svg>\n");
    BOOST_TEST(inline_svg("no picture", "f").empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace candor::report
