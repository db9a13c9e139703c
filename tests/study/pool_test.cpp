#include "candor/study/pool.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <tuple>

#include "candor/base/hash.hpp"
#include "study/sample.hpp"

BOOST_AUTO_TEST_SUITE(study_pool)

using namespace candor;
using namespace candor::study;
using Names = std::vector<std::string>;

namespace {

/// The count of an exclusion, 0 where it is not listed.
std::int64_t excluded(const Pool& pool, const std::string& what, const std::string& detail = "",
                      const std::string& dataset = "site") {
    std::int64_t rows = 0;
    for (const Exclusion& e : pool.exclusions) {
        if (e.dataset == dataset && e.what == what && e.detail == detail) rows += e.rows;
    }
    return rows;
}

Names sorted(Names names) {
    std::ranges::sort(names);
    return names;
}

/// Two datasets "a" and "b", `b` with the line `more`, in task "t" with finding "f".
Study two_datasets(const std::string& more = "", const std::string& datasets = "\"a\", \"b\"") {
    return parse_study("f.toml",
                       "[study]\nname = \"two\"\n[[encoder]]\nid = \"e\"\n"
                       "[[dataset]]\nid = \"a\"\ntable = \"a.csv\"\nfeatures = \"a.h5\"\n"
                       "[[dataset]]\nid = \"b\"\ntable = \"b.csv\"\nfeatures = \"b.h5\"\n" +
                           more + "\n[[task]]\nid = \"t\"\nfindings = [\"f\"]\ndatasets = [" + datasets +
                           "]\n");
}

std::vector<Table> two_tables(const Study& study, const std::string& a, const std::string& b) {
    return {parse_table(study.datasets[0], a, {"f"}, {}), parse_table(study.datasets[1], b, {"f"}, {})};
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_stand_in_key_order) {
    const Study study = sample();
    const Pool pool = sample_pool(study, "image_id,edema\nb,1\na,0\nd,1\nc,0\n");
    BOOST_CHECK(sorted(pool.image) == (Names{"a", "b", "c", "d"}));
    for (std::size_t i = 0; i < pool.image.size(); ++i) {
        BOOST_CHECK_EQUAL(pool.key[i], image_key(pool.image[i], 42));
        if (i) BOOST_CHECK_LT(pool.key[i - 1], pool.key[i]);
        const Names in_the_file{"b", "a", "d", "c"};
        BOOST_CHECK_EQUAL(pool.image[i], in_the_file[static_cast<std::size_t>(pool.table_row[i].value)]);
        BOOST_CHECK_EQUAL(pool.labels[0][i], pool.image[i] == "b" || pool.image[i] == "d" ? 1 : 0);
    }
    // Nothing is left out, and what the table does not say is counted.
    BOOST_CHECK_EQUAL(pool.exclusions.size(), 2);
    BOOST_CHECK_EQUAL(excluded(pool, "no split column, all rows taken"), 4);
    BOOST_CHECK_EQUAL(excluded(pool, "no patient id, each image its own patient"), 4);
}

// A pool of given rows is what a pool of their split would be.
BOOST_AUTO_TEST_CASE(given_rows_make_a_pool) {
    const Study study = two_datasets();
    const std::vector<Table> tables =
        two_tables(study, "image_id,patient_id,f\na,p,1\nb,p,0\nc,q,\n", "image_id,f\na,1\nz,0\n");
    const std::vector<std::pair<std::size_t, TableRow>> rows{
        {1, TableRow(1)}, {0, TableRow(2)}, {0, TableRow(0)}, {1, TableRow(0)}};
    const Pool pool = draft_pool_of(study, study.tasks[0], tables, rows);
    const Pool whole = draft_pool(study, study.tasks[0], tables);
    BOOST_CHECK_EQUAL(pool.rows(), 4);
    std::size_t at = 0;
    for (std::size_t i = 0; i < whole.image.size(); ++i) {
        if (whole.image[i] == "b") continue;
        BOOST_CHECK_EQUAL(pool.image[at], whole.image[i]);
        BOOST_CHECK_EQUAL(pool.key[at], whole.key[i]);
        BOOST_CHECK_EQUAL(pool.dataset[at], whole.dataset[i]);
        BOOST_CHECK_EQUAL(pool.labels[0][at], whole.labels[0][i]);
        BOOST_CHECK(pool.asks[at] && pool.answers[at]);
        ++at;
    }
    BOOST_CHECK(pool.contexts == (Names{"a", "b"}));
    BOOST_CHECK_EQUAL(pool.clusters, 4);
    BOOST_CHECK(pool.exclusions.empty());
}

// faults.md case 9: labels 1, 1, 0, -1, blank, blank under each policy.
BOOST_AUTO_TEST_CASE(label_policies_are_applied_and_counted) {
    const std::string table = "image_id,edema\na,1\nb,1\nc,0\nd,-1\ne,\nf,\n";
    const auto counts = [&](const std::string& policy) {
        const Pool pool = sample_pool(sample("", "", policy), table);
        const auto n = [&](int label) { return std::ranges::count(pool.labels[0], label); };
        return std::tuple(n(1), n(0), n(-1), pool);
    };
    {
        const auto [positive, negative, none, pool] = counts("");
        BOOST_CHECK(positive == 2 && negative == 1 && none == 3);
        BOOST_CHECK_EQUAL(excluded(pool, "uncertain label excluded", "edema"), 1);
        BOOST_CHECK_EQUAL(excluded(pool, "blank label excluded", "edema"), 2);
    }
    {
        const auto [positive, negative, none, pool] = counts("labels = { blank = \"negative\" }");
        BOOST_CHECK(positive == 2 && negative == 3 && none == 1);
        BOOST_CHECK_EQUAL(excluded(pool, "blank label counted negative", "edema"), 2);
    }
    {
        const auto [positive, negative, none, pool] = counts("labels = { uncertain = \"positive\" }");
        BOOST_CHECK(positive == 3 && negative == 1 && none == 2);
        BOOST_CHECK_EQUAL(excluded(pool, "uncertain label counted positive", "edema"), 1);
    }
    {
        const auto [positive, negative, none, pool] = counts("labels = { uncertain = \"negative\" }");
        BOOST_CHECK(positive == 2 && negative == 2 && none == 2);
        BOOST_CHECK_EQUAL(excluded(pool, "uncertain label counted negative", "edema"), 1);
        BOOST_CHECK_EQUAL(pool.exclusions.size(), 4);  // with what the table does not say
    }
}

// faults.md case 7: three patients, not one.
BOOST_AUTO_TEST_CASE(patients_are_text) {
    const Pool pool = sample_pool(
        sample(), "image_id,patient_id,edema\n1,7,1\n2,007,1\n3,0007,0\n4,7,0\n5,007,0\n6,0007,1\n");
    BOOST_CHECK(pool.patients == (Names{"0007", "007", "7"}));
    BOOST_CHECK(pool.repeats_patients);
    BOOST_CHECK_EQUAL(pool.own_patients, 0);
}

BOOST_AUTO_TEST_CASE(an_image_without_a_patient_is_its_own) {
    // Image "p1" has no patient; the patient "p1" of the others is somebody else.
    const Pool pool = sample_pool(sample(), "image_id,patient_id,edema\np1,,1\nx,p1,1\ny,p1,0\nz,,0\n");
    BOOST_CHECK(pool.patients == (Names{"p1", "p1", "z"}));
    BOOST_CHECK((pool.is_own_patient == std::vector<bool>{false, true, true}));
    BOOST_CHECK_EQUAL(pool.own_patients, 2);
    BOOST_CHECK(pool.repeats_patients);
    for (std::size_t i = 0; i < pool.image.size(); ++i) {
        const int expected = pool.image[i] == "p1" ? 1 : pool.image[i] == "z" ? 2 : 0;
        BOOST_CHECK_EQUAL(pool.patient[i], expected);
    }
    BOOST_CHECK(!sample_pool(sample(), "image_id,edema\na,1\nb,0\n").repeats_patients);
}

BOOST_AUTO_TEST_CASE(datasets_have_name_spaces_of_their_own) {
    const std::string a = "image_id,patient_id,f\ni,p,1\nj,p,0\n",
                      b = "image_id,patient_id,f\ni,p,1\nk,q,0\n";
    const Study study = two_datasets("", "\"b\", \"a\"");
    const Pool pool = draft_pool(study, study.tasks[0], two_tables(study, a, b));
    BOOST_CHECK(sorted(pool.image) == (Names{"i", "i", "j", "k"}));
    BOOST_CHECK(pool.patients == (Names{"p", "p", "q"}));
    BOOST_CHECK(pool.contexts == (Names{"a", "b"}));
    const auto first = std::ranges::find(pool.image, "i") - pool.image.begin();
    // One key, one id: the dataset's position in the study decides, not its position in the task.
    BOOST_CHECK_EQUAL(pool.image[static_cast<std::size_t>(first + 1)], "i");
    BOOST_CHECK_EQUAL(pool.dataset[static_cast<std::size_t>(first)], 0);
    BOOST_CHECK_EQUAL(pool.patient[static_cast<std::size_t>(first)], 0);
    BOOST_CHECK_EQUAL(pool.patient[static_cast<std::size_t>(first + 1)], 1);
}

BOOST_AUTO_TEST_CASE(a_reference_shares_patients_and_images) {
    const std::string a = "image_id,patient_id,f\ni,p,1\nj,p,0\n";
    // Both are asked for in the task of both datasets, so one image may not be in both.
    const Study both = two_datasets("reference = \"a\"");
    const Pool pool = draft_pool(both, both.tasks[0], two_tables(both, a, "image_id,patient_id,f\nk,p,1\n"));
    BOOST_CHECK(pool.patients == Names{"p"});
    BOOST_CHECK(pool.contexts == Names{"a"});  // the reference's value of the column `dataset`
    BOOST_CHECK_EXCEPTION(
        draft_pool(both, both.tasks[0], two_tables(both, a, "image_id,patient_id,f\nk,p,1\nj,q,1\n")),
        DataError,
        reads<DataError>(
            "b.csv, row 3, column \"image_id\", id \"j\": the image is in dataset \"a\" too, which shares "
            "its image ids by `reference`, and both are asked for; an image may be in one of the two, or "
            "the task may take one of the two"));
}

BOOST_AUTO_TEST_CASE(a_reference_outside_the_task_only_answers) {
    const Study study = two_datasets("reference = \"a\"", "\"b\"");
    BOOST_CHECK((pool_datasets(study, study.tasks[0]) == std::vector<std::size_t>{1, 0}));
    const std::string a = "image_id,patient_id,f\ni,p,1\nj,a,0\nm,,0\n",
                      b = "image_id,patient_id,f\nk,q,1\ni,p,1\nm,,0\n";
    for (const bool is_final : {false, true}) {
        Pool pool = draft_pool(study, study.tasks[0], two_tables(study, a, b));
        if (is_final) pool = final_pool(study, study.tasks[0], pool, {});
        BOOST_REQUIRE_EQUAL(pool.rows(), 6);
        for (std::size_t i = 0; i < 6; ++i) {
            BOOST_CHECK_EQUAL(pool.asks[i], pool.dataset[i] == 1);
            BOOST_CHECK_EQUAL(pool.answers[i], pool.dataset[i] == 0);
            // Twins stand side by side, the reference first by its position in the study.
            const bool twin = pool.dataset[i] == 1 && pool.image[i] != "k";
            BOOST_CHECK_EQUAL(pool.identity[i].value, static_cast<std::int64_t>(i) - (twin ? 1 : 0));
        }
        // Those who ask first; "a" would come first by bytes.
        BOOST_CHECK(pool.patients == (Names{"m", "p", "q", "a"}));
        BOOST_CHECK_EQUAL(pool.clusters, 3);
        BOOST_CHECK(!pool.repeats_patients);  // an image in both is one image
    }
    BOOST_CHECK_EXCEPTION(
        draft_pool(study, study.tasks[0], two_tables(study, a, "image_id,patient_id,f\ni,q,1\n")), DataError,
        reads<DataError>("b.csv, row 2, column \"patient_id\", id \"i\": the image is of patient \"q\" here "
                         "and of patient \"p\" in dataset \"a\"; a dataset and its `reference` share images "
                         "and patients; name the patient alike"));
}

BOOST_AUTO_TEST_CASE(patients_who_no_longer_ask_go_behind) {
    const Study study = two_datasets("reference = \"a\"", "\"b\"");
    const Pool draft = draft_pool(
        study, study.tasks[0],
        two_tables(study, "image_id,patient_id,f\ni,p,1\nj,r,0\n", "image_id,patient_id,f\nk,q,1\nl,p,1\n"));
    BOOST_CHECK(draft.patients == (Names{"p", "q", "r"}));
    FeatureFaults faults;
    for (const std::string& image : draft.image) faults.bad.push_back(image == "l");
    const Pool pool = final_pool(study, study.tasks[0], draft, faults);
    BOOST_CHECK(pool.patients == (Names{"q", "p", "r"}));
    BOOST_CHECK_EQUAL(pool.clusters, 1);
}

BOOST_AUTO_TEST_CASE(splits_and_the_cap) {
    std::string table = "image_id,split,edema\n";
    for (int i = 0; i < 60; ++i) {
        table += "i" + std::to_string(i) + (i % 3 == 0 ? ",test," : i % 3 == 1 ? ",train," : ",,") + "1\n";
    }
    const Pool all = sample_pool(sample(), table);
    BOOST_CHECK_EQUAL(all.rows(), 20);
    BOOST_CHECK_EQUAL(excluded(all, "other split"), 40);  // blank ones too
    const Pool capped = sample_pool(sample("", "", "rows = 7"), table);
    BOOST_CHECK(capped.image == Names(all.image.begin(), all.image.begin() + 7));
    BOOST_CHECK_EQUAL(excluded(capped, "row cap"), 13);
    BOOST_CHECK_EQUAL(sample_pool(sample("", "rows = 0"), table).rows(), 20);
    BOOST_CHECK_EQUAL(excluded(sample_pool(sample("", "rows = 20"), table), "row cap"), 0);
    BOOST_CHECK_EQUAL(sample_pool(sample("", "splits = [\"test\", \"train\"]"), table).rows(), 40);
    BOOST_CHECK_EXCEPTION(
        sample_pool(sample("", "", "splits = [\"valid\"]"), table), DataError,
        reads<DataError>("site.csv, column \"split\": no row is in a split of task \"chest\" (\"valid\"); "
                         "the splits are \"\", \"test\", \"train\"; set the task's splits, or "
                         "pool.splits"));
    BOOST_CHECK_EQUAL(sample_pool(sample("", "splits = [\"none\"]"), "image_id,edema\na,1\n").rows(), 1);
}

// faults.md case 10.
BOOST_AUTO_TEST_CASE(a_patient_in_two_splits) {
    const std::string table =
        "image_id,patient_id,split,edema\na,P7,train,1\nb,P7,test,1\nc,P8,test,0\nd,P9,train,0\n"
        "e,P9,,0\nf,,train,1\ng,,test,1\n";
    BOOST_CHECK_EXCEPTION(
        sample_pool(sample(), table), DataError,
        reads<DataError>("site.csv, column \"split\", id \"P7\": 1 patient is in more than one split: "
                         "\"P7\" (test, train); keep each patient in one split, or set pool.on_leak = "
                         "\"drop\""));
    const Study dropping = sample("", "on_leak = \"drop\"");
    const Pool pool = sample_pool(dropping, table);
    BOOST_CHECK(sorted(pool.image) == (Names{"b", "c", "g"}));  // the pool keeps its rows
    BOOST_CHECK_EQUAL(excluded(pool, "patient in two splits"), 1);
    BOOST_CHECK_EQUAL(excluded(pool, "other split"), 3);
    // Both of his splits are the task's own: nothing leaks.
    BOOST_CHECK_EQUAL(sample_pool(sample("", "splits = [\"train\", \"test\"]"), table).rows(), 6);
    // A leak between splits that the task does not ask for is still one.
    BOOST_CHECK_THROW(sample_pool(sample("", "splits = [\"test\"]"),
                                  "image_id,patient_id,split,edema\na,P,train,1\nb,P,val,1\nc,Q,test,1\n"),
                      DataError);

    const std::vector<Table> tables{sample_table(dropping, table)};
    const std::vector<Leak> leaks = find_leaks(dropping, tables, 0);
    BOOST_REQUIRE_EQUAL(leaks.size(), 1);
    BOOST_CHECK_EQUAL(leaks[0].dataset, "site");
    BOOST_CHECK_EQUAL(leaks[0].patient, "P7");
    BOOST_CHECK(leaks[0].splits == (Names{"test", "train"}));
    BOOST_CHECK_EQUAL(leaks[0].rows, 2);
}

BOOST_AUTO_TEST_CASE(leaks_across_a_reference) {
    const std::string a = "image_id,patient_id,split,f\ni,p,train,1\nj,q,test,0\n";
    const std::string b = "image_id,patient_id,split,f\nk,p,test,1\n";
    const Study apart = two_datasets();
    BOOST_CHECK(find_leaks(apart, two_tables(apart, a, b), 1).empty());
    const Study shared = two_datasets("reference = \"a\"", "\"b\"");
    BOOST_CHECK_EQUAL(find_leaks(shared, two_tables(shared, a, b), 1).at(0).patient, "p");
    BOOST_CHECK_THROW(draft_pool(shared, shared.tasks[0], two_tables(shared, a, b)), DataError);
}

BOOST_AUTO_TEST_CASE(contexts_join_their_columns) {
    const std::string table = "image_id,view,sex,edema\na,PA,f,1\nb,AP,m,0\nc,PA,,1\nd,PA,f,0\n";
    const Pool pool = sample_pool(sample("", "", "context = [\"dataset\", \"view\", \"sex\"]"), table);
    BOOST_CHECK(pool.contexts == (Names{"site / AP / m", "site / PA / f"}));
    BOOST_CHECK_EQUAL(pool.rows(), 3);
    BOOST_CHECK_EQUAL(excluded(pool, "blank context"), 1);
    for (std::size_t i = 0; i < pool.image.size(); ++i)
        BOOST_CHECK_EQUAL(pool.context[i], pool.image[i] == "b" ? 0 : 1);

    const Pool own =
        sample_pool(sample("", "blank_context = \"own\"", "context = [\"view\", \"sex\"]"), table);
    BOOST_CHECK(own.contexts == (Names{"AP / m", "PA / (blank)", "PA / f"}));
    BOOST_CHECK_EQUAL(own.rows(), 4);

    BOOST_CHECK_EXCEPTION(sample_pool(sample("", "", "context = [\"view\", \"sex\"]"),
                                      "image_id,view,sex,edema\na,x / y,z,1\nb,x,y / z,1\n"),
                          DataError, [](const DataError& error) {
                              return error.fault() ==
                                     "two contexts of task \"chest\" are named \"x / y / z\"";
                          });
    BOOST_CHECK_EXCEPTION(
        sample_pool(sample("", "", "context = [\"sex\"]"), "image_id,sex,edema\na,,1\nb,,0\n"), DataError,
        reads<DataError>("f.toml: task \"chest\" has no rows left: 2 of \"site\" by blank context; "
                         "complete the tables and features, or change the task's context"));
}

BOOST_AUTO_TEST_CASE(feature_faults_leave_the_pool_of_every_encoder) {
    const Study study = sample("", "", "context = [\"view\"]");
    const std::vector<Table> tables{sample_table(
        study,
        "image_id,patient_id,view,edema\na,p,PA,1\nb,q,AP,-1\nc,p,PA,0\nd,r,PA,0\ne,s,,0\nf,r,PA,-1\n")};
    const Pool draft = draft_pool(study, study.tasks[0], tables);
    BOOST_CHECK_EQUAL(draft.rows(), 6);
    FeatureFaults faults{std::vector<bool>(6), std::vector<bool>(6)};
    const auto at = [&](const std::string& id) {
        return static_cast<std::size_t>(std::ranges::find(draft.image, id) - draft.image.begin());
    };
    BOOST_CHECK_EQUAL(draft.context[at("e")], -1);
    faults.missing[at("b")] = faults.bad[at("b")] = true;  // counted once
    faults.bad[at("a")] = faults.bad[at("e")] = true;      // e is out for its context already
    const Pool pool = final_pool(study, study.tasks[0], draft, faults);
    BOOST_CHECK(sorted(pool.image) == (Names{"c", "d", "f"}));
    BOOST_CHECK_EQUAL(excluded(pool, "missing features"), 1);
    BOOST_CHECK_EQUAL(excluded(pool, "bad features"), 1);
    BOOST_CHECK_EQUAL(excluded(pool, "blank context"), 1);
    BOOST_CHECK_EQUAL(excluded(pool, "uncertain label excluded", "edema"), 1);  // b is gone, f is left
    BOOST_CHECK(pool.patients == (Names{"p", "r"}));
    BOOST_CHECK(pool.contexts == Names{"PA"});
    for (std::size_t i = 0; i < pool.image.size(); ++i) {
        BOOST_CHECK_EQUAL(pool.patients[static_cast<std::size_t>(pool.patient[i])],
                          pool.image[i] == "c" ? "p" : "r");
        BOOST_CHECK_EQUAL(pool.context[i], 0);
        BOOST_CHECK_EQUAL(pool.labels[0][i], pool.image[i] == "f" ? -1 : 0);
    }
    BOOST_CHECK_THROW(final_pool(study, study.tasks[0], draft, {std::vector<bool>(5), {}}), InternalError);
}

// The order of the table's rows changes nothing but where the rows are found in the table.
BOOST_AUTO_TEST_CASE(the_order_of_the_table_does_not_matter) {
    std::mt19937 generator(1);
    std::vector<std::string> rows;
    for (int i = 0; i < 300; ++i) {
        const int patient = static_cast<int>(generator() % 80);
        rows.push_back("i" + std::to_string(i) + ",p" + std::to_string(patient) +
                       (patient % 4 ? ",test," : ",train,") +
                       (i % 7   ? "PA,"
                        : i % 2 ? "AP,"
                                : ",") +
                       std::to_string(static_cast<int>(generator() % 3) - 1) + '\n');
    }
    const Study study = sample("", "", "context = [\"view\"]\nrows = 120");
    const auto pool_of = [&] {
        std::string table = "image_id,patient_id,split,view,edema\n";
        for (const std::string& row : rows) table += row;
        return sample_pool(study, table);
    };
    const Pool pool = pool_of();
    for (int repeat = 0; repeat < 5; ++repeat) {
        std::ranges::shuffle(rows, generator);
        const Pool other = pool_of();
        BOOST_CHECK(other.image == pool.image && other.patients == pool.patients &&
                    other.patient == pool.patient);
        BOOST_CHECK(other.contexts == pool.contexts && other.context == pool.context &&
                    other.labels == pool.labels);
        BOOST_REQUIRE_EQUAL(other.exclusions.size(), pool.exclusions.size());
        for (std::size_t i = 0; i < pool.exclusions.size(); ++i) {
            BOOST_CHECK_EQUAL(other.exclusions[i].what, pool.exclusions[i].what);
            BOOST_CHECK_EQUAL(other.exclusions[i].rows, pool.exclusions[i].rows);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
