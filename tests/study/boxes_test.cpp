#include "candor/study/boxes.hpp"

#include <algorithm>

#include "study/sample.hpp"

BOOST_AUTO_TEST_SUITE(study_boxes)

using namespace candor;
using namespace candor::study;

namespace {

const std::string header = "image_id,finding,x,y,width,height,image_width,image_height\n";

Boxes parse(const std::string& rows) {
    return parse_boxes("boxes.csv", header + rows);
}

/// The share of image "a" that "edema" covers.
double area_of(const std::string& rows) {
    return parse(rows).area.at({"a", "edema"});
}

/// A row of image "a", finding "edema", with these numbers.
std::string box(const std::string& numbers) {
    return "a,edema," + numbers + ",100,100\n";
}

void refuses(const std::string& rows, const std::string& line) {
    BOOST_CHECK_EXCEPTION(parse(rows), DataError, reads<DataError>("boxes.csv, " + line));
}

}  // namespace

// faults.md case 11, corners as corner and extent. Whole numbers: every share is one division, and exact as
// written.
BOOST_AUTO_TEST_CASE(a_box_is_a_share_of_its_image) {
    BOOST_CHECK_EQUAL(area_of(box("10,20,20,20")), 0.04);
    BOOST_CHECK_EQUAL(area_of(box("-5,0,10,10")), 0.005);  // 50 of its pixels are inside
    BOOST_CHECK_EQUAL(area_of(box("95,90,10,20")), 0.005);
    BOOST_CHECK_EQUAL(area_of(box("-1,-1,1e6,1e6")), 1);
    BOOST_CHECK_EQUAL(area_of(box("0.5,0.25,0.5,4")), 0.0002);
    BOOST_CHECK_EQUAL(parse("a,edema,1,1,30,20,60,40\n").area.at({"a", "edema"}), 0.25);
}

// 30 x 30 twice with 20 x 20 in common, one inside, one that only touches, one repeated: 900 + 900 - 400 +
// 100, whatever their order.
BOOST_AUTO_TEST_CASE(boxes_of_one_region_are_their_union) {
    std::vector<std::string> rows{box("0,0,30,30"), box("10,10,30,30"), box("15,15,5,5"), box("40,40,10,10"),
                                  box("0,0,30,30")};
    std::ranges::sort(rows);
    do {
        std::string all;
        for (const std::string& row : rows) all += row;
        BOOST_REQUIRE_EQUAL(area_of(all), 0.15);
    } while (std::ranges::next_permutation(rows).found);
    // A hole in the middle stays a hole: a frame of four.
    BOOST_CHECK_EQUAL(area_of(box("0,0,30,10") + box("0,20,30,10") + box("0,0,10,30") + box("20,0,10,30")),
                      0.08);
}

BOOST_AUTO_TEST_CASE(regions_and_images_are_apart) {
    const Boxes boxes = parse(box("0,0,10,10") + "a,mass,0,0,20,10,100,100\n" + "b,edema,0,0,1,1,2,2\n");
    BOOST_CHECK_EQUAL(boxes.file, "boxes.csv");
    BOOST_REQUIRE_EQUAL(boxes.area.size(), 3);
    BOOST_CHECK_EQUAL(boxes.area.at({"a", "edema"}), 0.01);
    BOOST_CHECK_EQUAL(boxes.area.at({"a", "mass"}), 0.02);
    BOOST_CHECK_EQUAL(boxes.area.at({"b", "edema"}), 0.25);
}

BOOST_AUTO_TEST_CASE(a_blank_box_is_no_box) {
    const Boxes boxes = parse("a,mass,,,,,100,100\nb,edema,, , ,,,\n" + box("0,0,10,10"));
    BOOST_CHECK_EQUAL(boxes.without, 2);
    BOOST_CHECK_EQUAL(boxes.area.size(), 1);
    BOOST_CHECK_EQUAL(boxes.area.at({"a", "edema"}), 0.01);
    refuses(
        box("0,0,10,10") + "a,edema,,,,,100,100\n",
        "row 3, column \"x\", id \"a\": no box, where another row of the image and finding has one; leave "
        "one of the two out");
    refuses("a,edema,,0,10,10,100,100\n",
            "row 2, column \"x\", id \"a\": the number is blank; fill it in, or leave x, y, width and height "
            "all blank where there is no box");
    refuses(box("0,0,10,10") + "a,mass,,,,,100,90\n",
            "row 3, column \"image_height\", id \"a\": 90 pixels where row 2 has 100 for the same image; an "
            "image has one size");
}

// faults.md case 11: the product of two negatives is an area too.
BOOST_AUTO_TEST_CASE(a_box_without_area_is_refused) {
    const std::string remedy = "; x and y are the upper left corner, width and height are above 0";
    refuses(box("1,2,3,4") + box("30,40,-20,-20"),
            "row 3, column \"width\", id \"a\": the box's width is -20" + remedy);
    refuses(box("50,50,0,10"), "row 2, column \"width\", id \"a\": the box's width is 0" + remedy);
    refuses(box("50,50,10,-1"), "row 2, column \"height\", id \"a\": the box's height is -1" + remedy);
}

BOOST_AUTO_TEST_CASE(a_box_outside_is_refused) {
    const std::string rest =
        "id \"a\": the box covers nothing of the image; boxes are in pixels from the upper left corner of "
        "the image whose size stands beside them";
    refuses(box("100,0,10,10"), "row 2, column \"x\", " + rest);
    refuses(box("-10,0,10,10"), "row 2, column \"x\", " + rest);
    refuses(box("0,-30,10,10"), "row 2, column \"y\", " + rest);
}

BOOST_AUTO_TEST_CASE(numbers_are_finite_and_have_a_point) {
    for (const std::string bad : {"nan", "inf", "-inf"}) {
        refuses(box("0," + bad + ",1,1"),
                "row 2, column \"y\", id \"a\": the number is not finite; write pixels, or leave the box "
                "out");
    }
    refuses(box("\"0,5\",0,1,1"),
            "row 2, column \"x\", id \"a\": \"0,5\" is no number; write pixels with a decimal point");
    refuses(box("0,0,1px,1"),
            "row 2, column \"width\", id \"a\": \"1px\" is no number; write pixels with a decimal point");
}

BOOST_AUTO_TEST_CASE(an_image_has_one_size) {
    refuses("a,edema,0,0,1,1,100,80\na,mass,0,0,1,1,101,80\n",
            "row 3, column \"image_width\", id \"a\": 101 pixels where row 2 has 100 for the same image; an "
            "image has one size");
    for (const std::string bad : {"0", "-100", "0.5", "1e300"}) {
        BOOST_CHECK_EXCEPTION(parse("a,edema,0,0,1,1,100," + bad + "\n"), DataError,
                              [](const DataError& error) {
                                  return error.place().column == "image_height" && error.place().row == 2 &&
                                         error.place().id == "a" && error.code() == ExitCode::data;
                              });
    }
}

BOOST_AUTO_TEST_CASE(columns_are_found_by_name) {
    const Boxes boxes = parse_boxes("boxes.csv",
                                    "reader,height,width,y,x,finding,image_id,image_height,image_width\n"
                                    "me,10,20,0,0,edema,007,100,50\n");
    BOOST_CHECK_EQUAL(boxes.area.at({"007", "edema"}), 0.04);
    BOOST_CHECK_EXCEPTION(
        parse_boxes("boxes.csv", "image_id,finding,x,y,widh,height,image_width,image_height\n"), DataError,
        reads<DataError>("boxes.csv, row 1, column \"width\": there is no such column; the header names "
                         "\"image_id\", \"finding\", \"x\", \"y\", \"widh\", \"height\", \"image_width\", "
                         "\"image_height\"; did you mean \"widh\"?"));
    BOOST_CHECK_EXCEPTION(parse(""), DataError,
                          reads<DataError>("boxes.csv: holds a header and no rows; give it one row a box"));
    refuses(",edema,0,0,1,1,2,2\n",
            "row 2, column \"image_id\": the image id is blank; name the image and the finding of every box");
    refuses("a,,0,0,1,1,2,2\n",
            "row 2, column \"finding\", id \"a\": the finding is blank; name the image and the finding of "
            "every box");
}

BOOST_AUTO_TEST_SUITE_END()
