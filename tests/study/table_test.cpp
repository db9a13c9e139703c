#include "candor/study/table.hpp"

#include "study/sample.hpp"

BOOST_AUTO_TEST_SUITE(study_table)

using namespace candor;
using namespace candor::study;

namespace {

Dataset site() {
    Dataset dataset;
    dataset.id = "site";
    dataset.table = "site.csv";
    return dataset;
}

Table parse(const std::string& bytes, const std::vector<std::string>& contexts = {"dataset"}) {
    return parse_table(site(), bytes, {"Edema"}, contexts);
}

}  // namespace

// faults.md case 6, the clean file and the one with invisible bytes.
BOOST_AUTO_TEST_CASE(invisible_bytes_change_nothing) {
    const Table clean =
        parse("image_id,patient_id,split,site,view,Edema\ni1,p1,test,A,PA,1\n", {"site", "view"});
    const Table other =
        parse("\xEF\xBB\xBF\"image_id\",patient_id ,split,site,view,Edema\r\ni1,p1,test,A,PA,1\r\n",
              {"site", "view"});
    BOOST_CHECK(clean.image == other.image);
    BOOST_CHECK(clean.patient == other.patient);
    BOOST_CHECK(clean.split == other.split);
    BOOST_CHECK(clean.contexts == other.contexts);
    BOOST_CHECK(clean.labels == other.labels);
    BOOST_CHECK(clean.labels.at("Edema").at(0) == Label::positive);
}

// "Split" would else pass for a table without splits, and every row would take part.
BOOST_AUTO_TEST_CASE(another_spelling_of_an_optional_column_is_refused) {
    BOOST_CHECK_EXCEPTION(
        parse("image_id,patient_id,Split,Edema\ni1,p1,test,1\n"), DataError,
        reads<DataError>(
            "site.csv, row 1, column \"split\": there is no such column; the header names \"image_id\", "
            "\"patient_id\", \"Split\", \"Edema\"; did you mean \"Split\"?"));
    BOOST_CHECK_THROW(parse("image_id,Patient ID,Edema\ni1,p1,1\n"), DataError);
    Dataset named = site();
    named.columns.patient = "mrn";
    BOOST_CHECK_THROW(parse_table(named, "image_id,Edema\ni1,1\n", {"Edema"}, {}), DataError);
    named.columns = {"image_id", "Patient ID", "Split"};
    const Table table = parse_table(named, "image_id,Patient ID,Split,Edema\ni1,p1,test,1\n", {"Edema"}, {});
    BOOST_CHECK(table.has_patient_column);
    BOOST_CHECK_EQUAL(table.split.at(0), "test");
}

BOOST_AUTO_TEST_CASE(patient_and_split_may_be_absent) {
    const Table table = parse("image_id,Edema\ni1,1\ni2,0\n");
    BOOST_CHECK(!table.has_patient_column);
    BOOST_CHECK(table.patient == std::vector<std::string>(2));
    BOOST_CHECK(table.split.empty());
    BOOST_CHECK_EQUAL(table.rows(), 2);
}

// faults.md case 7.
BOOST_AUTO_TEST_CASE(ids_stay_text) {
    const Table table = parse("image_id,patient_id,Edema\n001017,7,1\n1017,007,1\n1e3,0007,0\nNA, 7 ,0\n");
    BOOST_TEST(table.image == (std::vector<std::string>{"001017", "1017", "1e3", "NA"}),
               boost::test_tools::per_element());
    BOOST_TEST(table.patient == (std::vector<std::string>{"7", "007", "0007", "7"}),
               boost::test_tools::per_element());
}

// faults.md case 9: what a table states, before any policy.
BOOST_AUTO_TEST_CASE(labels_are_one_of_four) {
    const Table table = parse("image_id,Edema\na,1\nb,0\nc,-1\nd,\ne, 1.0\nf,0.0\ng,-1.0\nh,\"\"\n");
    const std::vector<Label> expected{Label::positive, Label::negative, Label::uncertain, Label::blank,
                                      Label::positive, Label::negative, Label::uncertain, Label::blank};
    BOOST_CHECK(table.labels.at("Edema") == expected);
    for (const char* bad : {"2", "\"0,5\"", "yes", "nan", "+1", "1.00", "1e0", "- 1", "true"}) {
        BOOST_CHECK_EXCEPTION(parse("image_id,Edema\na,1\nb," + std::string(bad) + "\n"), DataError,
                              [](const DataError& error) {
                                  return error.place().file == "site.csv" && error.place().row == 3 &&
                                         error.place().column == "Edema" && error.code() == ExitCode::data;
                              });
    }
    BOOST_CHECK_EXCEPTION(
        parse("image_id,Edema\na,yes\n"), DataError,
        reads<DataError>("site.csv, row 2, column \"Edema\": the label \"yes\" is none of 1, 0, -1 "
                         "and blank; write 1 for positive, 0 for negative, -1 for uncertain, "
                         "nothing for not mentioned"));
}

BOOST_AUTO_TEST_CASE(a_missing_column_is_named_with_those_seen) {
    BOOST_CHECK_EXCEPTION(
        parse("image_id,edema\na,1\n"), DataError,
        reads<DataError>("site.csv, row 1, column \"Edema\": there is no such column; the header "
                         "names \"image_id\", \"edema\"; did you mean \"edema\"?"));
    BOOST_CHECK_THROW(parse("image,Edema\na,1\n"), DataError);
    BOOST_CHECK_THROW(parse("image_id,Edema\na,1\n", {"view"}), DataError);
}

BOOST_AUTO_TEST_CASE(image_ids_are_unique_and_present) {
    BOOST_CHECK_EXCEPTION(
        parse("image_id,Edema\na,1\nb,1\n a ,0\n"), DataError,
        reads<DataError>("site.csv, row 4, column \"image_id\", id \"a\": the image id is in row 2 "
                         "already; image ids must be unique in a table"));
    BOOST_CHECK_EXCEPTION(parse("image_id,Edema\na,1\n ,1\n"), DataError, [](const DataError& error) {
        return error.fault() == "the image id is blank" && error.place().row == 3;
    });
}

BOOST_AUTO_TEST_CASE(a_table_needs_rows) {
    BOOST_CHECK_EXCEPTION(parse("image_id,Edema\n"), DataError,
                          reads<DataError>("site.csv: holds a header and no rows; give it one row an image"));
}

BOOST_AUTO_TEST_SUITE_END()
